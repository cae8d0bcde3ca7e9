/** Which writes of a run are undone when it ends: all of them, those whose approvals were revoked, or none. */
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import { ExecutionError } from "../../../ToolError.ts"
import { ApprovalRequired, DecisionRefused, SnapshotRefused } from "../../approval/outcome.ts"
import type { Checkpoint } from "../../approval/snapshot.ts"
import { isStop } from "../../call/stop.ts"
import { isInterruption } from "../../foundation/effect/signal.ts"
import { Pause } from "../../loop/pause.ts"
import { stopOf } from "../../run/account.ts"
import type { Run } from "../../run/run.ts"
import type { Compensates } from "./compensationOptions.ts"
import { HandedOff } from "../compose/handoffSignal.ts"

/** What a run has failed with: what a tool failed with, where that ends it. */
const errorIn = (cause: Cause.Cause<unknown>): unknown => {
  const error = cause.reasons.find(Cause.isFailReason)?.error
  return error instanceof ExecutionError ? error.reason : error
}

/** Whether a run that fails so has failed for good: nobody goes on with it, and it has given nothing away. */
const isForGood = (error: unknown): boolean =>
  error instanceof HandedOff
    ? error.isRefused === true
    : ![ApprovalRequired, SnapshotRefused, DecisionRefused].some((one) => error instanceof one)

/** Whether a run was interrupted, and nothing else ended it: a call of it may have come to wait meanwhile. */
export const wasInterrupted = ({ reasons }: Cause.Cause<unknown>): boolean =>
  reasons.every((reason) => isInterruption(reason) || isStop(reason)) && !(reasons.length > 0 && reasons.every(isStop))

/** Whether a run that waits is cancelled: nobody goes on with it. */
export const waitsForNobody = ({ journal }: Run, exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isSuccess(exit) && exit.value instanceof Pause && journal?.isCancelled?.() === true

/**
 * Whether an interruption gives a run back that was resumed: it has run nothing since, and another resumption goes on with its snapshot. As it is
 * decided where snapshots are claimed.
 */
export const isGivenBack = (
  { counts: { executed }, writes: { compensations, hasWritten } }: Pick<Run, "counts" | "writes">,
  resumed: Checkpoint | undefined
): boolean =>
  resumed !== undefined && executed.length === resumed.executed.length && !hasWritten && compensations.length === 0

/** Whether a run that is interrupted goes on in another life, or another resumption: what waits within it is not over. */
export const isResumedLater = (run: Run, resumed: Checkpoint | undefined): boolean =>
  isGivenBack(run, resumed) || (run.journal !== undefined && run.journal.isCancelled?.() !== true)

/**
 * Whether a run whose journal goes on was cut off: by the run around it, which goes on or ends without it, or as a life ends. Who is around it knows. One that is
 * cancelled, or over, is undone already.
 */
export const isCutOff = (run: Run, resumed: Checkpoint | undefined, exit: Exit.Exit<unknown, unknown>): boolean =>
  run.journal !== undefined && Exit.isFailure(exit) && wasInterrupted(exit.cause) && !isGivenBack(run, resumed)

const isSpentIn = (run: Run | undefined, cause: Cause.Cause<unknown>): boolean =>
  run !== undefined && (stopOf(cause, run.account) !== undefined || isSpentIn(run.parent, cause))

/** Which writes of a run that ends so are to be undone. */
export const writesToCompensate = (
  { after }: Compensates,
  run: Run,
  resumed: Checkpoint | undefined,
  exit: Exit.Exit<unknown, unknown>
): "all" | "revoked" | undefined => {
  if (Exit.isSuccess(exit)) return exit.value instanceof Pause || !after.has("rejection") ? undefined : "revoked"
  const { reasons } = exit.cause
  // A budget ends it, its own or that of a run around it, whatever was stopped beside.
  const isSpent = isSpentIn(run, exit.cause)
  // A call around it waits, or may not run: the run is made again, or that call says what it came to.
  const isInterrupted = wasInterrupted(exit.cause)
  const isStopped = run.parent !== undefined && !isInterrupted && reasons.some(isStop)
  if (isStopped && !isSpent) return undefined
  const isCancelled = run.journal?.isCancelled?.() === true
  if (isInterrupted && run.journal !== undefined && !isCancelled) return undefined
  // Its snapshot is given back: another resumption goes on with it.
  if (isInterrupted && run.journal === undefined && isGivenBack(run, resumed)) return undefined
  const error = errorIn(exit.cause)
  const hasFailed = isForGood(error)
  // What waits within a run that is cancelled is gone on with by nobody.
  const isOver = isInterrupted || (isCancelled && (hasFailed || error instanceof ApprovalRequired))
  if (isOver && after.has("interruption")) return "all"
  if (!isInterrupted && hasFailed && after.has("failure")) return "all"
  return after.has("rejection") ? "revoked" : undefined
}
