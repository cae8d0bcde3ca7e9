/** Sender of a request, and identification of repeated requests. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as McpSchema from "effect/ai/McpSchema"
import * as WebCrypto from "effect/crypto/WebCrypto"
import * as Hex from "effect/encoding/Hex"
import * as HttpServerRequest from "effect/http/HttpServerRequest"

/** The `_meta` field by which a client names a call, so that the same name is the same call. */
const keyField = "recourse/idempotency-key"

/**
 * Known facts of a client that sends a request.
 *
 * @category models
 * @since 0.2.0
 */
export interface ClientRequest {
  /** The headers of the HTTP request; none on stdio. */
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly sessionId: string | undefined
  readonly clientInfo: { readonly name: string; readonly version: string } | undefined
  readonly protocolVersion: string
}

/** An identified request. */
export interface Identified {
  /** Begins the ids of all runs of this client. */
  readonly client: string
  /** The same for a repeated request; `undefined` if that is unknown. */
  readonly key: string | undefined
  /** The id of the run: the same for the same key. */
  readonly runId: string
}

const sha256 = (text: string): Effect.Effect<string> =>
  Effect.flatMap(WebCrypto.WebCrypto, ({ subtle }) =>
    Effect.map(
      Effect.promise(() => subtle.digest("SHA-256", new TextEncoder().encode(text))),
      (digest) => Hex.encode(new Uint8Array(digest))
    ))

/** JSON with sorted keys: the same for the same arguments. */
export const canonical = (value: unknown): string =>
  JSON.stringify(value, (_, part) =>
    Predicate.isReadonlyObject(part)
      ? Object.fromEntries(Object.entries(part).toSorted(([a], [b]) => a < b ? -1 : 1))
      : part) ?? ""

/** A digest of a call: its tool and its arguments. */
export const fingerprint = (tool: string, args: unknown): Effect.Effect<string> => sha256(`${tool}\n${canonical(args)}`)

/** Clients are distinguished by their credentials; without any, they are all the same one. */
const byCredentials = ({ headers }: ClientRequest): string => headers["authorization"] ?? ""

/** The JSON-RPC id of an HTTP request, if it holds one call and not several. */
const jsonRpcId = (request: HttpServerRequest.HttpServerRequest | undefined): Effect.Effect<string | undefined> =>
  request === undefined ? Effect.undefined : request.json.pipe(
    Effect.map((body) =>
      Predicate.isReadonlyObject(body) && Object.hasOwn(body, "id") ? JSON.stringify(body.id) : undefined
    ),
    Effect.orElseSucceed(() => undefined)
  )

const isKey = (value: unknown): value is string => typeof value === "string" && value.length > 0 && value.length <= 256

/**
 * Identifies a request. The client's own key has precedence. Otherwise the JSON-RPC id: within a session of HTTP it
 * names one request, and a request whose connection broke is sent again with it. Ids of sessionless clients have no
 * meaning.
 */
export const identify = (
  clientOf: ((request: ClientRequest) => string) | undefined,
  call: string
): Effect.Effect<Identified, McpSchema.InvalidParams, McpSchema.McpRequestContext> =>
  Effect.contextWith((context: Context.Context<McpSchema.McpRequestContext>) =>
    Effect.gen(function*() {
      const request = Context.get(context, McpSchema.McpRequestContext)
      const http = Option.getOrUndefined(
        Context.getOption(context as Context.Context<never>, HttpServerRequest.HttpServerRequest)
      )
      const headers: ClientRequest["headers"] = http?.headers ?? {}
      const sessionId = headers["mcp-session-id"]
      const { clientInfo, protocolVersion, requestMetadata, requestState } = request
      const client = (yield* sha256((clientOf ?? byCredentials)({ headers, sessionId, clientInfo, protocolVersion })))
        .slice(0, 16)
      const given = Predicate.isReadonlyObject(requestMetadata) ? requestMetadata[keyField] : undefined
      if (given !== undefined && !isKey(given)) {
        return yield* new McpSchema.InvalidParams({ message: `_meta "${keyField}" is a text of 1 to 256 characters` })
      }
      const id = given === undefined && sessionId !== undefined ? yield* jsonRpcId(http) : undefined
      const named = given !== undefined
        ? `key\n${given}`
        : id !== undefined
        ? `id\n${sessionId}\n${id}\n${call}`
        : undefined
      const crypto = yield* WebCrypto.WebCrypto
      const own = named === undefined ? crypto.randomUUID().replaceAll("-", "") : yield* sha256(named)
      const step = requestState === undefined ? "" : yield* sha256(requestState)
      return {
        client: `mcp_${client}_`,
        key: named === undefined ? undefined : `${client}_${own}_${step}`,
        runId: `mcp_${client}_${own}`
      }
    })
  )
