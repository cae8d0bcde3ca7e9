/**
 * Not come by: a call of an answer of an earlier life, which this life has not executed as far, as the run ended before. What the earlier life may have begun of it is
 * never told as not done.
 */
import { hasIntent } from "../call/intent.ts"
import { outcomeUnknown } from "../result/failureOf.ts"
import { hasGoneAnotherWay, mayHaveBegunWithin } from "../run/cameBy.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import type { RequestedCall } from "../run/callResult.ts"
import { unknownSince } from "./changedTool.ts"
import type { RoundContext } from "./context.ts"

/** Whether an earlier life may have done something by a call that this life has not executed: by its tool, or by tools and agents within it. */
const mayHaveBegun = ({ run, session, tools }: RoundContext, { id, name }: RequestedCall): boolean => {
  const info = tools.get(name)?.tool.info
  // What has a key, or may be repeated, leaves no beginning.
  const leavesNone = session.keyedBefore?.includes(name) === true || info?.effects === "idempotent"
  return leavesNone || hasIntent(run.journal!, run, name, id) || mayHaveBegunWithin(run, id, info)
}

/** What is said of a call that this life has not executed, or not as far as an earlier one, if that may have begun it. */
export const begunEarlier = (calls: RoundContext, call: RequestedCall): ToolFailure | undefined => {
  const { run, session, shown } = calls
  if (run.journal?.isResumed !== true || session.isAnswerNew) return undefined
  const record = calls.records.get(call.id)
  if (record?.outcome.executed !== true) return mayHaveBegun(calls, call) ? unknownSince(calls, call) : undefined
  return hasGoneAnotherWay(run, call.id) ? outcomeUnknown(record, run.id, shown.user) : undefined
}
