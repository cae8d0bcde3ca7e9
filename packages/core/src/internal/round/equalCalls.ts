/**
 * Equal calls of one answer: same tool, same arguments, other ids. Models that repeat themselves write one call many times, so a write is
 * executed for the first of them only, and the others are reported as duplicates.
 */
import * as Path from "../path/path.ts"
import * as Failures from "../projection/failures.ts"
import type { CallResult, RequestedCall } from "../run/callResult.ts"
import { failed, type RoundContext } from "./roundContext.ts"

/**
 * Returns how equal calls of one answer are executed: `first` only the first, `shared` once with a result for each, `undefined` each.
 */
export const ofEqualCalls = (calls: RoundContext, raw: RequestedCall): "first" | "shared" | undefined => {
  const info = calls.offered.includes(raw.name) ? calls.tools.get(raw.name)?.tool.info : undefined
  if (info === undefined) return undefined
  if (info.equalCalls.coalesce === true) return "shared"
  // A key that is made of the arguments makes equal calls one in the ledger, which answers them all.
  const isRepeatable = info.equalCalls.allowIdenticalCalls === true || info.equalCalls.hasKeyFunction === true ||
    info.effects === "read" ||
    info.effects === "idempotent"
  const { run } = calls
  // A call that an earlier execution has started is replayed, and never reported as not executed.
  return isRepeatable || run.log?.has(Path.ofCall(run.scope, raw.name, raw.id)) === true ? undefined : "first"
}

/** Returns the result of a call that is not executed because an equal call of its answer is. */
export const duplicate = ({ run, shown }: RoundContext, call: RequestedCall, first: string): CallResult => ({
  ...failed(call, Failures.duplicateCall(run.id, shown.user)),
  verdict: { decision: "duplicate", reason: `The call "${first}" of the same answer has the same arguments` }
})
