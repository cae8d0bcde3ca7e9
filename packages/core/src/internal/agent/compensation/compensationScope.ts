/** Selects the writes of a run that are compensated at its end: all of them, those with revoked approvals, or none. */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { ExecutionError } from "../../../ToolError.ts"
import { ApprovalRequired, DecisionRefused, SnapshotRefused } from "../../approval/outcome.ts"
import type { Checkpoint } from "../../approval/snapshot.ts"
import { isStop } from "../../call/record/record.ts"
import { isInterruption } from "../../foundation/effect/signal.ts"
import { Pause } from "../../loop/pause.ts"
import { stopOf } from "../../run/account.ts"
import type { Run } from "../../run/run.ts"
import type { Compensates } from "./compensationOptions.ts"
import { HandedOff } from "../compose/handoffSignal.ts"

/** Error of a run: the error of a tool, if that ends it. */
const errorIn = (cause: Cause.Cause<unknown>): unknown => {
  const error = cause.reasons.find(Cause.isFailReason)?.error
  return error instanceof ExecutionError ? error.reason : error
}

/** True if a run with this error has failed for good: it cannot be resumed, and it has handed nothing over. */
const isForGood = (error: unknown): boolean =>
  error instanceof HandedOff
    ? error.isRefused === true
    : ![ApprovalRequired, SnapshotRefused, DecisionRefused].some((one) => error instanceof one)

/** True if a run was interrupted, and no other reason ended it: a call of it may wait meanwhile. */
const isInterruptionOnly = ({ reasons }: Cause.Cause<unknown>): boolean =>
  reasons.every((reason) => isInterruption(reason) || isStop(reason)) && !(reasons.length > 0 && reasons.every(isStop))

/** True if a waiting run is cancelled: it will not be resumed. */
export const waitsForNobody = ({ log }: Run, exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) && exit.value instanceof Pause && log?.isCancelled === true

/**
 * True if an interruption gives a resumed run back: it has executed no call since, and another resumption continues
 * with its snapshot. Decided at the claim of snapshots.
 */
export const isGivenBack = (
  { counts: { executed }, writes: { compensations, hasWritten } }: Pick<Run, "counts" | "writes">,
  resumed: Checkpoint | undefined
): boolean =>
  resumed !== undefined && executed.length === resumed.executed.length && !hasWritten && compensations.length === 0

/**
 * Returns the future of a run that was interrupted; `undefined` for another exit. `given_back`: see {@link isGivenBack}. `continues`: its log has
 * it, so that another execution continues with it. `over`: neither.
 */
export const afterInterruption = (
  run: Run,
  resumed: Checkpoint | undefined,
  exit: Exit.Exit<unknown, unknown>
): "given_back" | "continues" | "over" | undefined => {
  if (Exit.isSuccess(exit) || !isInterruptionOnly(exit.cause)) return undefined
  if (isGivenBack(run, resumed)) return "given_back"
  return run.log === undefined || run.log.isCancelled ? "over" : "continues"
}

const isSpentIn = (run: Run | undefined, cause: Cause.Cause<unknown>): boolean =>
  run !== undefined && (stopOf(cause, run.account) !== undefined || isSpentIn(run.parent, cause))

/** Returns the writes of a run with this exit that are to be compensated. */
export const writesToCompensate = (
  { after }: Compensates,
  run: Run,
  resumed: Checkpoint | undefined,
  exit: Exit.Exit<unknown, unknown>
): "all" | "revoked" | undefined => {
  if (Exit.isSuccess(exit)) return exit.value instanceof Pause || !after.has("rejection") ? undefined : "revoked"
  const { reasons } = exit.cause
  // A budget ends it, its own or that of an outer run, regardless of other interruptions.
  const isSpent = isSpentIn(run, exit.cause)
  // An outer call waits, or may not run: the run is repeated, or that call reports its outcome.
  const interrupted = afterInterruption(run, resumed, exit)
  const isInterrupted = interrupted !== undefined
  const isStopped = run.parent !== undefined && !isInterrupted && reasons.some(isStop)
  if (isStopped && !isSpent) return undefined
  const isCancelled = run.log?.isCancelled === true
  if (interrupted === "continues" || (interrupted === "given_back" && !isCancelled)) return undefined
  const error = errorIn(exit.cause)
  const endsRun = isForGood(error)
  // Pending calls within a cancelled run will not be resumed.
  const isOver = isInterrupted || (isCancelled && (endsRun || error instanceof ApprovalRequired))
  if (isOver && after.has("interruption")) return "all"
  if (!isInterrupted && endsRun && after.has("failure")) return "all"
  return after.has("rejection") ? "revoked" : undefined
}
