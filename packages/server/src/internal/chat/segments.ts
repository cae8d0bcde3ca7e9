/** Segments of a run: what it did up to its first pause, and from each pause to the next. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { RunsService, RunsUnavailable, UnknownRun } from "@recourse/core/Runs"

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
): Stream.Stream<Segmented, UnknownRun | RunsUnavailable> =>
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

/** How a segment of a run ended, when it has; nothing where the events stop before. What else happens is passed over. */
export const endOfSegment = (
  runs: RunsService,
  runId: string,
  segment: number
): Effect.Effect<Finished | undefined, UnknownRun | RunsUnavailable> =>
  Effect.scoped(Effect.flatMap(Stream.toPull(runs.events(runId)), (pull) => {
    let pauses = 0
    const next: Effect.Effect<Finished | undefined, UnknownRun | RunsUnavailable | Cause.Done> = Effect.flatMap(
      pull,
      (events) => {
        for (const { event } of events) {
          if (event._tag === "RunFinished" && (event.outcome !== "paused" || pauses++ >= segment)) {
            return Effect.succeed(event)
          }
        }
        return next
      }
    )
    return Pull.catchDone(next, () => Effect.undefined)
  }))
