/** Idle timeout of an executor: progress that it reports extends the time, up to a maximum. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { monotonicMillis } from "../../foundation/monotonicTime.ts"

/** The timer of the executor that runs. */
export interface Activity {
  /** Starts the idle timeout again. */
  readonly extend: () => void
}

/** The timer of the running executor; `undefined` if its timeout cannot be extended. */
export const CurrentActivity: Context.Reference<Activity | undefined> = Context.Reference<Activity | undefined>(
  "@recourse/core/CurrentActivity",
  { defaultValue: () => undefined }
)

/** The times that an executor is given. */
export interface IdleLimits {
  readonly idle: Duration.Duration
  readonly max: Duration.Duration
}

/** Runs an executor. It is interrupted, and `late` runs, if it reports no progress for `idle`, or at the end of `max`. */
export const withIdleTimeout = <A, E, R, B, E2>(
  self: Effect.Effect<A, E, R>,
  { idle, max }: IdleLimits,
  late: (after: Duration.Duration) => Effect.Effect<B, E2>
): Effect.Effect<A | B, E | E2, R> =>
  Effect.clockWith((clock) => {
    const now = () => monotonicMillis(clock)
    const [idleMillis, end] = [Duration.toMillis(idle), now() + Duration.toMillis(max)]
    let due = now() + idleMillis
    const activity: Activity = {
      extend: () => {
        due = now() + idleMillis
      }
    }
    const wait: Effect.Effect<B, E2> = Effect.suspend(() => {
      const left = Math.min(due, end) - now()
      return left > 0 ? Effect.andThen(Effect.sleep(left), wait) : late(end <= due ? max : idle)
    })
    return Effect.raceFirst(Effect.provideService(self, CurrentActivity, activity), wait)
  })
