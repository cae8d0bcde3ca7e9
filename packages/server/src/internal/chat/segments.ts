/** Segments of a run: its events up to its first pause, and from each pause to the next. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import type { InvalidInput } from "@recourse/core/AgentError"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { NumberedEvent, RunsService, RunsUnavailable, UnknownRun } from "@recourse/core/Runs"
import { logOf } from "../runs/log.ts"

/** The last event of a segment. */
export type Finished = Extract<AgentEvent, { readonly _tag: "RunFinished" }>

/** An event with the number of pauses before it. */
export interface Segmented {
  readonly number: number
  readonly segment: number
  readonly event: AgentEvent
}

/**
 * The events of a run from its first one to the end of a segment. Without one: to the end of the run, or to the pause that it
 * waits in.
 */
export const follow = (
  runs: RunsService,
  runId: string,
  last?: number
): Stream.Stream<Segmented, UnknownRun | InvalidInput | RunsUnavailable> =>
  Stream.suspend(() => {
    let next = 0
    const waits = Effect.map(runs.get(runId), ({ status }) => status === "waiting")
    return runs.events(runId).pipe(
      Stream.map(({ event, number }): Segmented => {
        // A run that another process takes over starts again, in the same segment.
        const segment = next
        if (event._tag === "RunFinished") next++
        return { number, segment, event }
      }),
      Stream.takeUntilEffect(({ event, segment }) =>
        event._tag !== "RunFinished"
          ? Effect.succeed(false)
          : event.outcome !== "paused"
          ? Effect.succeed(true)
          : last === undefined
          ? waits
          : Effect.succeed(segment >= last)
      )
    )
  })

/**
 * Returns the end of a segment of a run, when it has ended; `undefined` if the events stop before. Other events are
 * skipped.
 */
export const endOfSegment = (
  runs: RunsService,
  runId: string,
  segment: number
): Effect.Effect<Finished | undefined, UnknownRun | InvalidInput | RunsUnavailable> =>
  Effect.suspend(() => {
    let pauses = 0
    const isEnd = ({ event }: NumberedEvent): boolean =>
      event._tag === "RunFinished" && (event.outcome !== "paused" || pauses++ >= segment)
    const events = runs.events(runId)
    const log = logOf(events)
    const end = log === undefined
      ? Effect.map(Stream.runHead(Stream.filter(events, isEnd)), Option.getOrUndefined)
      : Effect.map(log.until(0, isEnd), (position) => position === undefined ? undefined : log.items[position])
    return Effect.map(end, (found) => found?.event as Finished | undefined)
  })

/** Returns the newest emitted end of a run that has ended or waits. */
export const lastEnd = (
  runs: RunsService,
  runId: string
): Effect.Effect<Finished | undefined, UnknownRun | InvalidInput | RunsUnavailable> =>
  Stream.runFold(
    follow(runs, runId),
    (): Finished | undefined => undefined,
    (last, { event }) => event._tag === "RunFinished" ? event : last
  )
