/** Round context: state that the calls of an agent's run share. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { ToolCall } from "../call/call.ts"
import type { CallRecord, Gate } from "../call/record/record.ts"
import type { ToolInfo } from "../call/tool/toolInfo.ts"
import { type CallOutcome, type CallResult, codeOf, type RequestedCall } from "../run/callResult.ts"
import type { Run } from "../run/run.ts"
import type { Session } from "../run/session.ts"
import type { AgentTool } from "../tool/agentTool.ts"
import { deliver, type Presentation } from "../result/delivery.ts"

/** Shared state of the calls of an agent's run. */
export interface RoundContext {
  readonly run: Run
  /** The tools of the turn. */
  tools: ReadonlyMap<string, AgentTool>
  /** Calls whose start was emitted. */
  readonly emittedStarts: Set<string>
  /** Names of the tools that the model was offered in the request that it answered. */
  offered: ReadonlyArray<string>
  readonly session: Session
  readonly shown: Presentation
  readonly gate: Gate
  /** The call that the run is made for, if its agent is a tool, or recovers one. */
  readonly within: CallRecord | undefined
  /** Records of the calls of the round, by their ids. */
  readonly records: Map<string, CallRecord>
  /** Time limit of an approval, in milliseconds. */
  readonly approvalTimeToLive: number
  readonly concurrency: number | "unbounded"
  /** Number of equal failures of the same call after which the model is instructed to stop it. */
  readonly repeatedFailures: number
  /** Number of equal results of the same call while no other call gives a new one. */
  readonly repeatedCalls: number
  /** Returns the id of an equal call that runs in another round of the run; absent if rounds do not overlap. */
  readonly equalRunning?: ((raw: RequestedCall) => string | undefined) | undefined
}

export { callLog } from "../call/callLog.ts"

/** The call that a run is made in, if there is one. */
export const callAround = (context: Context.Context<never>): RoundContext["within"] =>
  Context.getOrUndefined(context, ToolCall)?.record

/** The arguments of a fixer or a person that a call was made with, or was to be made with, in place of the model's. */
export const repairedIn = (record: CallRecord | undefined): CallResult["repaired"] =>
  record?.recovering.fixedBy === undefined || record.recovering.fixedArguments === undefined
    ? undefined
    : { arguments: record.recovering.fixedArguments, by: record.recovering.fixedBy }

/**
 * The outcome of a delivered result. `info` is absent if no tool wrote it. The result names the arguments of the call
 * at any end.
 */
export const delivered = (
  { records, run, shown }: RoundContext,
  result: CallResult,
  info?: ToolInfo,
  read?: ReadonlyArray<string>
): Effect.Effect<CallOutcome> => {
  const record = records.get(result.call.id)
  const repaired = result.repaired ?? repairedIn(record)
  const entry = codeOf(result) === "outcome_unknown" ? record?.claiming.entry : undefined
  const known = repaired === undefined ? result : { ...result, repaired }
  return Effect.mapEager(
    deliver(shown, run, info, entry === undefined ? known : { ...known, entry }, read),
    (result): CallOutcome => ({ _tag: "Done", result })
  )
}

/** A failure as a result. */
export const failed = (
  call: RequestedCall,
  failure: ToolFailure,
  repaired: CallResult["repaired"] = undefined
): CallResult => ({ call, isFailure: true, encoded: failure, modelOutput: undefined, repaired })
