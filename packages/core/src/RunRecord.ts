/** Run records: the transcript of a run, what it used, what it executed. Runs that fail have one too. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { seal } from "./internal/approval/seal.ts"
import type { Snapshot } from "./internal/approval/snapshot.ts"
import type { SnapshotKey } from "./internal/approval/snapshotKey.ts"
import type { RunRecord } from "./internal/run/record.ts"
export {
  Annotation,
  type Compacted,
  type CompensatedCall,
  emptyTranscript,
  type ExecutedCall,
  fromCause,
  type RunRecord,
  type RunReport,
  type RunUsage
} from "./internal/run/record.ts"

/**
 * The snapshot of a run that ended, for `agent.resume`: after a failure of the model, for example, the run goes on behind
 * the calls that were executed. Nothing for agents that hold no conversation, and before the model was first asked.
 */
export const snapshot = (record: RunRecord): Effect.Effect<Option.Option<Snapshot>, never, SnapshotKey> =>
  record.resumable === undefined
    ? Effect.succeed(Option.none())
    : Effect.asSome(seal(record.resumable.checkpoint(), record.resumable.parts()))
