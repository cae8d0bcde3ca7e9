/** What waits within a call, as data: and whether something was done there before. */
import type { NestedRun, PendingCall, WaitingWithin } from "./snapshot.ts"

/** What waits within a call: an agent that is its tool, or a call that its tool makes. */
export interface WaitsWithin {
  readonly nested?: NestedRun | undefined
  readonly within?: WaitingWithin | undefined
}

/** Whether something was done within a call that waits: by the tool, or by the agent that is the tool. */
export const isDoneInPart = ({ nested, within }: WaitsWithin): boolean =>
  nested?.doneInPart === true || within?.begun?.some(({ outcome }) => outcome !== undefined) === true

/** A call that waits, by itself or by what waits within it. */
export interface WaitingCall extends WaitsWithin {
  /** The pending calls at or within it. */
  readonly pending?: ReadonlyArray<PendingCall> | undefined
}

const isAtPage = ({ code }: PendingCall): boolean => code === "client_tool"

/** Whether a page may have executed a pending call that changes something. A page does not tell when it starts. */
export const mayHaveStarted = (call: PendingCall): boolean =>
  isAtPage(call) && call.effects !== "read" && call.effects !== "idempotent"

/**
 * The outcome of a pending call that gets no decision. `unknown`: something was done within it, or the page may have executed it. `unanswered`:
 * the page has it, and it changes nothing that counts. `not_made`: it waits for an approval.
 */
export const outcomeUndecided = (waiting: WaitingCall): "unknown" | "unanswered" | "not_made" => {
  const { pending = [] } = waiting
  if (isDoneInPart(waiting) || pending.some(mayHaveStarted)) return "unknown"
  return pending.length > 0 && pending.every(isAtPage) ? "unanswered" : "not_made"
}
