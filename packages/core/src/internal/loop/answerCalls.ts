/** Calls of one answer, within an agent's run: their shared state, and whether the run waits for some of them. */
import type * as Effect from "effect/Effect"
import { callLog, type RoundContext } from "../round/roundContext.ts"
import type { Resumed } from "../round/endedRound.ts"
import { runRound } from "../round/round.ts"
import type { CallResult, RequestedCall } from "../run/callResult.ts"
import { Pause } from "./pause.ts"
import type { Conversation } from "./program.ts"
import type { ToolSet } from "./tools/toolSet.ts"

/** Shared state of the calls of an answer. `offered`: names of the tools that the model was offered. */
export const callsOf = (
  { canPause, program, run, session, shown, within }: Conversation,
  { byName }: Pick<ToolSet, "byName">,
  offered: ReadonlyArray<string>
): RoundContext => {
  const { approvalTimeToLive, concurrency, policies, quarantine, repeatedCalls, repeatedFailures } = program
  return {
    run,
    session,
    shown,
    tools: byName,
    offered,
    gate: {
      policies,
      quarantine: () => quarantine(canPause),
      runId: run.id,
      path: run.path,
      canKeep: canPause,
      taintedBy: run.reading.taintedBy,
      messages: () => session.transcript.snapshot().content,
      log: callLog(run)
    },
    within,
    started: new Map(),
    approvalTimeToLive,
    concurrency,
    repeatedCalls,
    repeatedFailures
  }
}

/** Begins the calls of an answer. Returns their results, or how the run ends if some of them wait. */
export const runCalls = (
  state: Conversation,
  calls: RoundContext,
  raws: ReadonlyArray<RequestedCall>,
  note: () => void,
  resumed?: Resumed
): Effect.Effect<Pause | ReadonlyArray<CallResult>, unknown, unknown> => {
  const { run, session, transcript } = state
  const { tools } = calls
  let asked = 0
  const noted = () => {
    note()
    asked = transcript.length
  }
  return runRound(
    calls,
    raws,
    noted,
    resumed,
    ({ results, waiting }): Pause | ReadonlyArray<CallResult> =>
      waiting.length === 0 ? results : new Pause(
        waiting.flatMap(({ pending }) => pending),
        () => session.checkpoint(run, { transcript: transcript.snapshot(asked), calls: raws, results, waiting }),
        () => ({ tools: [...tools.values()].map(({ tool }) => tool) })
      )
  )
}
