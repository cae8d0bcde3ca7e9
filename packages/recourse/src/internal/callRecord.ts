/** What is known about one tool call over all its attempts. Mutable, and shared by every `ToolCall` of the call. */
import type { ExecutionError, FailedAttempt, InvalidArgs, OutcomeUnknown, Timeout } from "../ToolError.ts"

/** How repeatable a tool is; left out means that nobody said. */
export type Effects = "read" | "idempotent" | "write" | undefined

/** What recovery has to know about the tool that it recovers. */
export interface ToolInfo {
  readonly name: string
  readonly description: string | undefined
  readonly effects: Effects
  readonly jsonSchema: () => unknown
}

/** What an attempt of a call fails with. */
export type AttemptError = InvalidArgs | ExecutionError | Timeout | OutcomeUnknown

export interface CallRecord {
  readonly callId: string
  tool: ToolInfo | undefined
  /** Attempts begun. */
  attempts: number
  /** Whether an attempt has reached the executor. */
  executed: boolean
  readonly causes: Array<FailedAttempt>
  lastError: unknown
  lastFailureAt: number | undefined
  /** Set when a fixer answered: the next attempt is the fix's, not a retry. */
  fixed: boolean
  /** Name of the fixer whose arguments are used, if not the model's own. */
  fixedBy: string | undefined
  /** The fixer's arguments, as text. */
  fixedArguments: string | undefined
  /** Set by a fixer's exception: every further attempt fails with it. */
  closedBy: { readonly error: unknown } | undefined
}

export const make = (callId: string): CallRecord => ({
  callId,
  tool: undefined,
  attempts: 0,
  executed: false,
  causes: [],
  lastError: undefined,
  lastFailureAt: undefined,
  fixed: false,
  fixedBy: undefined,
  fixedArguments: undefined,
  closedBy: undefined
})
