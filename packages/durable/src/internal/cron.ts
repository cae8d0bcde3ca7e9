/** Runs that begin at the times of a cron expression, once for all processes. */
import * as Clock from "effect/Clock"
import * as Cron from "effect/Cron"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"

/** When runs begin, and how they are named. */
export interface CronOptions<in out In> {
  /** The ids of the runs are the name and the time: `report 2026-01-01T06:00:00.000Z`. */
  readonly name: string
  readonly cron: Cron.Cron
  /** What the run of a time is given. */
  readonly input: (at: Date) => In
  readonly owner?: string | undefined
  /** A time that no process was there for is made up for, if it is not longer ago. Default: 1 hour. */
  readonly catchUp?: Duration.Input | undefined
}

/** Starts runs, again and again. The id of a run is its time: processes that do the same start it once. */
export const starting = <In, E>(
  { catchUp, cron, input, name, owner }: CronOptions<In>,
  start: (runId: string, input: In, options: { readonly owner: string | undefined }) => Effect.Effect<unknown, E>
): Effect.Effect<never> => {
  const at = (time: Date): Effect.Effect<void> =>
    Effect.asVoid(Effect.catchCause(
      start(`${name} ${time.toISOString()}`, input(time), { owner }),
      (cause) => Effect.logWarning(`Durable runs: "${name}" of ${time.toISOString()} could not be started`, cause)
    ))
  const missed = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const last = Cron.prev(cron, new Date(now))
    return now - last.getTime() <= Duration.toMillis(Duration.fromInputUnsafe(catchUp ?? "1 hour"))
      ? at(last)
      : Effect.void
  })
  const next = Effect.flatMap(Clock.currentTimeMillis, (now) => {
    const time = Cron.next(cron, new Date(now))
    return Effect.andThen(Effect.sleep(Math.max(1, time.getTime() - now)), at(time))
  })
  return Effect.andThen(missed, Effect.forever(next))
}
