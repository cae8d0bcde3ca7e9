/** Settlements: the end or the pause of a run, in their stored form. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import { Completed, type Outcome } from "@recourse/core/Approval"
import * as ErrorProjection from "@recourse/core/ErrorProjection"
import * as Journal from "@recourse/core/Journal"
import type { Failure } from "@recourse/core/Runs"
import type { Registered } from "../agent/definition.ts"
import type { Leave } from "./execution.ts"
import { noFailure, type Recorder } from "./recorder.ts"
import { asJson } from "../store/asJson.ts"
import type { Settlement } from "../store/store.ts"

type Unsettled = Omit<Settlement, "last" | "before">

/** The end of a run, in its stored form. */
export const settlementOf = (
  { definition }: Registered,
  exit: Exit.Exit<Outcome<unknown>, unknown>,
  recorder: Recorder,
  why: Leave | undefined,
  over: Failure | undefined
): Effect.Effect<Unsettled, never, unknown> => {
  const hasOutput = Exit.isSuccess(exit) && exit.value._tag === "Completed"
  if (over !== undefined && !hasOutput) return Effect.succeed(failed(over))
  // A waiting run is cancelled in its store, which queues it if it has writes to compensate.
  const isWaiting = Exit.isSuccess(exit) && exit.value._tag === "Paused"
  if (why === "cancelled" && !hasOutput && !isWaiting) return Effect.succeed({ status: "cancelled", pending: [] })
  if (Exit.isSuccess(exit)) {
    const ended = exit.value
    return ended._tag === "Paused"
      ? Effect.succeed({
        status: "waiting",
        pending: ended.pending as unknown as Schema.Json,
        snapshot: ended.snapshot as unknown as Schema.Json
      })
      : Effect.matchEager(asJson(definition.encodeOutput(ended.output)), {
        onFailure: () => failed({ error: "InvalidOutput", code: "invalid_result", userMessage: "" }),
        onSuccess: (output): Unsettled => ({ status: "completed", pending: [], outcome: { output } })
      })
  }
  const diverged = exit.cause.reasons.find((reason) =>
    Cause.isDieReason(reason) && reason.defect instanceof Journal.NonDeterminismError
  )
  if (diverged !== undefined) {
    return Effect.succeed(
      failed({
        error: "NonDeterminismError",
        code: "non_deterministic",
        userMessage: recorder.failure?.userMessage ?? ""
      })
    )
  }
  const error = exit.cause.reasons.find(Cause.isFailReason)?.error
  if (error === undefined) return Effect.succeed(failed(recorder.failure ?? noFailure))
  return Effect.flatMap(
    recorder.failure === undefined ? failureOf(error, recorder.journal.runId) : Effect.succeed(recorder.failure),
    (failure) =>
      Effect.matchEager(asJson(definition.encodeError(error)), {
        onFailure: () => failed(failure),
        onSuccess: (value) => failed(failure, value)
      })
  )
}

/** A run that has ended well, with an emitted end, before it was interrupted. */
export const endedAs = (
  exit: Exit.Exit<Outcome<unknown>, unknown>,
  { ended }: Recorder
): Exit.Exit<Outcome<unknown>, unknown> =>
  Exit.isFailure(exit) && ended?.outcome === "success" ? Exit.succeed(new Completed({ output: ended.output })) : exit

/** Report of an error that the agent did not emit, because it was not started. */
const failureOf = (error: unknown, runId: string): Effect.Effect<Failure> =>
  Effect.map(ErrorProjection.forUser(error, runId), ({ code, message }) => ({
    error: Predicate.hasProperty(error, "_tag") ? String(error._tag) : noFailure.error,
    code,
    userMessage: message
  }))

const failed = (failure: Failure, value?: Schema.Json): Unsettled => ({
  status: "failed",
  pending: [],
  outcome: { failure: { ...failure, ...(value === undefined ? undefined : { value }) } }
})
