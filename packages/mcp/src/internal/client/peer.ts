/** Peer: effect's client over a transport with a negotiated version, and the parts that the client hides. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as McpClient from "effect/ai/McpClient"
import type { McpClientError } from "effect/ai/McpClientError"
import type * as McpSchema from "effect/ai/McpSchema"
import type * as Scope from "effect/Scope"
import { type Agreed, identity, negotiate, statelessMeta, type TransportOf } from "./handshake.ts"
import { type Inbox, ProgressListener } from "./inbox.ts"
import { own } from "./messages.ts"
import { repairHandshake } from "./repairHandshake.ts"
import { repairResult } from "./repairResult.ts"
import { adapterOf, type ProtocolVersion, stateless } from "./protocols.ts"

/**
 * A connected server.
 *
 * @category models
 * @since 0.2.0
 */
export interface Peer {
  readonly version: ProtocolVersion
  readonly transport: McpClient.Transport
  /** @internal Received messages. */
  readonly inbox: Inbox
  /** The server's declared capabilities. */
  readonly capabilities: unknown
  /** True if the server announces changes of its list of tools. */
  readonly announces: boolean
  /** Asks the server whether it has forgotten the session. */
  readonly isSessionGone: Effect.Effect<boolean>
}

/** A call with a progress token, whose listener is known to the inbox until the call ends. */
const withToken = (
  inner: McpClient.Transport,
  inbox: Inbox,
  message: McpSchema.JsonRpcRequest,
  tool: McpSchema.Tool | undefined
): ReturnType<McpClient.Transport["request"]> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const listener = Context.get(context, ProgressListener)
    const progressToken = `recourse-${message.id}`
    const meta = own(message.params, "_meta") as Record<string, unknown> | undefined
    if (listener !== undefined) inbox.progress.set(progressToken, listener)
    return Effect.ensuring(
      inner.request({ ...message, params: { ...message.params, _meta: { ...meta, progressToken } } }, tool),
      Effect.sync(() => inbox.progress.delete(progressToken))
    )
  })

/** The response with its result changed. */
const withResult = (
  response: McpSchema.JsonRpcResponse,
  change: (result: unknown) => unknown
): McpSchema.JsonRpcResponse =>
  response.error === undefined ? { ...response, result: change(response.result) } : response

/** The transport as effect's client uses it: its handshake is answered by the one that was made, and results are repaired. */
const adapted = ({ method, response, transport, version }: Agreed, inbox: Inbox): McpClient.Transport => ({
  ...transport,
  protocol: adapterOf(version),
  request: (message, tool) => {
    if (message.method === method) {
      return Effect.succeed({ ...withResult(response, repairHandshake), id: message.id } as McpSchema.JsonRpcResponse)
    }
    return message.method === "tools/call"
      ? Effect.map(withToken(transport, inbox, message, tool), (answer) => withResult(answer, repairResult(version)))
      : transport.request(message, tool)
  }
})

/** Connects: agrees on a version, and makes effect's client. */
export const connect = Effect.fnUntraced(function*(
  transportOf: TransportOf,
  pinned: ProtocolVersion | undefined,
  inbox: Inbox,
  onAgreed: (agreement: Agreed) => void = () => {}
): Effect.fn.Return<{ readonly client: McpClient.McpClient; readonly peer: Peer }, McpClientError, Scope.Scope> {
  const agreement = yield* negotiate(transportOf, pinned)
  onAgreed(agreement)
  const transport = adapted(agreement, inbox)
  const client = yield* McpClient.make(identity).pipe(Effect.provideService(McpClient.Transport, transport))
  const capabilities = own(agreement.response.result, "capabilities")
  const announces = own(own(capabilities, "tools"), "listChanged") === true
  return {
    client,
    peer: {
      version: agreement.version,
      transport,
      inbox,
      capabilities,
      announces,
      isSessionGone: Effect.succeed(false)
    }
  }
})

/** The request of 2026-07-28 that is answered by notifications, for as long as it is open. */
export const listen: McpSchema.JsonRpcRequest = {
  jsonrpc: "2.0",
  id: "recourse-listen",
  method: "subscriptions/listen",
  params: { notifications: { toolsListChanged: true }, _meta: statelessMeta }
}

/** Returns whether a peer has to be asked for its notifications. */
export const mustListen = ({ announces, version }: Peer): boolean => announces && version === stateless
