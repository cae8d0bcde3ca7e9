/** The conversation of an agent that stopped before it went on, also where it is made of agents. */
import type * as Prompt from "effect/ai/Prompt"
import type { Checkpoint, Snapshot } from "../approval/snapshot.ts"
import type { Presentation } from "../result/delivery.ts"
import { stoppedAt } from "../round/stoppedAt.ts"
import { emptyTranscript } from "../run/record.ts"
import type { Run } from "../run/run.ts"

/** The conversation at a checkpoint: of an agent that is made of agents, that of the last one which waits and was given its conversation. */
export const stoppedWithin = (
  checkpoint: Checkpoint,
  run: Pick<Run, "id">,
  shown: Pick<Presentation, "user">
): Prompt.Prompt => {
  const { round, steps } = checkpoint
  if (steps === undefined) return stoppedAt(checkpoint, run, shown)
  const waits = round?.nested?.findLast(({ callId }) => steps.asGiven?.includes(callId))
  return waits === undefined ? emptyTranscript : stoppedWithin(waits.snapshot as unknown as Snapshot, run, shown)
}
