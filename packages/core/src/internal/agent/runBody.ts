/** Body of a run: the part of an agent's run that its boundary opens and closes. */
import type * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Pause } from "../loop/pause.ts"
import type { Run } from "../run/run.ts"
import type { RunRecord, Said, SnapshotSource } from "../run/runEntries.ts"
import type { ToCompensate } from "./compensation/compensateWrite.ts"

/** Body of a run within a boundary. */
export interface Body<Out, E, R> {
  readonly run: (run: Run) => Effect.Effect<Out, E, R>
  /** Called at the end, if the record is needed. */
  readonly said: () => Said
  readonly resumable?: (run: Run) => SnapshotSource | undefined
  /** Called for each write of the run that is compensated at its end, or may be. */
  readonly onCompensated?: ToCompensate["onCompensated"]
  /** Adds the body's other services to its context. */
  readonly services?: (context: Context.Context<never>, run: Run) => Context.Context<never>
  /** Receives the function that returns the record, when the run ends in any way. */
  readonly onRecord?: (record: () => RunRecord) => void
  /** Receives the pause before an interruption is possible. */
  readonly onPaused?: (pause: Pause) => void
  /** Runs before the end of a failed or interrupted run is emitted. */
  readonly onFailed?: () => Effect.Effect<void>
}
