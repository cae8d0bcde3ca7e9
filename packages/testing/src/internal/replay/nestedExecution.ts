/** Nested executions: those in which an agent or another tool runs, and whose inner answers are recorded instead. */
import { Clock, Context, Effect } from "effect"
import type { Execution, Writable } from "./recording.ts"

/** The current execution, so that it is known when an agent runs in it. */
export const CurrentExecution = Context.Reference<
  { readonly entry: Writable<typeof Execution.Type>; readonly start: number } | undefined
>(
  "@recourse/testing/Replay/CurrentExecution",
  { defaultValue: () => undefined }
)

/** Records that an agent or another tool runs in the current execution; its duration is the time before. */
export const markNested = Effect.flatMap(
  CurrentExecution,
  (outer) =>
    outer === undefined || outer.entry.outcome._tag === "Nested"
      ? Effect.void
      : Effect.map(Clock.currentTimeMillis, (now) => {
        outer.entry.outcome = { _tag: "Nested" }
        outer.entry.duration = now - outer.start
      })
)
