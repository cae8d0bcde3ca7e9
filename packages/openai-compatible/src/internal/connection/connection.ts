/** One exchange with the server: the request, its attempts, and a bounded body. */
import * as AiError from "effect/ai/AiError"
import type { NonEmptyReadonlyArray } from "effect/Array"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import type * as Headers from "effect/http/Headers"
import type * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as IdleTimeout from "@recourse/core/IdleTimeout"
import * as TransportRetry from "@recourse/core/TransportRetry"
import * as Body from "./body.ts"
import * as HttpSpan from "./httpSpan.ts"
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

/** An answer whose body has started to arrive; the first byte is there. */
export interface Opened extends Head {
  readonly _tag: "Opened"
  readonly body: Pull.Pull<NonEmptyReadonlyArray<Uint8Array>, AiError.AiErrorReason | IdleTimeout.IdleTimeoutError>
  /** Receives content of the body, which only its reader can distinguish from pings. */
  readonly limits: IdleTimeout.IdleTimeout
}

export interface Options {
  readonly client: HttpClient.HttpClient
  readonly target: Target
  /** In bytes, after decompression. */
  readonly maxBodySize: number
  readonly limits: IdleTimeout.Options
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

/**
 * Requests without a body, by their accepted types, for the headers of a target: all requests of a client have the
 * same.
 */
const requests = new WeakMap<Target["headers"], Map<string, HttpClientRequest.HttpClientRequest>>()

const emptyRequest = ({ headers, url }: Target, accept: string): HttpClientRequest.HttpClientRequest => {
  let known = requests.get(headers)
  if (known === undefined) requests.set(headers, known = new Map())
  let request = known.get(accept)
  if (request === undefined) {
    request = HttpClientRequest.post(url).pipe(HttpClientRequest.setHeaders(headers), HttpClientRequest.accept(accept))
    known.set(accept, request)
  }
  return request
}

const makeRequest = (target: Target, body: string, accept: string): HttpClientRequest.HttpClientRequest =>
  HttpClientRequest.bodyText(emptyRequest(target, accept), body, "application/json")

/** The body as text. A broken one is a connection error, so that a whole attempt can be repeated. */
const receive = (
  response: HttpClientResponse.HttpClientResponse,
  maxBodySize: number,
  limits: IdleTimeout.IdleTimeout
): Effect.Effect<Received, HttpClientError.HttpClientError | AiError.AiErrorReason | IdleTimeout.IdleTimeoutError> =>
  Effect.suspend(() => {
    const decoder = new TextDecoder()
    let size = 0
    let body = ""
    const { headers, request, status } = response
    const ok = status < 400
    if (!ok) limits.heard("ping")
    const received = Effect.sync((): Received => ({
      _tag: "Received",
      request,
      status,
      headers,
      body: body + decoder.decode()
    }))
    const take = (pieces: ReadonlyArray<Uint8Array>): boolean => {
      for (const bytes of pieces) {
        if (!ok && size >= maxBodySize) return true
        size += bytes.length
        if (ok && size > maxBodySize) return true
        const text = decoder.decode(bytes, { stream: true })
        // Servers keep a whole answer alive with blanks.
        limits.heard(text.trim() === "" ? "ping" : "content")
        body += text
      }
      return false
    }
    let full = false
    const { close, pull } = Body.make(response, limits, 16)
    const readAll = Effect.whileLoop({
      while: () => !full,
      body: () => pull,
      step: (pieces) => {
        full = take(pieces)
      }
    }).pipe(
      Pull.catchDone(() => Effect.void),
      Effect.andThen(Effect.suspend(() => full && ok ? Effect.fail(tooLarge(maxBodySize)) : received))
    )
    return Effect.onExitPrimitive(readAll, close).pipe(
      Effect.catchIf(
        (error) => HttpClientError.isHttpClientError(error) || error._tag === "IdleTimeoutError",
        (error) => {
          if (HttpClientError.isHttpClientError(error) && error.reason._tag === "EmptyBodyError") return received
          // The status of a failed answer says enough, even if its explanation is cut off.
          if (!ok) return received
          return HttpClientError.isHttpClientError(error)
            ? Effect.fail(transportError(request, error.reason))
            : fellSilent(request, error)
        }
      )
    )
  })

/** A stalled answer may be asked for again. One without content for the longer time is not: that was most of a caller's patience. */
const fellSilent = (
  request: HttpClientRequest.HttpClientRequest,
  silence: IdleTimeout.IdleTimeoutError
): Effect.Effect<never, HttpClientError.HttpClientError | IdleTimeout.IdleTimeoutError> =>
  Effect.fail(silence.of === "bytes" ? transportError(request, silence) : silence)

/** Waits for the first bytes of a streamed body, in the scope of the stream. */
const open = Effect.fnUntraced(function*(
  response: HttpClientResponse.HttpClientResponse,
  options: Options,
  limits: IdleTimeout.IdleTimeout
): Effect.fn.Return<Opened, HttpClientError.HttpClientError | IdleTimeout.IdleTimeoutError, Scope.Scope> {
  const scope = yield* Scope.fork(yield* Effect.scope)
  // One piece at a time: a reader that leaves has read no further.
  const { close, pull } = Body.make(response, limits, 1)
  yield* Scope.addFinalizerExit(scope, (exit) => close(exit) ?? Effect.void)
  const first = yield* pull.pipe(
    Pull.catchDone(() => Effect.fail(transportError(response.request, new Error("empty body")))),
    Effect.mapError((error) =>
      error._tag === "IdleTimeoutError" ? error : transportError(response.request, error.reason)
    ),
    Effect.onExit((exit) => Exit.isSuccess(exit) ? Effect.void : Scope.close(scope, exit))
  )
  return {
    _tag: "Opened",
    request: response.request,
    status: response.status,
    headers: response.headers,
    body: Body.bounded<AiError.AiErrorReason>(first, pull, {
      maxBodySize: options.maxBodySize,
      limits,
      tooLarge: () => tooLarge(options.maxBodySize),
      broken: (error) => broken(options.target, "The connection broke in the middle of the answer", error)
    }),
    limits
  }
})

const withRetry = <A extends Received | Opened, R>(
  attempt: Effect.Effect<A, HttpClientError.HttpClientError | AiError.AiErrorReason | IdleTimeout.IdleTimeoutError, R>,
  options: Options
): Effect.Effect<A, AiError.AiErrorReason, R> =>
  (options.retry === false ? attempt : TransportRetry.retry(attempt, options.retry)).pipe(
    Effect.mapError((error) => {
      if (error._tag === "IdleTimeoutError") return broken(options.target, error.message, undefined)
      if (!HttpClientError.isHttpClientError(error)) return error
      const { cause } = error.reason
      return cause instanceof IdleTimeout.IdleTimeoutError
        ? broken(options.target, cause.message, undefined)
        : broken(options.target, "The server could not be reached, or broke off before its answer", error)
    })
  )

/**
 * Sends a request without an HTTP span that has no reader. A redirect is an answer: `fetch`, which alone follows one by
 * itself, would take the conversation to another origin.
 */
const inRequestContext = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.updateContext(
    self,
    (context: Context.Context<R>) =>
      Context.add(HttpSpan.omitUnobserved(context), FetchHttpClient.RequestInit, {
        ...Context.getOrUndefined(context, FetchHttpClient.RequestInit),
        redirect: "manual"
      })
  )

/** One attempt: the request, and the conversion of its answer within the same limits. */
const attempt = <A, E, R>(
  body: string,
  accept: string,
  options: Options,
  read: (response: HttpClientResponse.HttpClientResponse, limits: IdleTimeout.IdleTimeout) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | HttpClientError.HttpClientError | IdleTimeout.IdleTimeoutError, R> =>
  Effect.suspend(() => {
    const limits = IdleTimeout.make(options.limits)
    return Effect.flatMap(
      limits.wait(inRequestContext(options.client.execute(makeRequest(options.target, body, accept)))),
      (response) => read(response, limits)
    )
  })

/** Reads another path of the server, once. */
export const read = (path: string, options: Omit<Options, "retry">): Effect.Effect<Received, unknown> =>
  Effect.suspend(() => {
    const limits = IdleTimeout.make(options.limits)
    const url = new URL(options.target.url)
    url.pathname = url.pathname.replace(/\/chat\/completions$/, path)
    const request = HttpClientRequest.get(url.href).pipe(
      HttpClientRequest.setHeaders(options.target.headers),
      HttpClientRequest.accept("application/json")
    )
    return Effect.flatMap(
      limits.wait(inRequestContext(options.client.execute(request))),
      (response) => receive(response, options.maxBodySize, limits)
    )
  })

/** Sends a request and waits for the whole answer, whatever its status. */
export const send = (body: string, options: Options): Effect.Effect<Received, AiError.AiErrorReason> =>
  withRetry(
    attempt(body, "application/json", options, (response, limits) => receive(response, options.maxBodySize, limits)),
    options
  )

/** Sends a request for a stream. A failed answer, or one that is not a stream, is received whole. */
export const stream = (
  body: string,
  options: Options
): Effect.Effect<Received | Opened, AiError.AiErrorReason, Scope.Scope> =>
  withRetry(
    attempt(
      body,
      "text/event-stream, application/json",
      options,
      (
        response,
        limits
      ): Effect.Effect<
        Received | Opened,
        HttpClientError.HttpClientError | AiError.AiErrorReason | IdleTimeout.IdleTimeoutError,
        Scope.Scope
      > =>
        response.status < 300 && isEventStream(response.headers)
          ? open(response, options, limits)
          : receive(response, options.maxBodySize, limits)
    ),
    options
  )

/** Servers and proxies without the type of an event stream send none, one for any text or bytes, or one for lines of JSON. */
const streamTypes =
  /^\s*(?:text\/(?:event-stream|plain)|application\/(?:octet-stream|(?:x-)?(?:ndjson|jsonlines|jsonl)|stream\+json))\b/i

const isEventStream = (headers: Headers.Headers): boolean => {
  const type = headers["content-type"]
  return type === undefined || streamTypes.test(type)
}
