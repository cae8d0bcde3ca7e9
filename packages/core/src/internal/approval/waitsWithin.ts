/** Waiting parts of a call, and its completed inner writes. */
import type { NestedRun, PendingCall, WaitingWithin } from "./snapshot.ts"

/** Waiting parts of a call: an agent that is its tool, or a call made by its tool. */
export interface WaitsWithin {
  readonly nested?: NestedRun | undefined
  readonly within?: WaitingWithin | undefined
}

/** True if a waiting call has completed inner writes: of the tool, or of the agent that is the tool. */
export const isDoneInPart = ({ nested, within }: WaitsWithin): boolean =>
  nested?.doneInPart === true || within?.begun?.some(({ outcome }) => outcome !== undefined) === true

/** A call that waits, by itself or by an inner call. */
export interface WaitingCall extends WaitsWithin {
  /** The pending calls at or within it. */
  readonly pending?: ReadonlyArray<PendingCall> | undefined
}

const isAtPage = ({ code }: PendingCall): boolean => code === "client_tool"

/**
 * True if a page may have executed a pending call with an effect. A page does not report its start.
 *
 * @category predicates
 * @since 0.2.0
 */
export const mayHaveStarted = (call: PendingCall): boolean =>
  isAtPage(call) && call.effects !== "read" && call.effects !== "idempotent"

/**
 * Returns the outcome of a pending call without a decision. `unknown`: it has inner writes, or the page may have
 * executed it. `unanswered`: the page has it, and it has no lasting effect. `not_made`: it waits for an approval.
 */
export const outcomeUndecided = (waiting: WaitingCall): "unknown" | "unanswered" | "not_made" => {
  const { pending = [] } = waiting
  if (isDoneInPart(waiting) || pending.some(mayHaveStarted)) return "unknown"
  return pending.length > 0 && pending.every(isAtPage) ? "unanswered" : "not_made"
}
