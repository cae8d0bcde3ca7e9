/** Failures of calls of client tools: as the page gives them, or because it did not answer in time. */
import type * as Effect from "effect/Effect"
import type { Decision } from "../../approval/decision.ts"
import type { PendingCall, WaitingWithin } from "../../approval/snapshot.ts"
import type { ClientFailure } from "../../call/clientCall.ts"
import { canonicalJson } from "../../foundation/json/canonicalJson.ts"
import type { CallOutcome, RequestedCall } from "../../run/callResult.ts"
import type { AgentTool } from "../../tool/agentTool.ts"
import type { RoundContext } from "../roundContext.ts"
import { runCall } from "../runCall.ts"
import { goingOn } from "./pausedWithin.ts"

/**
 * Fails a call of a client tool with the page's failure, or because the page was late. Its recovery decides the next
 * step.
 */
export const failClientCall = (
  calls: RoundContext,
  raw: RequestedCall,
  tool: AgentTool,
  pending: PendingCall,
  clientFailure: ClientFailure,
  within: WaitingWithin | undefined
): Effect.Effect<CallOutcome, unknown, unknown> =>
  runCall(calls, tool, raw, {
    arguments: pending.arguments,
    approved: canonicalJson(pending.arguments),
    fixedBy: pending.fixedBy,
    clientFailure,
    ...goingOn(within, pending.arguments)
  })

/** The failure of a decision after the end of the wait: the result of a late answer is not used. */
export const failureGiven = (decision: Exclude<Decision, { readonly _tag: "Reject" }>, isLate: boolean) => ({
  _tag: "Fail" as const,
  callId: decision.callId,
  argumentsHash: decision.argumentsHash,
  ...(decision.by === undefined ? undefined : { by: decision.by }),
  error: decision._tag === "Fail" && !isLate ? decision.error : null
})
