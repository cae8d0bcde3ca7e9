/** Run records: the transcript, usage and executed calls of a run. Failed runs have one too. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import * as Catalogue from "./Catalogue.ts"
import { stoppedWithin } from "./internal/agent/resume/pausedConversation.ts"
import { seal } from "./internal/approval/seal.ts"
import { Checkpoint, type Snapshot } from "./internal/approval/snapshot.ts"
import type { SnapshotKey } from "./internal/approval/snapshotKey.ts"
import type { RunRecord } from "./internal/run/runEntries.ts"
export {
  Annotation,
  type Compacted,
  type CompensatedCall,
  emptyTranscript,
  type ExecutedCall,
  fromCause,
  type RunRecord,
  type RunReport
} from "./internal/run/runEntries.ts"

/**
 * Returns the snapshot of an ended run, for `agent.resume`: after a failure of the model, for example, the run
 * continues behind the executed calls. `None` for agents without a conversation, and before the first model call.
 *
 * @category accessors
 * @since 0.2.0
 */
export const snapshot = (record: RunRecord): Effect.Effect<Option.Option<Snapshot>, never, SnapshotKey> =>
  record.resumable === undefined
    ? Effect.succeed(Option.none())
    : Effect.asSome(seal(record.resumable.checkpoint(), record.resumable.parts()))

const decodeCheckpoint = Schema.decodeUnknownOption(Checkpoint)

/**
 * The conversation of a paused run that no agent resumes, with a result for each call. A call that waits for an approval was not made. The outcome of a
 * call that a page may have executed is unknown. Empty if `snapshot` is not a snapshot.
 *
 * **Example** (A call that waits)
 *
 * ```ts
 * import { Effect, Layer, Redacted, Schema } from "effect"
 * import { Agent, Approval, RunRecord, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Pay = Tool.client("pay", { success: Schema.String, effects: "write" })
 * const paused = await Effect.runPromise(
 *   Agent.make("clerk", { tools: [Pay] }).start("Pay order 7").pipe(Effect.provide(Layer.merge(
 *     Approval.layerKey(Redacted.make("a key of at least thirty-two bytes")),
 *     ScriptedModel.layer([ScriptedModel.call("pay", {})])
 *   )))
 * )
 *
 * const transcript = paused._tag === "Paused" ? RunRecord.transcriptOf(paused.snapshot) : RunRecord.emptyTranscript
 * transcript.content.map(({ role }) => role) // => ["user", "assistant", "tool"]
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const transcriptOf = (snapshot: unknown): Prompt.Prompt =>
  Option.match(decodeCheckpoint(snapshot), {
    onNone: () => Prompt.empty,
    onSome: (checkpoint) =>
      stoppedWithin(checkpoint, { id: checkpoint.runId }, { user: (code) => Catalogue.text({}, "en", code) }).transcript
  })
