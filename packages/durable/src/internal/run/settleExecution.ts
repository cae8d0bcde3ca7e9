/** Settles an execution after its agent has stopped: its run has ended, waits, or is released. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import { type Outcome, type PendingCall, uncompensatedWrites } from "@recourse/core/Approval"
import { type Failure, logFailure } from "@recourse/core/Runs"
import { dueIn } from "../agent/approvalReminders.ts"
import { cancelChildren } from "./cancelRuns.ts"
import { wakeUp } from "./changes.ts"
import { countEnded, countLost } from "./counting.ts"
import { needsRunner } from "../store/unemittedEnds.ts"
import type { Execution } from "./execution.ts"
import { overKind, reportAbandoned } from "./runEnds.ts"
import type { Prepared } from "./prepareExecution.ts"
import type { Surroundings } from "./recorder.ts"
import type { Stopped } from "./runAgent.ts"
import { endedAs, settlementOf } from "./settlement.ts"
import type { RunStoreError, StoredRun } from "../store/store.ts"
import { storeRetry } from "../store/storeRetry.ts"

type AgentExit = Exit.Exit<Outcome<unknown>, unknown>

/** Logs that a run has failed. One that the engine has ended, because its process died again and again or its program changed, needs a person. */
const logFailed = (
  run: StoredRun,
  exit: Exit.Exit<unknown, unknown>,
  over: Failure | undefined
): Effect.Effect<void> => {
  if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) return logFailure(run, exit.cause)
  const error = over?.error ?? "InvalidOutput"
  const log = Effect.logError(`Run ${run.runId} of agent "${run.agent}" ended with ${error}`)
  return Effect.annotateLogs(log, { agent: run.agent, run_id: run.runId, error })
}

/** Gives the run back if the next execution has to end it; whether it is left to others. */
const givesBack = Effect.fnUntraced(function*(
  { store, writer }: Surroundings,
  { loaded, recorder, registered, run }: Prepared,
  { over, why }: Execution,
  exit: AgentExit
): Effect.fn.Return<boolean, RunStoreError, unknown> {
  if (why === "lost" || (why === "stopping" && Exit.isFailure(exit))) return true
  if (why === "cancelled" && Exit.isFailure(exit) && recorder.ended?.outcome === "paused") {
    // It waits, and its snapshot is lost: another execution replays its entries.
    yield* store.settle(run, { status: "queued" })
    return true
  }
  const isRefused = why === undefined && over === undefined && !recorder.hasStarted && Exit.isFailure(exit)
  if (!isRefused || !needsRunner(run, loaded.steps.length > 0)) return false
  // The present agent does not resume it: another execution compensates its writes, or reports that it cannot.
  const { outcome } = yield* settlementOf(registered, exit, recorder, why, over)
  const { failure } = outcome as { readonly failure: Failure & Schema.JsonObject }
  const added = yield* writer.add([recorder.next(overKind, failure.error, failure)])
  if (added !== "lost") yield* store.settle(run, { status: "queued" })
  return true
})

/** Tries an operation again while its store fails, unless the process has to leave the run. */
const retryStore = <A>(execution: Execution, operation: Effect.Effect<A, RunStoreError>) =>
  Effect.retry(operation, {
    schedule: storeRetry,
    while: () => execution.why === undefined || execution.why === "cancelled"
  })

/** Records the end of the run, or its pause. */
const record = Effect.fnUntraced(function*(
  around: Surroundings,
  { recorder, registered, run }: Prepared,
  execution: Execution,
  exit: AgentExit
): Effect.fn.Return<void, RunStoreError, unknown> {
  const clock = yield* Clock.Clock
  yield* recorder.written
  const settlement = yield* settlementOf(registered, exit, recorder, execution.why, execution.over)
  recorder.finish(settlement)
  const settled = yield* recorder.settled(settlement)
  const before = recorder.takeNoted()
  const last = recorder.next("end", String(run.segment), settlement.status)
  const asking = settlement.status === "waiting" ? registered.definition.asking : undefined
  const wakeInMillis = asking &&
    dueIn(asking, settlement.pending as unknown as ReadonlyArray<PendingCall>, 0, clock.currentTimeMillisUnsafe())
  const isSettled = yield* retryStore(execution, around.store.settle(run, { ...settled, wakeInMillis, before, last }))
  if (isSettled) recorder.noteSettled()
  if (asking !== undefined) around.notify(wakeUp)
  if (settlement.status !== "waiting") yield* countEnded({ agent: run.agent, status: settlement.status })
  if (settlement.status === "failed") yield* logFailed(run, exit, execution.over)
})

const isInterrupted = (exit: AgentExit): boolean => Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause)

/** Settles an execution whose agent has stopped. */
export const settleExecution = Effect.fnUntraced(function*(
  around: Surroundings,
  prepared: Prepared,
  execution: Execution,
  { exit: stopped, hasCompensated }: Stopped
): Effect.fn.Return<void, RunStoreError, unknown> {
  const { fate, recorder, run } = prepared
  if (run.isCancelled) execution.why ??= "cancelled"
  const { over, why } = execution
  if (why === "lost") yield* countLost({ agent: run.agent })
  // The process that has cancelled it may have been killed before it cancelled them.
  if (why === "cancelled") yield* retryStore(execution, cancelChildren(around.store, run.runId))
  const exit = why === "cancelled" ? endedAs(stopped, recorder) : stopped
  if (yield* givesBack(around, prepared, execution, exit)) return
  if (!hasCompensated && (over !== undefined || !fate.proceeds || (why === "cancelled" && !recorder.hasStarted))) {
    const left = uncompensatedWrites({ snapshot: run.snapshot, journal: recorder.journal })
    if (left.length > 0 && over === undefined && fate.proceeds && isInterrupted(exit)) {
      // Its process stops before its agent has started: another one compensates the writes.
      return yield* Effect.asVoid(around.store.settle(run, { status: "queued" }))
    }
    const because = fate.proceeds ? "no_tool" : "failed"
    const now = yield* Clock.currentTimeMillis
    yield* reportAbandoned(run, left, now, because, (event) => recorder.receive(event))
  }
  yield* record(around, prepared, execution, exit)
})
