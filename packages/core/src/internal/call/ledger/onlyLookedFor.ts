/** End of a call that is only looked for: the ledger has no entry of it, and it is not executed. */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"

/** The error of the execution of such a call. */
export const notStarted = { _tag: "NotBegun" } as const

export const isOnlyLookedFor = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && exit.cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error === notStarted)
