/** One exchange with the server: the request, its attempts, and a bounded body. */
import * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Headers from "effect/http/Headers"
import type * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import * as TransportRetry from "@recourse/core/TransportRetry"
import type { Target } from "./target.ts"

interface Head {
  readonly request: HttpClientRequest.HttpClientRequest
  readonly status: number
  readonly headers: Headers.Headers
}

/** An answer whose body has arrived. */
export interface Received extends Head {
  readonly _tag: "Received"
  readonly body: string
}

/** An answer whose body has begun to arrive; the first byte is there. */
export interface Opened extends Head {
  readonly _tag: "Opened"
  readonly body: Stream.Stream<Uint8Array, AiError.AiErrorReason>
}

export interface Options {
  readonly client: HttpClient.HttpClient
  readonly target: Target
  /** In bytes, after decompression. */
  readonly maxBodySize: number
  readonly retry: TransportRetry.Options<Received | Opened> | false
}

/** A broken connection, without the client's own error in it: that one holds the request's headers and with them the key. */
export const broken = (target: Target, problem: string, cause: unknown): AiError.NetworkError => {
  const code = TransportRetry.errorCode(cause)
  return new AiError.NetworkError({
    reason: "TransportError",
    method: "POST",
    url: printUrl(target),
    description: code === undefined ? problem : `${problem} (${code})`
  })
}

// Without the query, which may hold a key.
const printUrl = (target: Target): string => {
  const url = new URL(target.url)
  return `${url.origin}${url.pathname}`
}

const tooLarge = (maxBodySize: number): AiError.InvalidResponseError =>
  new AiError.InvalidResponseError({
    description: `The server's answer is larger than ${maxBodySize} bytes: raise maxBodySize if that is right`
  })

const transportError = (request: HttpClientRequest.HttpClientRequest, cause: unknown) =>
  new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })

const makeRequest = (target: Target, body: unknown, accept: string): HttpClientRequest.HttpClientRequest =>
  HttpClientRequest.post(target.url).pipe(
    HttpClientRequest.setHeaders(target.headers),
    HttpClientRequest.accept(accept),
    HttpClientRequest.bodyJsonUnsafe(body)
  )

/** The body as text. What breaks it is a connection error, so that a whole attempt can be made again. */
const receive = (
  response: HttpClientResponse.HttpClientResponse,
  maxBodySize: number
): Effect.Effect<Received, HttpClientError.HttpClientError | AiError.AiErrorReason> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let size = 0
    let body = ""
    const ok = response.status < 400
    const received = Effect.sync((): Received => ({
      _tag: "Received",
      request: response.request,
      status: response.status,
      headers: response.headers,
      body: body + decoder.decode()
    }))
    return response.stream.pipe(
      Stream.takeWhile(() => ok || size < maxBodySize),
      Stream.runForEach((bytes) => {
        size += bytes.length
        if (ok && size > maxBodySize) return Effect.fail(tooLarge(maxBodySize))
        body += decoder.decode(bytes, { stream: true })
        return Effect.void
      }),
      Effect.andThen(received),
      Effect.catchIf(HttpClientError.isHttpClientError, (error) => {
        if (error.reason._tag === "EmptyBodyError") return received
        // The status of a failed answer says enough, even if its explanation is cut off.
        return ok ? Effect.fail(transportError(response.request, error.reason)) : received
      })
    )
  })

/** Waits for the first bytes of a streamed body, in the scope of the stream. */
const open = (
  response: HttpClientResponse.HttpClientResponse,
  options: Options
): Effect.Effect<Opened, HttpClientError.HttpClientError, Scope.Scope> =>
  Effect.gen(function*() {
    const scope = yield* Scope.fork(yield* Effect.scope)
    const pull = yield* Stream.toPull(response.stream).pipe(Scope.provide(scope))
    const first = yield* pull.pipe(
      Pull.catchDone(() => Effect.fail(transportError(response.request, new Error("empty body")))),
      Effect.mapError((error) => transportError(response.request, error.reason)),
      Effect.onExit((exit) => Exit.isSuccess(exit) ? Effect.void : Scope.close(scope, exit))
    )
    let size = 0
    const body = Stream.fromArray(first).pipe(
      Stream.concat(Stream.fromPull(Effect.succeed(pull))),
      Stream.mapError((error) => broken(options.target, "The connection broke in the middle of the answer", error)),
      Stream.tap((bytes) => {
        size += bytes.length
        return size > options.maxBodySize ? Effect.fail(tooLarge(options.maxBodySize)) : Effect.void
      })
    )
    return {
      _tag: "Opened",
      request: response.request,
      status: response.status,
      headers: response.headers,
      body
    }
  })

const withRetry = <A extends Received | Opened, R>(
  attempt: Effect.Effect<A, HttpClientError.HttpClientError | AiError.AiErrorReason, R>,
  options: Options
): Effect.Effect<A, AiError.AiErrorReason, R> =>
  (options.retry === false ? attempt : TransportRetry.retry(attempt, options.retry)).pipe(
    Effect.mapError((error) =>
      HttpClientError.isHttpClientError(error)
        ? broken(options.target, "The server could not be reached, or broke off before its answer", error)
        : error
    )
  )

/** Sends a request and waits for the whole answer, whatever its status. */
export const send = (body: unknown, options: Options): Effect.Effect<Received, AiError.AiErrorReason> =>
  withRetry(
    Effect.flatMap(
      options.client.execute(makeRequest(options.target, body, "application/json")),
      (response) => receive(response, options.maxBodySize)
    ),
    options
  )

/** Sends a request for a stream. A failed answer, or one that is not a stream, is received whole. */
export const stream = (
  body: unknown,
  options: Options
): Effect.Effect<Received | Opened, AiError.AiErrorReason, Scope.Scope> =>
  withRetry(
    Effect.flatMap(
      options.client.execute(makeRequest(options.target, body, "text/event-stream, application/json")),
      (
        response
      ): Effect.Effect<Received | Opened, HttpClientError.HttpClientError | AiError.AiErrorReason, Scope.Scope> =>
        response.status < 300 && isEventStream(response.headers)
          ? open(response, options)
          : receive(response, options.maxBodySize)
    ),
    options
  )

const isEventStream = (headers: Headers.Headers): boolean => {
  const type = headers["content-type"]
  return type === undefined || /^\s*text\/event-stream\b/i.test(type)
}
