/** Nested waiting calls: calls of agent tools that wait. People decide about them at the outermost agent. */
import { idBelow, idWithin, isIdBelow } from "../../path/path.ts"
import type { Decision } from "../../approval/decision.ts"
import type { CallBeforePause, NestedRun, PendingCall, WaitingWithin } from "../../approval/snapshot.ts"
import type { RequestedCall, Waiting } from "../../run/callResult.ts"
import { isDoneWithin } from "../../call/execute/effects.ts"
import type { CallRecord, Stop } from "../../call/record/record.ts"
import { decidedWithin } from "./pausedWithin.ts"

/** A call with a waiting agent. `startedCalls`: the recovery's writes around the agent. */
export const waiting = (
  { id }: RequestedCall,
  record: CallRecord,
  { arguments: args, paused: { pending, snapshot }, withdraw }: Stop & { readonly _tag: "Nested" },
  startedCalls: ReadonlyArray<CallBeforePause>
): Waiting => ({
  _tag: "Waiting",
  pending: pending.map((call) => ({ ...call, callId: idWithin(id, call.callId) })),
  withdraw,
  nested: {
    callId: id,
    arguments: args as NestedRun["arguments"],
    ...(record.recovering.fixedBy === undefined ? undefined : { fixedBy: record.recovering.fixedBy }),
    snapshot,
    ...(isDoneWithin(record) ? { doneInPart: true } : undefined),
    ...(record.admission.approvals === undefined ? undefined : { approvals: decidedWithin(record) }),
    ...(startedCalls.length === 0 ? undefined : { begun: startedCalls })
  }
})

/** Returns the decisions about pending inner calls of a call, for its agent. */
export const decisionsWithin = (callId: string, decisions: Iterable<Decision>): ReadonlyArray<Decision> => {
  return Array.from(decisions).flatMap((decision) => {
    const below = idBelow(callId, decision.callId)
    return below === undefined ? [] : [{ ...decision, callId: below }]
  })
}

/** Returns the state of a resumed round's waiting calls, by their ids. */
export const waitingCalls = (
  pending: ReadonlyArray<PendingCall>,
  nested: ReadonlyArray<NestedRun>,
  within: ReadonlyArray<WaitingWithin>
): ReadonlyMap<string, Waiting> =>
  new Map([
    ...pending.map((call): readonly [string, Waiting] => [call.callId, { _tag: "Waiting", pending: [call] }]),
    ...nested.map((run): readonly [string, Waiting] => [run.callId, {
      _tag: "Waiting",
      pending: pending.filter(({ callId }) => isIdBelow(run.callId, callId)),
      nested: run
    }]),
    ...within.map((one): readonly [string, Waiting] => [one.callId, {
      _tag: "Waiting",
      pending: pending.filter(({ callId }) => callId === one.callId || isIdBelow(one.callId, callId)),
      within: one
    }])
  ])
