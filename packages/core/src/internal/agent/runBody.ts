/** Body of a run: the part of an agent's run that its boundary opens and closes. */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Pause } from "../loop/pause.ts"
import type { Run } from "../run/run.ts"
import type { RunRecord, Said, SnapshotSource } from "../run/runEntries.ts"
import type { ToCompensate } from "./compensation/compensateWrite.ts"

/** Body of a run within a boundary. */
export interface Body<Out, E, R> {
  /** `context`: that of the boundary. */
  readonly run: (run: Run, context: Context.Context<never>) => Effect.Effect<Out, E, R>
  /** Returns the messages of the run at its end. `context`: that of the caller of the run. */
  readonly said: (run: Run, context: Context.Context<never>) => Said
  readonly resumable?: (run: Run) => SnapshotSource | undefined
  /** Called for each write of the run that is compensated at its end, or may be. */
  readonly onCompensated?: ToCompensate["onCompensated"]
  /** Receives the pause, and the function that returns the record, before an interruption is possible. */
  readonly onPaused?: (pause: Pause, record: () => RunRecord) => void
  /** Called when the run has ended in any way, or has paused. */
  readonly onEnded?: (() => void) | undefined
  /** Runs before the end of a failed or interrupted run is emitted. */
  readonly onFailed?: () => Effect.Effect<void>
}
