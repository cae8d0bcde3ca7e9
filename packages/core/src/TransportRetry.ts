/**
 * Retry of one HTTP request, below every decision about models and tools.
 *
 * It wraps any `effect/http` HttpClient (`transform`, `layer`) or any effect that ends with a response (`retry`).
 * Repeated:
 *
 * - connection errors, and the statuses 408, 409, 429 and 5xx, like the official clients of OpenAI and Anthropic
 * - `x-should-retry: true | false` outranks the status; 2xx and 3xx are never repeated
 * - three attempts in all, waiting 250 ms, then 500 ms, each ±20 %
 * - `retry-after-ms`, else `Retry-After` (seconds, fractions of seconds, an HTTP date): the wait is never shorter than
 *   requested. If it is longer than `maxRetryAfter` (60 s), there is no wait and the answer surfaces at once, its
 *   headers intact
 * - without these headers the wait that the error's body or the reset of a rate limit names, see `serverWait`
 * - a timeout is the caller's whole budget, so it is not repeated
 * - within an agent's run, a wait that ends behind the run's deadline is not waited for: the answer surfaces at once
 *
 * When the attempts are used up, the last response or error surfaces unchanged and with its own type. The layers above do not
 * retry it again: neither `ModelError.retry` nor the `Recovery.retry` of the tool that sent the request, unless they say
 * `evenIfRetried`.
 */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Headers from "effect/http/Headers"
import * as HttpClient from "effect/http/HttpClient"
import * as HttpClientError from "effect/http/HttpClientError"
import type * as HttpClientRequest from "effect/http/HttpClientRequest"
import type * as HttpClientResponse from "effect/http/HttpClientResponse"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schedule from "effect/Schedule"
import * as Stream from "effect/Stream"
import { CurrentExchange, type Exchange, noteRetried } from "./internal/foundation/effect/retriedFailures.ts"
import {
  aDuration,
  aFunction,
  aLimit,
  aSchedule,
  checkOptions,
  type Kind
} from "./internal/foundation/options/optionCheck.ts"
import * as ServerWait from "./internal/model/serverWait.ts"
import { type Failure, Observer } from "./internal/model/transportObserver.ts"

export { type Failure, Observer, type Retry } from "./internal/model/transportObserver.ts"

/**
 * Part of an answer that `retry` reads; every `HttpClientResponse` is one.
 *
 * @category models
 * @since 0.2.0
 */
export interface Answer {
  readonly status: number
  readonly headers: Headers.Headers
  readonly request: HttpClientRequest.HttpClientRequest
}

/** Set while an attempt runs, so that a second TransportRetry inside it makes one attempt only and the two do not multiply. */
const Active = Context.Reference<boolean>("@recourse/core/TransportRetry/Active", { defaultValue: () => false })

/**
 * Options of a retry on the wire.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options<in A = Answer> {
  /** Attempts in all, the first included. Default 3. */
  readonly attempts?: number | undefined
  /** The waits. Default: 250 ms, doubled each time, ±20 %. */
  readonly schedule?: Schedule.Schedule<unknown> | undefined
  /** The longest wait a server may ask for. Default 60 seconds. */
  readonly maxRetryAfter?: Duration.Input | undefined
  /** Overrides the decision by status for one answer: `undefined` leaves it as it is. `x-should-retry` still outranks it. */
  readonly shouldRetry?: ((answer: A) => boolean | undefined) | undefined
}

/**
 * True if this layer repeats a request with this answer status, unless a header decides otherwise.
 *
 * @category predicates
 * @since 0.2.0
 */
export const isRetryableStatus = (status: number): boolean =>
  status === 408 || status === 409 || status === 429 || (status >= 500 && status < 600)

/**
 * The default waits: 250 ms, doubled each time, ±20 %.
 *
 * @category constants
 * @since 0.2.0
 */
export const defaultSchedule: Schedule.Schedule<unknown> = Schedule.exponential("250 millis").pipe(Schedule.jittered)

/**
 * Returns the wait that the server requests: `retry-after-ms` first, then `Retry-After` in seconds, fractions of
 * seconds or as an HTTP date (RFC 9110, 10.2.3). Rounded up to whole milliseconds; a date in the past is zero; more
 * than a year is a year; an unreadable value counts as absent.
 *
 * ```ts
 * import { Duration } from "effect"
 * import { Headers } from "effect/http"
 * import { TransportRetry } from "@recourse/core"
 *
 * const asked = TransportRetry.retryAfter(Headers.fromInput({ "retry-after": "1.5" }), 0)
 * asked && Duration.toMillis(asked) // => 1500
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const retryAfter = (headers: Headers.Headers, nowMillis: number): Duration.Duration | undefined =>
  ServerWait.retryAfter(headers, nowMillis)

/**
 * Returns the wait that an answer requests, by any of its parts: as {@link retryAfter}, else in the error of its body
 * (`google.rpc.RetryInfo`, `retry_after`, headers that a gateway passes on), else, for status 429, in the reset of a
 * used-up rate limit (`x-ratelimit-reset-requests`, `ratelimit-reset`, `anthropic-ratelimit-tokens-reset`, …). Dates
 * are measured against the server's `Date`. `nowMillis`: our time since the epoch, for servers without one. No prose is
 * parsed.
 *
 * ```ts
 * import { Duration } from "effect"
 * import { Headers } from "effect/http"
 * import { TransportRetry } from "@recourse/core"
 *
 * const body = `{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"2s"}]}}`
 * const asked = TransportRetry.serverWait({ status: 429, headers: Headers.empty, body }, 0)
 * asked && Duration.toMillis(asked) // => 2000
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const serverWait = (
  answer: Omit<Answer, "request"> & Partial<Record<"body", unknown>>,
  nowMillis: number
): Duration.Duration | undefined => ServerWait.serverWait(answer, nowMillis)

/**
 * The first error code along a chain of causes, such as `ECONNRESET` or `UND_ERR_SOCKET`.
 *
 * @category getters
 * @since 0.2.0
 */
export const errorCode = (error: unknown): string | undefined =>
  walk(error, (e) => Predicate.hasProperty(e, "code") && typeof e.code === "string" ? e.code : undefined)

const timeoutCodes: ReadonlySet<string> = new Set(["UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT"])

const isTimeout = (error: unknown): boolean =>
  walk(error, (e) =>
    Cause.isTimeoutError(e) ||
      (Predicate.hasProperty(e, "name") && e.name === "TimeoutError") ||
      (Predicate.hasProperty(e, "code") && typeof e.code === "string" && timeoutCodes.has(e.code))
      ? true
      : undefined) ?? false

const walk = <A>(error: unknown, f: (error: object) => A | undefined): A | undefined => {
  let current = error
  for (let depth = 0; depth < 8 && typeof current === "object" && current !== null; depth++) {
    const found = f(current)
    if (found !== undefined) return found
    current = Predicate.hasProperty(current, "reason") && typeof current.reason === "object"
      ? current.reason
      : Predicate.hasProperty(current, "cause")
      ? current.cause
      : undefined
  }
  return undefined
}

const kinds: Readonly<Record<keyof Options, Kind>> = {
  attempts: aLimit,
  schedule: aSchedule,
  maxRetryAfter: aDuration,
  shouldRetry: aFunction
}

/** Throws `ConfigurationError` for options that the compiler refuses. */
const checked = <O extends object>(options: O): O => {
  checkOptions("TransportRetry", options, { kinds, otherNames: { times: "attempts", retries: "attempts" } })
  return options
}

interface Verdict {
  readonly failure: Failure
  readonly retryAfter: Duration.Duration | undefined
  readonly request: HttpClientRequest.HttpClientRequest
}

const head = ({ headers, status }: Answer) => ({ headers, status })

/** The body of an answer that has been received. */
const bodyOf = (answer: Answer): string | undefined =>
  Predicate.hasProperty(answer, "body") && typeof answer.body === "string" ? answer.body : undefined

const judgeAnswer = (
  answer: Answer,
  now: number,
  override: boolean | undefined
): Verdict | undefined => {
  if (answer.status < 400) return undefined
  const header = answer.headers["x-should-retry"]
  const repeat = header === "true" ? true : header === "false" ? false : override ?? isRetryableStatus(answer.status)
  return repeat
    ? {
      failure: { _tag: "Status", status: answer.status },
      retryAfter: ServerWait.serverWait({ ...head(answer), body: bodyOf(answer) }, now),
      request: answer.request
    }
    : undefined
}

const judgeError = (error: unknown, now: number): Verdict | undefined => {
  if (!HttpClientError.isHttpClientError(error)) return undefined
  const reason = error.reason
  switch (reason._tag) {
    case "TransportError":
      return isTimeout(reason)
        ? undefined
        : { failure: { _tag: "Transport", code: errorCode(reason) }, retryAfter: undefined, request: reason.request }
    case "StatusCodeError":
      return judgeAnswer(
        { status: reason.response.status, headers: reason.response.headers, request: reason.request },
        now,
        undefined
      )
    default:
      return undefined
  }
}

const onlyError = <E>(cause: Cause.Cause<E>): Option.Option<E> => {
  const [reason, ...others] = cause.reasons
  return reason !== undefined && others.length === 0 && Cause.isFailReason(reason)
    ? Option.some(reason.error)
    : Option.none()
}

const hostOf = (request: HttpClientRequest.HttpClientRequest): string =>
  URL.canParse(request.url) ? new URL(request.url).host : ""

/** Marks an exit that surfaces after another attempt: no layer above sends the request again for the same reason. */
const givenUp = <A, E>(exit: Exit.Exit<A, E>, exchange: Exchange | undefined): Exit.Exit<A, E> => {
  if (exchange !== undefined) exchange.hasGivenUp = true
  noteRetried(Exit.isSuccess(exit) ? exit.value : Option.getOrUndefined(onlyError(exit.cause)))
  return exit
}

const judge = <A extends Answer, E>(exit: Exit.Exit<A, E>, options: Options<A>, now: number): Verdict | undefined =>
  Exit.isSuccess(exit)
    ? judgeAnswer(exit.value, now, options.shouldRetry?.(exit.value))
    : Option.getOrUndefined(Option.flatMapNullishOr(onlyError(exit.cause), (error) => judgeError(error, now)))

/** The attempts behind a first one that has ended. */
const retryAfterFirst = Effect.fnUntraced(function*<A extends Answer, E, R>(
  first: Exit.Exit<A, E>,
  attemptOnce: Effect.Effect<A, E, R>,
  options: Options<A>,
  discard: (answer: A) => Effect.Effect<void>,
  exchange: Exchange | undefined
): Effect.fn.Return<A, E, R> {
  const maxAttempts = options.attempts ?? 3
  const limit = Duration.fromInputUnsafe(options.maxRetryAfter ?? "60 seconds")
  const step = yield* Schedule.toStep(options.schedule ?? defaultSchedule)
  let exit = first
  for (let attempt = 1;; attempt++) {
    const now = yield* Clock.currentTimeMillis
    const verdict = judge(exit, options, now)
    if (verdict === undefined) return yield* exit
    const surfaced = () => attempt === 1 ? exit : givenUp(exit, exchange)
    if (attempt >= maxAttempts) return yield* surfaced()
    if (verdict.retryAfter !== undefined && Duration.isGreaterThan(verdict.retryAfter, limit)) return yield* surfaced()
    const planned = yield* Effect.exit(step(now, verdict.failure))
    if (Exit.isFailure(planned)) return yield* surfaced()
    const backoff = Duration.millis(Math.ceil(Duration.toMillis(planned.value[1])))
    const delay = Duration.max(backoff, verdict.retryAfter ?? Duration.zero)
    if (exchange?.hasTime(Duration.toMillis(delay)) === false) return yield* surfaced()
    if (Exit.isSuccess(exit)) yield* discard(exit.value)
    const observe = yield* Observer
    yield* observe({
      attempt,
      maxAttempts,
      delay,
      failure: verdict.failure,
      retryAfter: verdict.retryAfter,
      method: verdict.request.method,
      host: hostOf(verdict.request)
    })
    yield* Effect.sleep(delay)
    exit = yield* Effect.exit(attemptOnce)
  }
})

const retryWith = <A extends Answer, E, R>(
  self: Effect.Effect<A, E, R>,
  options: Options<A>,
  discard: (answer: A) => Effect.Effect<void>
): Effect.Effect<A, E, R> =>
  Effect.withFiber((fiber) => {
    if (fiber.getRef(Active)) return self
    const exchange = fiber.getRef(CurrentExchange)
    if (exchange !== undefined) exchange.hasGivenUp = false
    const attemptOnce = Effect.provideService(self, Active, true)
    return Effect.flatMap(
      Effect.exit(attemptOnce),
      (exit) =>
        // Most answers are good: no schedule is created for them.
        Exit.isSuccess(exit) && exit.value.status < 400
          ? exit
          : retryAfterFirst(exit, attemptOnce, options, discard, exchange)
    )
  })

/**
 * Retries an effect that ends with an answer. The effect is one whole attempt: put the reading of the body into it if a broken body shall be repeated too.
 * Answers that are thrown away must not hold resources; for a client whose answers hold an open body use `transform`.
 *
 * @category combinators
 * @since 0.2.0
 */
export const retry = <A extends Answer, E, R>(
  self: Effect.Effect<A, E, R>,
  options: Options<A> = {}
): Effect.Effect<A, E, R> => retryWith(self, checked(options), () => Effect.void)

// Opening the body and closing it unread aborts the request, which frees the connection.
const abandon = (response: HttpClientResponse.HttpClientResponse): Effect.Effect<void> =>
  response.stream.pipe(Stream.toPull, Effect.scoped, Effect.ignore)

/**
 * A client with the same type that retries each request by these rules.
 *
 * ```ts
 * import { Duration, Effect } from "effect"
 * import { HttpClient, HttpClientResponse } from "effect/http"
 * import { TransportRetry } from "@recourse/core"
 *
 * let requests = 0
 * const flaky = HttpClient.make((request) =>
 *   Effect.sync(() => HttpClientResponse.fromWeb(request, new Response(null, { status: ++requests < 3 ? 503 : 200 })))
 * )
 * const client = TransportRetry.transform(flaky, { maxRetryAfter: Duration.seconds(10) })
 *
 * const response = await Effect.runPromise(client.get("http://localhost/"))
 * response.status // => 200
 * requests // => 3
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const transform = <E, R>(
  self: HttpClient.HttpClient.With<E, R>,
  options: Options<HttpClientResponse.HttpClientResponse> = {}
): HttpClient.HttpClient.With<E, R> => {
  checked(options)
  return HttpClient.transformResponse(self, (attempt) => retryWith(attempt, options, abandon))
}

/**
 * `transform` over the HttpClient of the context, for everything above this layer.
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (
  options: Options<HttpClientResponse.HttpClientResponse> = {}
): Layer.Layer<HttpClient.HttpClient, never, HttpClient.HttpClient> => {
  checked(options)
  return Layer.effect(HttpClient.HttpClient, Effect.map(HttpClient.HttpClient, (client) => transform(client, options)))
}
