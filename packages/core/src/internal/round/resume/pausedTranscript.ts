/**
 * Returns the conversation of a paused run before its resumption: in the state of the pause, with a result for each
 * call.
 */
import * as Prompt from "effect/ai/Prompt"
import type { Checkpoint } from "../../approval/snapshot.ts"
import { decodePrompt } from "../../foundation/json/promptJson.ts"
import type { Presentation } from "../../result/delivery.ts"
import type { Run } from "../../run/run.ts"
import { resultsOf } from "../../run/session.ts"
import { resultsMessage } from "../../run/transcript.ts"
import { waitingCalls } from "./nestedPauses.ts"
import { undecided } from "./pausedResult.ts"

/** The conversation of a run at a checkpoint. */
export const stoppedAt = (
  { round, transcript }: Checkpoint,
  run: Pick<Run, "id">,
  shown: Pick<Presentation, "user">
): Prompt.Prompt => {
  const before = decodePrompt(transcript)
  if (round === undefined) return before
  const { calls, nested = [], pending, within = [] } = round
  const results = resultsOf(round)
  const waiting = waitingCalls(pending, nested, within)
  return Prompt.fromMessages([
    ...before.content,
    resultsMessage(calls.map((call) => results.get(call.id) ?? undecided(run, shown, call, waiting.get(call.id) ?? {})))
  ])
}
