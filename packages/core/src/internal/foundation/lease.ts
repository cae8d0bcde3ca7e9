/**
 * Leases of claims. A lease is renewed while its work runs, so that other processes leave the claim alone. It is
 * checked before any execution.
 *
 * A process that slept longer than its lease (a stop, a suspended machine, a long garbage collection) may have lost its
 * claim. `confirm` asks the store whenever the lease may have run out, so the process learns of it before it executes.
 */
import type * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"

/** A reading of both clocks: one jumps, the other pauses while the machine is suspended. */
export interface Moment {
  readonly wall: number
  readonly monotonic: bigint
}

/** Now, by both clocks of this process. */
export const moment: Effect.Effect<Moment> = Effect.clockWith((clock: Clock.Clock) =>
  Effect.succeed({ wall: clock.currentTimeMillisUnsafe(), monotonic: clock.monotonicTimeNanosUnsafe() })
)

const millisBetween = (from: Moment, to: Moment): number =>
  Math.max(to.wall - from.wall, Number(to.monotonic - from.monotonic) / 1e6)

/** A claim's lease. */
export interface Lease<E> {
  /** The store has started the lease; the request was sent at `asked`. It is renewed from now on. */
  readonly start: (asked: Moment) => Effect.Effect<void>
  /** Returns whether the claim is valid. Calls the store only if the lease may have expired. */
  readonly confirm: Effect.Effect<boolean, E>
  /** Ends the renewals, and waits for the one that may be on its way. */
  readonly stop: Effect.Effect<void>
}

/** A lease that `renew` renews. */
export const make = <E>(duration: Duration.Duration, renew: Effect.Effect<boolean, E>): Lease<E> => {
  const third = Duration.divideUnsafe(duration, 3)
  const fresh = Duration.toMillis(duration) * 2 / 3
  let renewedAt: Moment | undefined
  let isLost = false
  let renewing: Fiber.Fiber<unknown, unknown> | undefined

  const renewed = Effect.flatMap(moment, (asked) =>
    Effect.map(renew, (isOwned) => {
      if (isOwned) renewedAt = asked
      else isLost = true
      return isOwned
    }))
  // A failed renewal is retried: until the lease has expired no other process takes the entry.
  const renewal: Effect.Effect<void> = Effect.flatMap(
    Effect.andThen(Effect.sleep(third), Effect.orElseSucceed(renewed, () => true)),
    (isOwned) => isOwned ? renewal : Effect.void
  )
  return {
    start: (asked) =>
      Effect.suspend(() => {
        renewedAt = asked
        return Effect.map(Effect.forkDetach(Effect.interruptible(renewal)), (fiber) => {
          renewing = fiber
        })
      }),
    confirm: Effect.flatMap(moment, (now) => {
      if (isLost || renewedAt === undefined) return Effect.succeed(!isLost)
      return millisBetween(renewedAt, now) < fresh ? Effect.succeed(true) : renewed
    }),
    stop: Effect.suspend(() => {
      if (renewing === undefined) return Effect.void
      const fiber = renewing
      renewing = undefined
      return Fiber.interrupt(fiber)
    })
  }
}
