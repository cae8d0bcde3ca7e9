/** Segments of a run: what it did up to its first pause, and from each pause to the next. */
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { RunsService, RunsUnavailable, UnknownRun } from "@recourse/core/Runs"

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
