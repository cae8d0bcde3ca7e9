/** Limits of a server: requests and streams of each principal, and wrong credentials from each address. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type * as Scope from "effect/Scope"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as RateLimiter from "effect/persistence/RateLimiter"
import type { Principal, Unauthorized, WrongHost } from "../../Authentication.ts"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import { monotonicMillis } from "@recourse/core/Runs"
import { TooManyRequests } from "./errors.ts"

/**
 * So many in a window.
 *
 * @category models
 * @since 0.2.0
 */
export interface Rate {
  readonly limit: number
  readonly window: Duration.Input
}

/** The limits of a server. */
export interface LimitOptions {
  readonly rateLimit?: Rate | false | undefined
  readonly maxStreams?: number | undefined
  readonly wrongCredentials?: Rate | false | undefined
}

/** The limits that routes apply. */
export interface Limits {
  /** Counts a request of a principal. */
  readonly request: (principal: Principal) => Effect.Effect<void, TooManyRequests>
  /** Takes one of a principal's streams, until the scope of the request is closed. */
  readonly stream: (principal: Principal) => Effect.Effect<void, TooManyRequests, Scope.Scope>
  /** Authenticates a request, unless its address has sent too many wrong credentials. */
  readonly authenticated: (
    request: HttpServerRequest,
    authenticate: Effect.Effect<Principal, Unauthorized | WrongHost>
  ) => Effect.Effect<Principal, Unauthorized | WrongHost | TooManyRequests>
}

/** A refused stream may be opened when another one has ended. */
const retryStream = 1000

/** The addresses that are refused at the same time, at most. The one that was added first makes room. */
const mostAddresses = 10_000

const unlimited = () => Effect.void

/** Takes from a bucket. A store that fails lets the request pass: it must not take the service with it. */
const taking = (limiter: RateLimiter.RateLimiter, rate: Rate | false, name: string) => {
  if (rate === false) return unlimited
  return (key: string): Effect.Effect<void, TooManyRequests> =>
    limiter.consume({ algorithm: "token-bucket", onExceeded: "fail", ...rate, key: `${name} ${key}`, tokens: 1 }).pipe(
      Effect.asVoid,
      Effect.catch((error) =>
        error.reason._tag === "RateLimitExceeded"
          ? Effect.fail(new TooManyRequests({ retryAfter: Duration.toMillis(error.reason.retryAfter) }))
          : Effect.logWarning("The rate limiter failed", error)
      )
    )
}

/** Counts the open streams of each principal. */
const countingStreams = (most: number): Limits["stream"] => {
  const open = new Map<string, number>()
  const change = (id: string, by: number): void => {
    const count = (open.get(id) ?? 0) + by
    if (count === 0) open.delete(id)
    else open.set(id, count)
  }
  return ({ id }) =>
    Effect.uninterruptible(Effect.suspend(() => {
      if ((open.get(id) ?? 0) >= most) return Effect.fail(new TooManyRequests({ retryAfter: retryStream }))
      change(id, 1)
      return Effect.addFinalizer(() => Effect.sync(() => change(id, -1)))
    }))
}

/** Refuses an address that has sent too many wrong credentials, before its next ones are looked up. */
const refusingGuesses = (take: (key: string) => Effect.Effect<void, TooManyRequests>): Limits["authenticated"] => {
  const refused = new Map<string, number>()
  return (request, authenticate) => {
    const address = Option.getOrElse(request.remoteAddress, () => "unknown")
    return Effect.clockWith((clock) => {
      const now = monotonicMillis(clock)
      const until = refused.get(address)
      if (until !== undefined && until > now) return Effect.fail(new TooManyRequests({ retryAfter: until - now }))
      refused.delete(address)
      return Effect.tapErrorTag(
        authenticate,
        "Unauthorized",
        () =>
          Effect.tapError(take(address), ({ retryAfter }) =>
            Effect.sync(() => {
              if (refused.size >= mostAddresses) refused.delete(refused.keys().next().value!)
              refused.set(address, now + retryAfter)
            }))
      )
    })
  }
}

/** Makes the limits of a server, in the memory of the process. */
export const limitsOf = (
  { maxStreams = 64, rateLimit, wrongCredentials }: LimitOptions
): Effect.Effect<Limits, ConfigurationError> =>
  Effect.gen(function*() {
    if (!(maxStreams === Infinity || (Number.isInteger(maxStreams) && maxStreams > 0))) {
      const problem = "`maxStreams` must be an integer > 0, or Infinity"
      return yield* new ConfigurationError({ subject: "Server", problem })
    }
    const limiter = yield* RateLimiter.make
    const request = taking(limiter, rateLimit ?? { limit: 600, window: "1 minute" }, "request")
    const guess = wrongCredentials ?? { limit: 60, window: "1 minute" }
    return {
      request: ({ id }: Principal) => request(id),
      stream: countingStreams(maxStreams),
      authenticated: guess === false
        ? (_: HttpServerRequest, authenticate: Effect.Effect<Principal, Unauthorized | WrongHost>) => authenticate
        : refusingGuesses(taking(limiter, guess, "guess"))
    }
  }).pipe(Effect.provide(RateLimiter.layerStoreMemory))
