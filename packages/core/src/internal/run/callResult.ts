/** Requested calls, and their result, wait or failure. */
import type * as Effect from "effect/Effect"
import type * as Prompt from "effect/ai/Prompt"
import type { ToolFailure } from "../projection/toolFailure.ts"
import type { Paused } from "../approval/outcome.ts"
import type { NestedRun, PendingCall, WaitingWithin } from "../approval/snapshot.ts"
import type { DegradedMark } from "../projection/degradedMark.ts"
import type { Decision } from "./auditRecord.ts"

/** A tool call as the model made it. */
export interface RequestedCall {
  readonly id: string
  readonly name: string
  readonly params: unknown
}

/** Entry of one call in the transcript. */
export interface CallResult {
  readonly call: RequestedCall
  readonly isFailure: boolean
  readonly encoded: unknown
  /** The tool's answer before its JSON form: for the program, and never for the model. */
  readonly value?: unknown
  /** The whole result, if `encoded` is its beginning: for events, and never for the model. */
  readonly whole?: unknown
  readonly modelOutput: ReadonlyArray<Prompt.ToolModelOutputPart> | undefined
  /** The real arguments of the call, if they differ from the model's. */
  readonly repaired: { readonly arguments: string; readonly by: string } | undefined
  /** Source of the answer, if not the tool. */
  readonly degraded?: DegradedMark | undefined
  /** The tool that has started a task, if this result only reports that. */
  readonly pendingOf?: string | undefined
  /** True for a success in place of an unknown outcome: the model reads a mark next to it. */
  readonly isInPlaceOfUnknown?: true | undefined
  /** True for a result that does not exclude that the call was done, or was not, if its code does not say so. */
  readonly uncertain?: true | undefined
  /** Audit facts beyond the code. */
  readonly verdict?: Verdict | undefined
  /** Of an unknown outcome: the ledger's entry of the call's key. */
  readonly entry?: string | undefined
  /** The untrusted tools whose words the model reads in it. */
  readonly taints?: ReadonlyArray<string> | undefined
}

/** Decision about a call. */
export interface Verdict {
  readonly decision: Decision
  readonly referenceId?: string | undefined
  readonly by?: string | undefined
  readonly reason?: string | undefined
  readonly security?: boolean | undefined
  /** The call that it was decided about, if that is one that the call's tool makes. */
  readonly of?: AuditedCall | undefined
}

/** Audit record of a call; its arguments are raw. */
export interface AuditedCall {
  readonly id: string
  readonly tool: string
  readonly args: unknown
}

/** Audit facts of a call. */
export interface Audited extends AuditedCall {
  readonly verdict: Verdict
}

/** A call that waits for decisions: about itself, or about inner calls of the agent that is its tool. */
export interface Waiting {
  readonly _tag: "Waiting"
  readonly pending: ReadonlyArray<PendingCall>
  readonly nested?: NestedRun
  /**
   * Withdraws the questions of the agent that is its tool, and ends it; absent if an earlier execution has asked them.
   */
  readonly withdraw?: Effect.Effect<void>
  /** Set if it is a call made by its tool. */
  readonly within?: WaitingWithin
}

/** The agent that is the tool of a call waits. */
export interface WaitsInAgent {
  readonly _tag: "Nested"
  /** The attempt that waits. */
  readonly attempt: number
  readonly arguments: Record<string, unknown>
  readonly paused: Paused
  /** Withdraws its questions, and ends it. */
  readonly withdraw: Effect.Effect<void>
}

/** A call has a result, or waits. */
export type CallOutcome = { readonly _tag: "Done"; readonly result: CallResult } | Waiting

/** Returns the code of a failure; `undefined` for a success. */
export const codeOf = ({ encoded, isFailure }: CallResult): string | undefined =>
  isFailure ? (encoded as ToolFailure).code : undefined

/** Codes that do not exclude that the call was done, or another one with its key. */
export const uncertainCodes: ReadonlySet<unknown> = new Set([
  "outcome_unknown",
  "partial_success",
  "idempotency_conflict"
])
