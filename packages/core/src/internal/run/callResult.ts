/** Requested calls, and their result, wait or failure. */
import type * as Effect from "effect/Effect"
import type * as Prompt from "effect/ai/Prompt"
import type { ToolFailure } from "../projection/toolFailure.ts"
import type { Paused } from "../approval/outcome.ts"
import type { NestedRun, PendingCall, WaitingWithin } from "../approval/snapshot.ts"
import type { Mark } from "../projection/degradedMark.ts"
import type { Decision } from "./auditRecord.ts"

/** A tool call as the model made it. */
export interface RequestedCall {
  readonly id: string
  readonly name: string
  readonly params: unknown
}

/** What stands in the transcript for one call. */
export interface CallResult {
  readonly call: RequestedCall
  readonly isFailure: boolean
  readonly encoded: unknown
  /** The whole result, where `encoded` is its beginning: for events, and never for the model. */
  readonly whole?: unknown
  readonly modelOutput: ReadonlyArray<Prompt.ToolModelOutputPart> | undefined
  /** What the call was really made with, where that was not what the model wrote. */
  readonly repaired: { readonly arguments: string; readonly by: string } | undefined
  /** Where the answer came from, if not from the tool. */
  readonly degraded?: Mark | undefined
  /** The tool that has begun a task, if this result only says so. */
  readonly pendingOf?: string | undefined
  /** What the audit is to know of it, beyond what its code says. */
  readonly verdict?: Verdict | undefined
  /** Of an unknown outcome: the ledger's entry of the call's key. */
  readonly entry?: string | undefined
  /** The untrusted tools whose words the model reads in it. */
  readonly taints?: ReadonlyArray<string> | undefined
}

/** What was decided about a call. */
export interface Verdict {
  readonly decision: Decision
  readonly referenceId?: string | undefined
  readonly by?: string | undefined
  readonly reason?: string | undefined
  readonly security?: boolean | undefined
  /** The call that it was decided about, if that is one that the call's tool makes. */
  readonly of?: AuditedCall | undefined
}

/** What an audit says of a call; its arguments are raw. */
export interface AuditedCall {
  readonly id: string
  readonly tool: string
  readonly args: unknown
}

/** What an audit is to know of a call. */
export interface Audited extends AuditedCall {
  readonly verdict: Verdict
}

/** A call that waits for decisions: about itself, or about what waits within the agent that is its tool. */
export interface Waiting {
  readonly _tag: "Waiting"
  readonly pending: ReadonlyArray<PendingCall>
  readonly nested?: NestedRun
  /** Calls off what is asked within the agent that is its tool, and ends that; left out where an earlier life has asked it. */
  readonly withdraw?: Effect.Effect<void>
  /** Set where it is a call that its tool makes. */
  readonly within?: WaitingWithin
}

/** The agent that is the tool of a call waits. */
export interface WaitsInAgent {
  readonly _tag: "Nested"
  /** The attempt that waits. */
  readonly attempt: number
  readonly arguments: Record<string, unknown>
  readonly paused: Paused
  /** Calls off what it asks, and ends it. */
  readonly withdraw: Effect.Effect<void>
}

/** A call has a result, or waits. */
export type CallOutcome = { readonly _tag: "Done"; readonly result: CallResult } | Waiting

/** The code of a failure; nothing of a success. */
export const codeOf = ({ encoded, isFailure }: CallResult): string | undefined =>
  isFailure ? (encoded as ToolFailure).code : undefined
