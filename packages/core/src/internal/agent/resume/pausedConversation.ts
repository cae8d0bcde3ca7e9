/** The conversation of an agent at its last pause, also of an agent made of agents. */
import type { Checkpoint, Snapshot } from "../../approval/snapshot.ts"
import type { Presentation } from "../../result/delivery.ts"
import { stoppedAt } from "../../round/resume/pausedTranscript.ts"
import { noRunMessages, type Said } from "../../run/runEntries.ts"
import type { Run } from "../../run/run.ts"
import { compactedAt, replacedInputAt } from "../../run/session.ts"

/** Messages of an agent with tools at a checkpoint. */
export const messagesAt = (checkpoint: Checkpoint, run: Pick<Run, "id">, shown: Pick<Presentation, "user">): Said => ({
  transcript: stoppedAt(checkpoint, run, shown),
  compacted: compactedAt(checkpoint),
  replacedInput: replacedInputAt(checkpoint)
})

/**
 * Messages at a checkpoint. For an agent made of agents: those of the last waiting one that received its conversation.
 */
export const stoppedWithin = (
  checkpoint: Checkpoint,
  run: Pick<Run, "id">,
  shown: Pick<Presentation, "user">
): Said => {
  const { round, steps } = checkpoint
  if (steps === undefined) return messagesAt(checkpoint, run, shown)
  const waits = round!.nested!.findLast(({ callId }) => steps.asGiven?.includes(callId))
  return waits === undefined ? noRunMessages : stoppedWithin(waits.snapshot as unknown as Snapshot, run, shown)
}
