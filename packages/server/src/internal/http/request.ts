/** Requests: their size, type, origin, sender and body, checked before anything is done. */
import * as ByteSize from "effect/ByteSize"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Incoming from "effect/http/HttpIncomingMessage"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import { UnknownAgent } from "@recourse/core/Runs"
import { Authentication, Forbidden, type Principal, type Right, type Unauthorized } from "../../Authentication.ts"
import { BadRequest, TooLarge, type TooManyRequests, UnsupportedMediaType, WrongOrigin } from "./errors.ts"

/** What is checked of each request. */
export interface Checks {
  readonly maxBodyBytes: number
  /** Origins of pages that may send requests, besides the server's own. */
  readonly origins: ReadonlySet<string>
  readonly limit: (principal: Principal) => Effect.Effect<void, TooManyRequests>
}

/** A request that has passed. */
export interface Checked {
  readonly request: HttpServerRequest.HttpServerRequest
  readonly principal: Principal
}

const mediaType = (header: string | undefined): string => (header ?? "").split(";", 1)[0]!.trim().toLowerCase()

/** Whether a page of this origin may send requests: no page at all, the server's own, or one that is listed. */
const isAllowed = ({ headers }: HttpServerRequest.HttpServerRequest, origins: ReadonlySet<string>): boolean => {
  const { host, origin } = headers
  if (origin === undefined) return headers["sec-fetch-site"] !== "cross-site"
  if (origins.has(origin)) return true
  return URL.canParse(origin) && new URL(origin).host === host
}

/** What a principal may do that says nothing: all with its own runs, and nothing with those of others. */
const usual: ReadonlyArray<Right> = ["chat", "decide"]

/** Whether a principal has a right. */
export const need = ({ rights = usual }: Principal, right: Right): Effect.Effect<void, Forbidden> =>
  rights.includes(right) ? Effect.void : Effect.fail(new Forbidden({ right }))

/** Who sends the request, if that is allowed to do this. */
export const check = Effect.fnUntraced(function*(
  checks: Checks,
  right: Right
): Effect.fn.Return<
  Checked,
  Unauthorized | Forbidden | WrongOrigin | UnsupportedMediaType | TooManyRequests,
  HttpServerRequest.HttpServerRequest | Authentication
> {
  const request = yield* HttpServerRequest.HttpServerRequest
  if (!isAllowed(request, checks.origins)) return yield* new WrongOrigin()
  const hasBody = request.method !== "GET" && request.method !== "DELETE"
  if (hasBody && mediaType(request.headers["content-type"]) !== "application/json") {
    return yield* new UnsupportedMediaType()
  }
  const principal = yield* (yield* Authentication).authenticate(request)
  yield* need(principal, right)
  yield* checks.limit(principal)
  return { request, principal }
})

/** Whether a principal may run an agent: one that it may not does not exist for it. */
export const mayRun = (
  { agents }: Principal,
  agent: string,
  known: ReadonlyMap<string, unknown>
): Effect.Effect<void, UnknownAgent> => {
  const isAllowed = (name: string) => agents === undefined || agents.includes(name)
  return known.has(agent) && isAllowed(agent)
    ? Effect.void
    : Effect.fail(new UnknownAgent({ agent, registered: [...known.keys()].filter(isAllowed) }))
}

type Body = Schema.Top & { readonly DecodingServices: never }

/** What reads JSON by a schema: made once, not for each request. */
const readers = new WeakMap<Body, (text: string) => Effect.Effect<unknown, Schema.SchemaError>>()

const readerOf = (schema: Body) => {
  const reader = readers.get(schema) ??
    Schema.decodeEffect(Schema.fromJsonString(schema)) as (text: string) => Effect.Effect<unknown, Schema.SchemaError>
  readers.set(schema, reader)
  return reader
}

/** The JSON body of a request, by a schema. */
export const body = <S extends Body>(
  schema: S,
  { request }: Checked,
  { maxBodyBytes }: Checks
): Effect.Effect<S["Type"], BadRequest | TooLarge> =>
  Effect.matchEffect(
    Effect.provideService(request.text, Incoming.MaxBodySize, ByteSize.fromInputUnsafe(maxBodyBytes)),
    {
      onFailure: () => Effect.fail(new TooLarge({ limit: maxBodyBytes })),
      onSuccess: (text) =>
        Effect.mapError(readerOf(schema)(text), ({ message }) => new BadRequest({ problem: message }))
    }
  )
