/** Connection by the HTTP with SSE of 2024-11-05: one stream of answers, whose first event names the address of requests. */
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type * as McpClient from "effect/ai/McpClient"
import { ClosedError, HttpError, McpClientError, TransportError } from "effect/ai/McpClientError"
import type * as McpSchema from "effect/ai/McpSchema"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as Scope from "effect/Scope"
import type { Connect } from "../connection.ts"
import { answersIn, events, type ServerEvent } from "./events.ts"
import { isRequest, replyTo } from "./messages.ts"
import { CurrentExchange } from "./exchange.ts"
import type { HttpOptions } from "./httpOptions.ts"
import * as Inbox from "./inbox.ts"
import * as Peer from "./peer.ts"
import { checkConnection } from "./serverOptionKinds.ts"
import { adapterOf } from "./protocols.ts"

/** effect does not export the mark of its transports. */
const mark = "~effect/ai/McpClient/Transport" as const

const lost = (description: string, cause?: unknown) =>
  new McpClientError({ reason: new TransportError({ description, ...(cause === undefined ? {} : { cause }) }) })

type Failed = Deferred.Deferred<never, McpClientError>

/** State of reading a stream of answers. */
interface Reading {
  readonly endpoint: Deferred.Deferred<string>
  readonly pending: Map<McpSchema.RequestId, Deferred.Deferred<McpSchema.JsonRpcResponse>>
  readonly reply: (request: McpSchema.JsonRpcRequest) => Effect.Effect<void>
}

const receive = (reading: Reading, inbox: Inbox.Inbox, event: ServerEvent): Effect.Effect<void> => {
  if (event.event === "endpoint") return Effect.asVoid(Deferred.succeed(reading.endpoint, event.data))
  return Effect.forEach(answersIn(event, inbox), (message): Effect.Effect<unknown> => {
    if (isRequest(message)) return reading.reply(message)
    if ("method" in message) return Effect.void
    const waiting = message.id === undefined || message.id === null ? undefined : reading.pending.get(message.id)
    return waiting === undefined ? Effect.void : Deferred.succeed(waiting, message)
  }, { discard: true })
}

/** Sends messages to the address of requests. */
const sender =
  (client: HttpClient.HttpClient, to: Effect.Effect<URL, McpClientError>, options: HttpOptions) =>
  (message: McpSchema.JsonRpcMessage): Effect.Effect<void, McpClientError> =>
    Effect.gen(function*() {
      const current = Context.get(yield* Effect.context<never>(), CurrentExchange)
      const request = HttpClientRequest.post(yield* to).pipe(
        HttpClientRequest.setHeaders({ ...options.headers }),
        HttpClientRequest.bodyText(JSON.stringify(message), "application/json")
      )
      const exchange = current?.isSent === false && "id" in message ? current : undefined
      if (exchange !== undefined) exchange.isSent = true
      const { headers, status } = yield* Effect.mapError(
        client.execute(request),
        (cause) => lost("MCP HTTP request failed", cause)
      )
      if (exchange !== undefined) exchange.status = status
      // A server that has forgotten the stream does not know the address any more.
      if (status === 404 || status === 410) {
        return yield* Effect.fail(new McpClientError({ reason: new ClosedError({ sessionExpired: true }) }))
      }
      if (status < 200 || status >= 300) {
        const reason = new HttpError({ status, retryAfter: headers["retry-after"] })
        return yield* Effect.fail(new McpClientError({ reason }))
      }
    }).pipe(Effect.scoped)

const transportOf = (
  { pending }: Reading,
  send: ReturnType<typeof sender>,
  failed: Failed
): McpClient.Transport => ({
  [mark]: mark,
  protocol: adapterOf("2024-11-05"),
  isCallable: () => true,
  notify: send,
  request: (message) =>
    Effect.flatMap(Deferred.make<McpSchema.JsonRpcResponse>(), (answer) => {
      pending.set(message.id, answer)
      const cancelled = send({
        jsonrpc: "2.0",
        method: "notifications/cancelled",
        params: { requestId: message.id }
      })
      return Effect.andThen(send(message), Deferred.await(answer)).pipe(
        Effect.raceFirst(Deferred.await(failed)),
        Effect.onInterrupt(() =>
          message.method === "initialize" ? Effect.void : Effect.ignore(Effect.timeoutOption(cancelled, "5 seconds"))
        ),
        Effect.ensuring(Effect.sync(() => pending.delete(message.id)))
      )
    })
})

/** Opens the stream of answers, which is read until the scope closes. */
const open = Effect.fnUntraced(function*(
  url: string | URL,
  options: HttpOptions,
  inbox: Inbox.Inbox
): Effect.fn.Return<
  { readonly transport: McpClient.Transport; readonly failed: Failed },
  McpClientError,
  HttpClient.HttpClient | Scope.Scope
> {
  const client = yield* HttpClient.HttpClient
  const failed: Failed = yield* Deferred.make<never, McpClientError>()
  const endpoint = yield* Deferred.make<string>()
  const response = yield* Effect.mapError(
    HttpClient.withScope(client).execute(
      HttpClientRequest.get(url).pipe(HttpClientRequest.setHeaders({ ...options.headers, accept: "text/event-stream" }))
    ),
    (cause) => lost("MCP HTTP request failed", cause)
  )
  if (response.status !== 200) {
    return yield* Effect.fail(new McpClientError({ reason: new HttpError({ status: response.status }) }))
  }
  const to = Effect.flatMap(Effect.raceFirst(Deferred.await(endpoint), Deferred.await(failed)), (path) => {
    const address = URL.parse(path, url)
    return address?.origin === new URL(url).origin
      ? Effect.succeed(address)
      : Effect.fail(lost("The server names an address for requests that is not of its own origin"))
  })
  const send = sender(client, to, options)
  const reading: Reading = {
    endpoint,
    pending: new Map(),
    reply: (request) => Effect.ignore(send(replyTo(request)))
  }
  yield* Stream.runForEach(events(response.stream), (event) => receive(reading, inbox, event)).pipe(
    Effect.matchEffect({
      onFailure: (cause) => Deferred.fail(failed, lost("The stream of answers failed", cause)),
      onSuccess: () => Deferred.fail(failed, lost("The stream of answers ended"))
    }),
    Effect.forkScoped
  )
  return { transport: transportOf(reading, send, failed), failed }
})

/**
 * Reaches a server by the older HTTP with SSE transport (2024-11-05): `url` is the address of its stream, which often ends with `/sse`.
 * Use `Mcp.http` for streamable HTTP. The protocol version is negotiated.
 *
 * ```ts
 * import { Mcp } from "@recourse/mcp"
 *
 * export const old = Mcp.sse("https://example.com/sse")
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const sse = (url: string | URL, options: HttpOptions = {}): Connect<HttpClient.HttpClient> => {
  checkConnection("sse", url, options)
  return Effect.gen(function*() {
    const inbox = Inbox.make()
    const { failed, transport } = yield* open(url, options, inbox)
    const { client, peer } = yield* Peer.connect(() => Effect.succeed(transport), options.protocol, inbox)
    if (Peer.mustListen(peer)) yield* Effect.forkScoped(Effect.ignore(transport.request(Peer.listen)))
    return { client, peer, isAlive: Effect.map(Deferred.isDone(failed), (isDone) => !isDone) }
  })
}
