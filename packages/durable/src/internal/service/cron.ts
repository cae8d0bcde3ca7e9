/** Runs that begin at the times of a cron expression, once for all processes. */
import * as Clock from "effect/Clock"
import * as Cron from "effect/Cron"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { InvalidInput } from "@recourse/core/AgentError"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import { type Query, Runs, RunsUnavailable } from "@recourse/core/Runs"
import { checkName, timeOf } from "../store/requests.ts"
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

/** True if there is a time of a cron: 30 February is none. */
const hasTimes = (cron: Cron.Cron): boolean => {
  try {
    return Cron.next(cron, new Date(0)) !== undefined
  } catch {
    return false
  }
}

/** Starts runs, again and again. The id of a run is its time: processes that do the same start it once. */
export const starting = <In, E>(
  agent: string,
  { catchUp, cron, input, name, owner }: CronOptions<In>,
  start: (runId: string, input: In, options: { readonly owner: string | undefined }) => Effect.Effect<unknown, E, Runs>
): Effect.Effect<never, never, Runs> => {
  const prefix = `${name} `
  const idOf = (time: number): string => prefix + new Date(time).toISOString()
  const subject = `Cron "${name}" of agent "${agent}"`
  checkName(subject, "the id of a run, its name and a time,", idOf(0))
  if (!hasTimes(cron)) throw new ConfigurationError({ subject, problem: "no date is one of its times" })
  const longest = timeOf(subject, "catchUp", catchUp ?? "1 hour")
  /** The time of a run, if its id is of this cron: others may begin with its name. */
  const timeOfId = (runId: string): number | undefined => {
    const time = Date.parse(runId.slice(prefix.length))
    return !Number.isNaN(time) && idOf(time) === runId ? time : undefined
  }
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
  /** The last started time since another, of any process. */
  const lastSince = (
    startedAfter: number,
    behind?: Query["behind"]
  ): Effect.Effect<number | undefined, InvalidInput | RunsUnavailable, Runs> =>
    Effect.flatMap(
      Runs,
      (runs) =>
        Effect.flatMap(runs.list({ agent, idPrefix: prefix, startedAfter, behind, limit: 10 }), (page) => {
          const time = page.map(({ runId }) => timeOfId(runId)).find((time) => time !== undefined)
          return time !== undefined || page.length === 0 ? Effect.succeed(time) : lastSince(startedAfter, page.at(-1))
        })
    )
  /** The last started time, of any process; just before the last one if there was none. */
  const last = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.map(
      Effect.orElseSucceed(
        patiently(lastSince(Math.max(0, now - 2 * longest)), now),
        () => undefined
      ),
      (started) => started ?? Cron.prev(cron, new Date(now)).getTime() - 1
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
