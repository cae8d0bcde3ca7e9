/** The conversation of an agent that stopped before it went on, also where it is made of agents. */
import type { Checkpoint, Snapshot } from "../../approval/snapshot.ts"
import type { Presentation } from "../../result/delivery.ts"
import { stoppedAt } from "../../round/resume/pausedTranscript.ts"
import { noRunMessages, type Said } from "../../run/runEntries.ts"
import type { Run } from "../../run/run.ts"
import { compactedAt, replacedInputAt } from "../../run/session.ts"

/** What an agent with tools has said at a checkpoint. */
export const messagesAt = (checkpoint: Checkpoint, run: Pick<Run, "id">, shown: Pick<Presentation, "user">): Said => ({
  transcript: stoppedAt(checkpoint, run, shown),
  compacted: compactedAt(checkpoint),
  replacedInput: replacedInputAt(checkpoint)
})

/** What was said at a checkpoint: by an agent that is made of agents, what the last one has said that waits and was given its conversation. */
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
