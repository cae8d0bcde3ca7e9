/** A connection to one server, which is made again when it is lost: with back-off, by a circuit breaker. */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import * as Semaphore from "effect/Semaphore"
import type * as McpClient from "effect/ai/McpClient"
import { McpClientError, TimeoutError } from "effect/ai/McpClientError"
import type { Peer } from "./client/peer.ts"
import * as CircuitBreaker from "effect/persistence/CircuitBreaker"

/**
 * A client, and whether its server is known to exist: requests to a missing one have no effect.
 *
 * @category models
 * @since 0.2.0
 */
export interface Live {
  readonly client: McpClient.McpClient
  readonly isAlive: Effect.Effect<boolean>
  /** Further knowledge of `Mcp.stdio`, `Mcp.http` and `Mcp.sse` about the server. */
  readonly peer?: Peer | undefined
}

/**
 * Connects to a server.
 *
 * @category models
 * @since 0.2.0
 */
export type Connect<R> = Effect.Effect<Live, McpClientError, R | Scope.Scope>

/** The server cannot be reached, or is left alone. */
export interface Gone {
  readonly retryAfter: Duration.Duration
  readonly reason: McpClientError | undefined
}

/** A server that is connected to when it is needed. */
export interface Connection {
  /** The client, connected. */
  readonly live: Effect.Effect<Live, Gone>
  /** The client that is connected now, if one is. */
  readonly current: () => Live | undefined
  /** Runs a call of a client, which is not closed before the call has ended, though it may be lost meanwhile. */
  readonly using: <A, E, R>(live: Live, call: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  /** Says that a client is of no more use: the next call connects again. */
  readonly lost: (live: Live) => Effect.Effect<void>
}

/** Time for which an unreachable server is left alone, at first and at most. */
const openDuration = Schedule.min([Schedule.exponential("500 millis"), Schedule.spaced("30 seconds")])

const retryAfterOf = (error: CircuitBreaker.CircuitBreakerError): Duration.Duration =>
  error.reason._tag === "CircuitOpen" ? error.reason.retryAfter : Duration.seconds(1)

/** Connects when a call needs it. A server that cannot be reached twice in a row is left alone for a while. */
export const make = Effect.fnUntraced(function*<R>(connect: Connect<R>, timeout: Duration.Duration) {
  const scope = yield* Effect.scope
  const context = yield* Effect.context<R>()
  const breaker = yield* CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(2), openDuration }).pipe(
    Effect.provide(CircuitBreaker.layerStoreMemory())
  )
  const one = yield* Semaphore.make(1)
  let current: { readonly live: Live; readonly scope: Scope.Closeable } | undefined
  /** Number of calls that use a client. */
  const users = new Map<Live, number>()
  /** Clients that are lost and still used. */
  const lostInUse = new Map<Live, Scope.Closeable>()

  const close = (child: Scope.Closeable) => Effect.forkIn(Scope.close(child, Exit.void), scope)

  const connected: Effect.Effect<Live, McpClientError> = Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(Scope.fork(scope), (child) =>
      restore(connect.pipe(
        Scope.provide(child),
        Effect.provideContext(context),
        // Time limit for a server that starts and stays silent.
        Effect.timeoutOrElse({
          duration: timeout,
          orElse: () => Effect.fail(new McpClientError({ reason: new TimeoutError({ operation: "connect" }) }))
        })
      )).pipe(
        Effect.onExit((exit) => {
          if (Exit.isFailure(exit)) return close(child)
          current = { live: exit.value, scope: child }
          return Effect.void
        })
      ))
  )

  const reconnected = breaker.execute(connected, {
    key: "server",
    classify: (exit) =>
      Exit.isSuccess(exit)
        ? CircuitBreaker.success
        : Cause.hasInterruptsOnly(exit.cause)
        ? CircuitBreaker.ignored
        : CircuitBreaker.failure()
  }).pipe(
    Effect.mapError((error): Gone =>
      error instanceof McpClientError
        ? { retryAfter: Duration.zero, reason: error }
        : { retryAfter: retryAfterOf(error), reason: undefined }
    )
  )

  const lost = (live: Live) =>
    Effect.suspend(() => {
      const child = current
      if (child === undefined || child.live !== live) return Effect.void
      current = undefined
      if (users.has(live)) lostInUse.set(live, child.scope)
      return users.has(live) ? Effect.void : Effect.asVoid(close(child.scope))
    })

  const released = (live: Live) =>
    Effect.suspend(() => {
      const left = users.get(live)! - 1
      if (left > 0) users.set(live, left)
      else users.delete(live)
      const lost = lostInUse.get(live)
      if (left > 0 || lost === undefined) return Effect.void
      lostInUse.delete(live)
      return Effect.asVoid(close(lost))
    })

  const using: Connection["using"] = (live, call) =>
    Effect.acquireUseRelease(
      Effect.sync(() => void users.set(live, (users.get(live) ?? 0) + 1)),
      () => call,
      () => released(live)
    )

  const live: Connection["live"] = one.withPermit(Effect.suspend(() => {
    if (current === undefined) return reconnected
    const { live } = current
    return Effect.flatMap(
      live.isAlive,
      (isAlive) => isAlive ? Effect.succeed(live) : Effect.andThen(lost(live), reconnected)
    )
  }))

  const connection: Connection = { current: () => current?.live, live, lost, using }
  return connection
})
