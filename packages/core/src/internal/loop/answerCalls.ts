/** Calls of one answer, within an agent's run, and the pause of the run if it waits for some of them. */
import type * as Effect from "effect/Effect"
import type { RoundContext } from "../round/roundContext.ts"
import type { Resumed } from "../round/endedRound.ts"
import { runRound } from "../round/round.ts"
import type { CallResult, RequestedCall } from "../run/callResult.ts"
import { Pause } from "./pause.ts"
import type { Conversation } from "./program.ts"

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
  return runRound(calls, raws, note, resumed, (waiting, results) => {
    const withoutResults = transcript.length - 1
    return new Pause(
      waiting.flatMap(({ pending }) => pending),
      () => session.checkpoint(run, { transcript: transcript.snapshot(withoutResults), calls: raws, results, waiting }),
      () => ({ tools: [...tools.values()].map(({ tool }) => tool) })
    )
  })
}
