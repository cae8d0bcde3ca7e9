/**
 * Not come by: a call of an answer of an earlier life, which this life has not executed, as the run ended before. What the earlier life may have begun of it is
 * never told as not done.
 */
import { hasIntent } from "../call/intent.ts"
import { newRecord } from "../call/newRecord.ts"
import * as Arguments from "../call/arguments.ts"
import { outcomeUnknown } from "../result/failureOf.ts"
import { hasAskedWithin, hasGoneAnotherWay } from "../run/cameBy.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import type { RequestedCall } from "../run/callResult.ts"
import { addExecuted } from "../run/run.ts"
import type { RoundContext } from "./context.ts"

/** Whether an earlier life may have done something by a call: by its tool, or by tools and agents within it. */
const mayHaveBegun = ({ run, session, tools }: RoundContext, { id, name }: RequestedCall): boolean => {
  const info = tools.get(name)?.tool.info
  const { journal } = run
  if (journal?.isResumed !== true || session.isAnswerNew) return false
  // What has a key, or may be repeated, leaves no beginning.
  const leavesNone = session.keyedBefore?.includes(name) === true || info?.effects === "idempotent" ||
    (info?.isAgent === true && info.effects !== "read" && hasAskedWithin(run, id))
  return leavesNone || hasIntent(journal, run, name, id) || hasGoneAnotherWay(run, id)
}

/** What is said of a call that this life has not executed, if an earlier one may have begun it. */
export const begunEarlier = (calls: RoundContext, call: RequestedCall): ToolFailure | undefined => {
  const { records, run, shown } = calls
  const record = records.get(call.id)
  if (record?.executed === true || !mayHaveBegun(calls, call)) return undefined
  addExecuted(run, {
    tool: call.name,
    callId: call.id,
    attempt: 1,
    arguments: Arguments.toText(call.params),
    outcome: "unknown"
  })
  return outcomeUnknown(newRecord(call.id), run.id, shown.user)
}
