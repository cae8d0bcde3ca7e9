/** Runs that begin at the times of a cron expression, once for all processes. */
import * as Clock from "effect/Clock"
import * as Cron from "effect/Cron"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { Runs, RunsUnavailable } from "@recourse/core/Runs"
import { storeRetry } from "../store/storeRetry.ts"

/**
 * When runs begin, and how they are named.
 *
 * @category options
 * @since 0.2.0
 */
export interface CronOptions<in out In> {
  /** The ids of the runs are the name and the time: `report 2026-01-01T06:00:00.000Z`. */
  readonly name: string
  /** The times. */
  readonly cron: Cron.Cron
  /** Input of the run of a time. */
  readonly input: (at: Date) => In
  /** Owner of the runs. Default: none. */
  readonly owner?: string | undefined
  /**
   * Missed times, without a process or a store, are started later, each within this limit. If none was started in twice
   * that time, the last one is: a new cron has no past. Default: 1 hour.
   */
  readonly catchUp?: Duration.Input | undefined
}

/** Starts runs, again and again. The id of a run is its time: processes that do the same start it once. */
export const starting = <In, E>(
  agent: string,
  { catchUp, cron, input, name, owner }: CronOptions<In>,
  start: (runId: string, input: In, options: { readonly owner: string | undefined }) => Effect.Effect<unknown, E, Runs>
): Effect.Effect<never, never, Runs> => {
  const longest = Duration.toMillis(Duration.fromInputUnsafe(catchUp ?? "1 hour"))
  const idOf = (time: number): string => `${name} ${new Date(time).toISOString()}`
  const isLate = (time: number) => Effect.map(Clock.currentTimeMillis, (now) => now - time > longest)
  /** A store that is away is asked again, until the time is too long ago. */
  const patiently = <A, E1, R>(effect: Effect.Effect<A, E1, R>, time: number): Effect.Effect<A, E1, R> =>
    Effect.retry(effect, {
      schedule: storeRetry,
      while: (error: E1) =>
        error instanceof RunsUnavailable ? Effect.map(isLate(time), (late) => !late) : Effect.succeed(false)
    })
  const at = (time: number): Effect.Effect<void, never, Runs> =>
    Effect.asVoid(Effect.catchCause(
      patiently(Effect.suspend(() => start(idOf(time), input(new Date(time)), { owner })), time),
      (cause) => Effect.logWarning(`Durable runs: "${idOf(time)}" could not be started`, cause)
    ))
  /** The last started time, of any process; just before the last one if there was none. */
  const last = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.map(
      Effect.orElseSucceed(
        patiently(
          Effect.flatMap(Runs, (runs) =>
            runs.list({ agent, idPrefix: `${name} `, startedAfter: now - 2 * longest, limit: 1 })),
          now
        ),
        () => []
      ),
      ([newest]) => {
        const started = newest === undefined ? Number.NaN : Date.parse(newest.runId.slice(name.length + 1))
        return Number.isNaN(started) ? Cron.prev(cron, new Date(now)).getTime() - 1 : started
      }
    ))
  /** All times behind one, in order: so all times before the last started one were started. */
  const behind = (before: number): Effect.Effect<never, never, Runs> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const time = Cron.next(cron, new Date(Math.max(before, now - longest - 1))).getTime()
      return Effect.andThen(
        Effect.andThen(time > now ? Effect.sleep(time - now) : Effect.void, at(time)),
        behind(time)
      )
    })
  return Effect.flatMap(last, behind)
}
