/** Connection to a server by streamable HTTP. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as McpClient from "effect/ai/McpClient"
import type { McpClientError } from "effect/ai/McpClientError"
import * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import * as HttpClientResponse from "effect/http/HttpClientResponse"
import type { Connect } from "../connection.ts"
import {
  answersIn,
  events,
  exactBody,
  filteredEvents,
  hasNoType,
  isEventStream,
  isJson,
  type RequestId
} from "./events.ts"
import { CurrentExchange, goneStatuses } from "./exchange.ts"
import type { HttpOptions } from "./httpOptions.ts"
import * as Inbox from "./inbox.ts"
import { isRequest, own, replyTo } from "./messages.ts"
import * as Peer from "./peer.ts"
import { checkConnection } from "./serverOptionKinds.ts"
import { adapterOf, type ProtocolVersion, stateless } from "./protocols.ts"
import { resumedEvents } from "./resumedStream.ts"
import { sse } from "./sse.ts"

/** Shared state of the requests of one connection. */
interface State {
  /** The negotiated version; `undefined` before that, so that a strict server does not receive a wrong one. */
  version: ProtocolVersion | undefined
  session: string | undefined
}

const versionHeader = "mcp-protocol-version"
const sessionHeader = "mcp-session-id"

const headersOf = (options: HttpOptions, { session }: State): Record<string, string> => ({
  ...options.headers,
  ...(session === undefined ? {} : { [sessionHeader]: session })
})

/** A request for the server's own stream, or for the events behind one. */
const streamRequest = (url: string | URL, options: HttpOptions, state: State, lastEventId?: string) =>
  HttpClientRequest.get(url).pipe(HttpClientRequest.setHeaders({
    ...headersOf(options, state),
    accept: "text/event-stream",
    ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId })
  }))

/** The message in a request. */
const messageIn = ({ body }: HttpClientRequest.HttpClientRequest): object | undefined =>
  body._tag === "Uint8Array" ? JSON.parse(new TextDecoder().decode(body.body)) as object : undefined

const acceptance = (request: HttpClientRequest.HttpClientRequest): HttpClientResponse.HttpClientResponse =>
  HttpClientResponse.fromWeb(request, new Response(null, { status: 202 }))

/** Servers that know no notification refuse it. No request fails because of that. */
const accepted = (response: HttpClientResponse.HttpClientResponse): HttpClientResponse.HttpClientResponse =>
  response.status >= 200 && response.status < 300 ? response : acceptance(response.request)

/** Time in which a server may take the answer to a request of its own. */
const replyTimeout = "5 seconds"

/** Sends an answer to a server's own request in the background: a call neither waits for it nor fails with it. */
const sendAside = (
  client: HttpClient.HttpClient,
  request: HttpClientRequest.HttpClientRequest,
  scope: Scope.Scope
): Effect.Effect<HttpClientResponse.HttpClientResponse> =>
  HttpClient.withScope(client).execute(request).pipe(
    Effect.scoped,
    Effect.timeoutOption(replyTimeout),
    Effect.ignore,
    Effect.forkIn(scope, { startImmediately: true }),
    Effect.as(acceptance(request))
  )

/**
 * The program's HTTP client, with the headers of the connection. Answers that are streams pass the inbox, and are resumed; numbers keep
 * their digits.
 */
const clientOf = (
  base: HttpClient.HttpClient,
  url: string | URL,
  options: HttpOptions,
  state: State,
  inbox: Inbox.Inbox,
  scope: Scope.Scope
): HttpClient.HttpClient => {
  const versioned = HttpClient.mapRequest(base, (request) =>
    state.version === undefined
      ? HttpClientRequest.removeHeader(request, versionHeader)
      : HttpClientRequest.setHeader(request, versionHeader, state.version))
  const reopen = (lastEventId: string) => versioned.execute(streamRequest(url, options, state, lastEventId))
  const streamOf = ({ request, stream }: HttpClientResponse.HttpClientResponse, id: RequestId) =>
    request.method === "POST" && state.version !== stateless
      ? resumedEvents(stream, inbox, id, reopen)
      : filteredEvents(stream, inbox, id)
  return versioned.pipe(
    HttpClient.transform((execute, request) =>
      Effect.contextWith((context: Context.Context<never>) => {
        const message = messageIn(request)
        if (message !== undefined && !("method" in message)) return sendAside(versioned, request, scope)
        if (message !== undefined && !("id" in message)) return Effect.map(execute, accepted)
        const current = Context.get(context, CurrentExchange)
        // Only the call itself, and not other messages to the server while it runs.
        const exchange = current?.isSent === false ? current : undefined
        if (exchange !== undefined) exchange.isSent = true
        return Effect.map(execute, (response) => {
          if (exchange !== undefined) exchange.status = response.status
          state.session = response.headers[sessionHeader] ?? state.session
          const id = message === undefined ? undefined : own(message, "id") as RequestId
          const isUntyped = id !== undefined && response.status === 200 && hasNoType(response)
          if (!isEventStream(response) && !isJson(response) && !isUntyped) return response
          const stream = isEventStream(response) ? streamOf(response, id) : exactBody(response.stream, inbox, id)
          const headers = isUntyped
            ? Headers.set(response.headers, "content-type", "application/json")
            : response.headers
          const read = { stream, headers }
          return new Proxy(response, {
            get: (target, key) =>
              Object.hasOwn(read, key) ? read[key as keyof typeof read] : Reflect.get(target, key, target)
          })
        })
      })
    )
  )
}

/** Pings the server in the session, if there is one: a server that refuses that has forgotten the session. */
const isSessionGone = ({ transport }: Peer.Peer, state: State): Effect.Effect<boolean> =>
  Effect.suspend(() =>
    state.session === undefined
      ? Effect.succeed(false)
      : transport.request({ jsonrpc: "2.0", id: "recourse-ping", method: "ping" }).pipe(
        Effect.as(false),
        Effect.catch(({ reason }) =>
          Effect.succeed(
            reason._tag === "HttpError"
              ? goneStatuses.has(reason.status)
              : reason._tag === "ClosedError" && reason.sessionExpired === true
          )
        ),
        Effect.timeoutOrElse({ duration: "5 seconds", orElse: () => Effect.succeed(false) })
      )
  )

/** Wait before the server's own stream is reopened. */
const reopening = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("30 seconds")])

/** Answers the requests in the server's own stream, whose notifications the inbox has received. */
const answerOwnStream = (
  client: HttpClient.HttpClient,
  url: string | URL,
  options: HttpOptions,
  state: State,
  inbox: Inbox.Inbox,
  response: HttpClientResponse.HttpClientResponse
) =>
  Stream.runForEach(
    events(response.stream),
    (event) =>
      Effect.forEach(answersIn(event, inbox).filter(isRequest), (request) =>
        client.execute(
          HttpClientRequest.post(url).pipe(
            HttpClientRequest.setHeaders({
              ...headersOf(options, state),
              accept: "application/json, text/event-stream"
            }),
            HttpClientRequest.bodyText(JSON.stringify(replyTo(request)), "application/json")
          )
        ), { discard: true })
  )

/** Reads the server's own stream, if it has one. It is opened again when it ends, until the server refuses it. */
const readOwnStream = (
  client: HttpClient.HttpClient,
  url: string | URL,
  options: HttpOptions,
  state: State,
  inbox: Inbox.Inbox
) =>
  Effect.suspend(() => client.execute(streamRequest(url, options, state))).pipe(
    Effect.flatMap((response) =>
      response.status === 200 && isEventStream(response)
        ? Effect.as(answerOwnStream(client, url, options, state, inbox, response), true)
        : Effect.succeed(response.status >= 500)
    ),
    Effect.scoped,
    Effect.orElseSucceed(() => true),
    Effect.repeat({ schedule: reopening, while: (isOpenedAgain) => isOpenedAgain })
  )

/** Statuses of an address that takes no requests of streamable HTTP, by the protocol's rules of compatibility. */
const olderStatuses = new Set([400, 404, 405])

/** Connects by the older transport to an address that takes no requests, or fails with the refusal if it has none. */
const olderTransport = (url: string | URL, options: HttpOptions, refusal: McpClientError) =>
  Effect.gen(function*() {
    const { reason } = refusal
    const isOlder = reason._tag === "HttpError" && olderStatuses.has(reason.status)
    if (!isOlder || (options.protocol !== undefined && options.protocol !== "2024-11-05")) {
      return yield* Effect.fail(refusal)
    }
    const attempt = yield* Scope.fork(yield* Effect.scope)
    return yield* sse(url, options).pipe(
      Scope.provide(attempt),
      Effect.timeoutOrElse({ duration: "5 seconds", orElse: () => Effect.fail(refusal) }),
      Effect.mapError(() => refusal),
      Effect.onExit((exit) => Exit.isSuccess(exit) ? Effect.void : Scope.close(attempt, exit))
    )
  })

/**
 * Reaches a server by streamable HTTP. The protocol version is negotiated; `protocol` allows one only. A server that
 * takes only HTTP with SSE of 2024-11-05 is reached as by `Mcp.sse`.
 *
 * ```ts
 * import { Mcp } from "@recourse/mcp"
 *
 * export const search = Mcp.http("https://example.com/mcp", { headers: { authorization: "Bearer …" } })
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const http = (url: string | URL, options: HttpOptions = {}): Connect<HttpClient.HttpClient> => {
  checkConnection("http", url, options)
  return Effect.catch(streamable(url, options), (refusal) => olderTransport(url, options, refusal))
}

const streamable = (url: string | URL, options: HttpOptions): Connect<HttpClient.HttpClient> =>
  Effect.gen(function*() {
    const inbox = Inbox.make()
    const state: State = { version: undefined, session: undefined }
    const client = clientOf(yield* HttpClient.HttpClient, url, options, state, inbox, yield* Effect.scope)
    const transportFor = (version: ProtocolVersion) =>
      McpClient.http({ url, protocol: adapterOf(version), headers: options.headers }).pipe(
        Effect.provideService(HttpClient.HttpClient, client)
      )
    const [withSessions, withoutSessions] = [yield* transportFor("2025-11-25"), yield* transportFor(stateless)]
    const connected = yield* Peer.connect(
      (version) =>
        Effect.sync(() => {
          state.version = version === stateless ? stateless : undefined
          return version === stateless ? withoutSessions : withSessions
        }),
      options.protocol,
      inbox,
      ({ version }) => {
        state.version = version
      }
    )
    const { peer } = connected
    if (Peer.mustListen(peer)) {
      yield* peer.transport.request(Peer.listen).pipe(Effect.ignore, Effect.repeat(reopening), Effect.forkScoped)
    } else if (peer.announces) yield* Effect.forkScoped(readOwnStream(client, url, options, state, inbox))
    return {
      client: connected.client,
      peer: { ...peer, isSessionGone: isSessionGone(peer, state) },
      isAlive: Effect.succeed(true)
    }
  })
