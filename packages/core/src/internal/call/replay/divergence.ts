/**
 * Divergence of a repeated call: a write starts that the log, the snapshot or the attempt before does not have, while a
 * write that they have is not matched. Newly drawn arguments, or a race that another branch wins, would repeat an
 * effect.
 */
import type { Run } from "../../run/run.ts"
import { numberOf } from "../attemptLog.ts"
import { callsOfAttempt } from "../children/childCall.ts"
import { type CallRecord, identityOf, rootOf } from "../record/record.ts"
import { noChildren } from "../record/children.ts"
import { type AttemptedCall, startsOf } from "./attemptedCall.ts"

/** A write of before the pause is not matched. */
const divergesFromSnapshot = (record: CallRecord): boolean => {
  const { admission: { approvals }, replay: { callsBeforePause } } = rootOf(record)
  if (callsBeforePause === undefined) return false
  const identity = identityOf(record)
  // A call with a decision of a person is part of the earlier calls.
  return callsBeforePause.unmatched.size > 0 && !callsBeforePause.has(identity) &&
    approvals?.some((approval) => approval.identity === identity) !== true
}

/** A write of an earlier attempt of the call around it is not matched. Attempts that run at once are not compared. */
const divergesFromAttempts = ({ attempts: { count: attempts }, parent }: CallRecord): boolean => {
  if (parent === undefined || attempts > 1 || parent.attempts.count < 2 || parent.outcome.running > 1) return false
  if (parent.children === noChildren) return false
  const met = callsOfAttempt(parent, numberOf(parent))
  return [...parent.children.byPlace.values()].some((other) =>
    !met.has(other) && other.attempts.tool?.effects === "write" && other.outcome.happened !== "no" &&
    !other.outcome.isCompensated
  )
}

/**
 * A start of an earlier execution is not matched, in the call of this run or in the calls around it. The calls of a model within a nested run are
 * answered by their ids, in any order: they do not count.
 */
const divergesFromLog = (run: Run, record: CallRecord): boolean => {
  const { log } = run
  if (log === undefined) return false
  if (record.parent !== undefined && log.hasUnmatchedWithin(run.scope, rootOf(record).callId)) return true
  for (let inner = run, outer = run.parent; outer !== undefined; inner = outer, outer = outer.parent) {
    const within = inner.start.outerCall?.record as CallRecord | undefined
    if (within !== undefined && log.hasUnmatchedWithin(outer.scope, rootOf(within).callId, inner.scope)) return true
  }
  return false
}

/** True if a write would diverge if it started now. */
export const isDivergent = (attempted: AttemptedCall): boolean => {
  const { call: { record }, run } = attempted.attempt
  return divergesFromSnapshot(record) || divergesFromAttempts(record) ||
    (run?.log?.isReplay === true && startsOf(run, attempted).length === 0 && divergesFromLog(run, record))
}
