/** Repeated calls: counts equal failures of the same call, and equal results while no new one arrives. */
import type { ToolFailure } from "../projection/toolFailure.ts"
import * as Failures from "../projection/failures.ts"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import type { CallResult, RequestedCall } from "../run/callResult.ts"
import { failed, type RoundContext } from "./roundContext.ts"

/** Names calls of the same tool with the same arguments. */
export const callKey = (call: RequestedCall): string => `${call.name}\n${canonicalJson(call.params)}`

/** The failure that the same call has come to too often, if there is one. */
export const repeated = (
  { repeatedFailures, session }: RoundContext,
  call: RequestedCall
): { readonly code: string; readonly times: number } | undefined => {
  if (session.failures.size === 0) return undefined
  for (const [code, times] of session.failures.get(callKey(call)) ?? []) {
    if (times >= repeatedFailures) return { code, times }
  }
  return undefined
}

/** Number of failures of a call so far, by code. */
export const countsOf = ({ session }: RoundContext, call: RequestedCall): Readonly<Record<string, number>> =>
  Object.fromEntries(session.failures.get(callKey(call)) ?? [])

/** Restores the counts of an earlier execution of the run. */
export const setCounts = (
  { session }: RoundContext,
  call: RequestedCall,
  counts: Readonly<Record<string, number>>
): void => {
  const key = callKey(call)
  const codes = session.failures.get(key) ?? new Map<string, number>()
  for (const [code, times] of Object.entries(counts)) codes.set(code, Math.max(codes.get(code) ?? 0, times))
  session.failures.set(key, codes)
}

const countFailure = ({ session }: RoundContext, call: RequestedCall, code: string): number => {
  const key = callKey(call)
  const codes = session.failures.get(key) ?? new Map<string, number>()
  const times = (codes.get(code) ?? 0) + 1
  codes.set(code, times)
  session.failures.set(key, codes)
  return times
}

/** A failure of a call that the model made: counted, and reworded above the limit. */
export const counted = (
  calls: RoundContext,
  call: RequestedCall,
  failure: ToolFailure
): CallResult => {
  const times = countFailure(calls, call, failure.code)
  return failed(
    call,
    // An outcome that is unknown is reported each time: the next call of the same kind is not made.
    times < calls.repeatedFailures || failure.code === "outcome_unknown"
      ? failure
      : Failures.repeatedCall(times, failure.code, calls.run.id, calls.shown.user)
  )
}

/** The failure of a call of a tool that there is not. */
export const unknown = (calls: RoundContext, call: RequestedCall): CallResult => {
  const failure = Failures.toolNotFound(call.name, calls.offered, calls.run.id, calls.shown.user)
  countFailure(calls, call, failure.code)
  return failed(call, failure)
}

/** Notes a result. One of the same call that succeeded starts the count of its failures again. */
export const noteResult = ({ session, tools }: RoundContext, { call, encoded, isFailure }: CallResult): void => {
  if (isFailure) return
  if (session.failures.size > 0) session.failures.delete(callKey(call))
  if (tools.get(call.name)?.tool.info.equalCalls.allowIdenticalCalls !== true) session.answers.note(call, encoded)
}

/** The failure of a call that is not made, because it has given the same result too often. */
export const knownFailure = (calls: RoundContext, call: RequestedCall): ToolFailure | undefined => {
  const times = calls.tools.get(call.name)?.tool.info.equalCalls.allowIdenticalCalls === true
    ? 0
    : calls.session.answers.timesOf(call)
  return times < calls.repeatedCalls ? undefined : Failures.sameResult(times, calls.run.id, calls.shown.user)
}
