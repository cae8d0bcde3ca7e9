/** What the calls of an agent's run have in common, what a call comes to, and how failures of the same call are counted. */
import * as Effect from "effect/Effect"
import type { NestedRun, PendingCall } from "../../Approval.ts"
import * as ErrorProjection from "../../ErrorProjection.ts"
import type { Gate, ToolInfo } from "../call/record.ts"
import { canonicalJson } from "../foundation/canonicalJson.ts"
import type { RawCall } from "../model/ask.ts"
import type { AgentTool } from "../tool/agentTool.ts"
import type { Run } from "../run/run.ts"
import type { Session } from "../run/session.ts"
import { deliver, type Showing } from "./delivery.ts"
import type { CallResult } from "../run/transcript.ts"

/** What the calls of an agent's run have in common. */
export interface Calls {
  readonly run: Run
  readonly tools: ReadonlyMap<string, AgentTool>
  /** Names of the tools that the model was offered in the request that it answered. */
  offered: ReadonlyArray<string>
  readonly session: Session
  readonly shown: Showing
  readonly gate: Gate
  /** How long an approval may take, in milliseconds. */
  readonly approvalTimeToLive: number
  readonly concurrency: number | "unbounded"
  /** How often the same call may fail in the same way before the model is told to stop making it. */
  readonly repeatedFailures: number
}

/** A call that waits for decisions: about itself, or about what waits within the agent that is its tool. */
export interface Waiting {
  readonly _tag: "Waiting"
  readonly pending: ReadonlyArray<PendingCall>
  readonly nested?: NestedRun
}

/** A call has a result, or waits. */
export type Outcome = { readonly _tag: "Done"; readonly result: CallResult } | Waiting

/** The outcome of a result that is let through. `info` is left out for what no tool said. */
export const delivered = ({ run, shown }: Calls, result: CallResult, info?: ToolInfo): Effect.Effect<Outcome> =>
  Effect.mapEager(deliver(shown, run, info, result), (result): Outcome => ({ _tag: "Done", result }))

const keyOf = (call: RawCall): string => `${call.name}\n${canonicalJson(call.params)}`

/** The failure that the same call has come to too often, if there is one. */
export const repeated = (
  { repeatedFailures, session }: Calls,
  call: RawCall
): { readonly code: string; readonly times: number } | undefined => {
  if (session.failures.size === 0) return undefined
  for (const [code, times] of session.failures.get(keyOf(call)) ?? []) {
    if (times >= repeatedFailures) return { code, times }
  }
  return undefined
}

const countFailure = ({ session }: Calls, call: RawCall, code: string): number => {
  const key = keyOf(call)
  const codes = session.failures.get(key) ?? new Map<string, number>()
  const times = (codes.get(code) ?? 0) + 1
  codes.set(code, times)
  session.failures.set(key, codes)
  return times
}

/** A failure as a result. */
export const failed = (
  call: RawCall,
  failure: ErrorProjection.ToolFailure,
  repaired: CallResult["repaired"] = undefined
): CallResult => ({ call, isFailure: true, encoded: failure, modelOutput: undefined, repaired })

/** The code of a failure; nothing of a success. */
export const codeOf = ({ encoded, isFailure }: CallResult): string | undefined =>
  isFailure ? (encoded as ErrorProjection.ToolFailure).code : undefined

/** A failure of a call that the model made: counted, and told in other words once it is one too many. */
export const counted = (
  calls: Calls,
  call: RawCall,
  failure: ErrorProjection.ToolFailure,
  repaired?: CallResult["repaired"]
): CallResult => {
  const times = countFailure(calls, call, failure.code)
  return failed(
    call,
    times < calls.repeatedFailures
      ? failure
      : ErrorProjection.repeatedCall(times, failure.code, calls.run.id, calls.shown.user),
    repaired
  )
}

/** The failure of a call of a tool that there is not. */
export const unknown = (calls: Calls, call: RawCall): CallResult => {
  const failure = ErrorProjection.toolNotFound(call.name, calls.offered, calls.run.id, calls.shown.user)
  countFailure(calls, call, failure.code)
  return failed(call, failure)
}
