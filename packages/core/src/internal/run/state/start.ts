/** Start of a run: how its caller has started it. It does not change. */
import type { Tracing } from "../observe/span.ts"

export interface RunStart {
  /** The call of the agent around it within which the agent runs. */
  readonly outerCall: { readonly id: string; readonly record: object } | undefined
  /** The path of the run in its journal: the same in each execution of the outermost run. */
  readonly place: string
  /** True if its id was drawn, so that another process cannot use it again. */
  readonly hasDrawnId: boolean
  /** True if it was paused, or is part of a paused run, and continues only to be compensated. */
  readonly isOver: boolean
  /** True if the caller of the run can receive a pause. */
  readonly mayPause: boolean
  /** True if model calls are to be streamed. */
  readonly streaming: boolean
  readonly tracing: Tracing
}
