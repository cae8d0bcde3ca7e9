/**
 * Handshake: finds the protocol version that a server speaks. `initialize` goes first, so that a server with sessions costs one
 * request, also if it is slow or silent on methods that it does not know. A server that refuses it is asked by `server/discover`.
 */
import * as Effect from "effect/Effect"
import type * as McpClient from "effect/ai/McpClient"
import { McpClientError, ProtocolError, UnsupportedError } from "effect/ai/McpClientError"
import type * as McpSchema from "effect/ai/McpSchema"
import { version } from "../version.ts"
import { own } from "./messages.ts"
import { isKnown, messagesOf, type ProtocolVersion, stateful, stateless } from "./protocols.ts"

/** Identity of the program. */
export const identity = { name: "recourse", version }

/** A way to send requests in a version: the transport of that version. */
export type TransportOf = (version: ProtocolVersion) => Effect.Effect<McpClient.Transport, McpClientError>

/** A version that the server speaks, its transport, and the answer that said so. */
export interface Agreed {
  readonly version: ProtocolVersion
  readonly transport: McpClient.Transport
  readonly method: "initialize" | "server/discover"
  readonly response: McpSchema.JsonRpcResponse
}

/** Fields of each request of 2026-07-28. */
export const statelessMeta = {
  "io.modelcontextprotocol/protocolVersion": stateless,
  "io.modelcontextprotocol/clientInfo": identity,
  "io.modelcontextprotocol/clientCapabilities": {}
}

const initialize = (protocolVersion: ProtocolVersion): McpSchema.JsonRpcRequest => ({
  jsonrpc: "2.0",
  id: `recourse-initialize-${protocolVersion}`,
  method: "initialize",
  params: { protocolVersion, capabilities: {}, clientInfo: identity }
})

const discover: McpSchema.JsonRpcRequest = {
  jsonrpc: "2.0",
  id: "recourse-discover",
  method: "server/discover",
  params: { _meta: statelessMeta }
}

/** HTTP statuses that are not about the version: of credentials, of load, of time. */
const otherStatuses = new Set([401, 403, 408, 425, 429])

/** Statuses of servers that do not have the address or the method. */
const nothingThere = new Set([404, 405])

/** The server refuses a handshake. `isThere` unless the address itself is unknown. */
interface Refused {
  readonly _tag: "Refused"
  readonly error: McpClientError
  readonly offered: ReadonlyArray<ProtocolVersion>
  readonly isThere: boolean
}

const refused = (error: McpClientError, data: unknown, isThere = true): Refused => {
  const supported = own(data, "supported")
  return { _tag: "Refused", error, offered: Array.isArray(supported) ? supported.filter(isKnown) : [], isThere }
}

const isRefusal = (outcome: Agreed | Refused): outcome is Refused => "_tag" in outcome

const unsupported = (spoken: unknown): McpClientError =>
  new McpClientError({
    reason: new UnsupportedError({
      description: `The server speaks MCP ${JSON.stringify(spoken)}. Supported are ${
        [...stateful, stateless].join(", ")
      }`
    })
  })

/** Result of the negotiation in an answer. */
const agreed = (
  method: Agreed["method"],
  wanted: ProtocolVersion | undefined,
  transport: McpClient.Transport,
  response: McpSchema.JsonRpcResponse
): Agreed | Refused => {
  if (response.error !== undefined) {
    const { code, data, message } = response.error
    return refused(new McpClientError({ reason: new ProtocolError({ code, data, description: message }) }), data)
  }
  if (method === "server/discover") {
    const versions = own(response.result, "supportedVersions")
    return Array.isArray(versions) && versions.includes(stateless)
      ? { version: stateless, transport, method, response }
      : refused(unsupported(versions), { supported: versions })
  }
  const named = own(response.result, "protocolVersion")
  const version = messagesOf(named)
  return isKnown(version) && version !== stateless && (wanted === undefined || wanted === version)
    ? { version, transport, method, response }
    : refused(unsupported(named), { supported: [named] }, false)
}

const attempt = (
  transportOf: TransportOf,
  version: ProtocolVersion,
  wanted: ProtocolVersion | undefined
): Effect.Effect<Agreed | Refused, McpClientError> =>
  Effect.flatMap(transportOf(version), (transport) => {
    const message = version === stateless ? discover : initialize(version)
    return Effect.map(
      transport.request(message),
      (response) => agreed(message.method as Agreed["method"], wanted, transport, response)
    )
  }).pipe(
    Effect.catch((error) => {
      const { reason } = error
      return reason._tag === "HttpError" && reason.status < 500 && !otherStatuses.has(reason.status)
        ? Effect.succeed(refused(error, reason.data, !nothingThere.has(reason.status)))
        : Effect.fail(error)
    })
  )

/** The versions that are tried after a refusal of the newest: those that the server names, then 2026-07-28, then older ones. */
const alternatives = ({ isThere, offered }: Refused): ReadonlyArray<ProtocolVersion> => {
  const older = isThere ? stateful.slice(1) : []
  return [...new Set([...stateful.filter((version) => offered.includes(version)), stateless, ...older] as const)]
}

/**
 * Finds a version that the server speaks; `pinned` allows that one only. Fails with the server's refusal of the first request if it
 * speaks none, and at once if the connection fails or credentials are refused.
 */
export const negotiate = Effect.fnUntraced(function*(
  transportOf: TransportOf,
  pinned: ProtocolVersion | undefined
): Effect.fn.Return<Agreed, McpClientError> {
  const first = yield* attempt(transportOf, pinned ?? stateful[0]!, pinned)
  if (!isRefusal(first)) return first
  if (pinned !== undefined) return yield* Effect.fail(first.error)
  const tried = new Set<ProtocolVersion>([stateful[0]!])
  let versions = alternatives(first)
  while (versions.length > 0) {
    const [version, ...rest] = versions
    tried.add(version!)
    const next = yield* attempt(transportOf, version!, undefined)
    if (!isRefusal(next)) return next
    versions = [...new Set([...stateful.filter((version) => next.offered.includes(version)), ...rest])]
      .filter((version) => !tried.has(version))
  }
  return yield* Effect.fail(first.error)
})
