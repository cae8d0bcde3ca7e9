/** Start of a run: how its caller has started it. It does not change. */
import type { Tracing } from "../observe/tracing.ts"

export interface RunStart {
  /** The call of the agent around it within which the agent runs. */
  readonly outerCall: { readonly id: string; readonly record: object } | undefined
  /** The path of the run in its journal: the same in each execution of the outermost run. */
  readonly place: string
  /** Whether its id was drawn, so that another process cannot give it again. */
  readonly hasDrawnId: boolean
  /** Whether it was paused, or is part of a run that was, and continues only so far that it is compensated. */
  readonly isOver: boolean
  /** Whether the caller of the run can receive a pause. */
  readonly mayPause: boolean
  /** Whether model calls are to be streamed. */
  readonly streaming: boolean
  readonly tracing: Tracing
}
