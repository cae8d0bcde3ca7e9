/** Question to a service, by the `reconcile` of a tool: did a call happen? Whatever becomes of `reconcile`, the answer is a value. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Redaction } from "../../../Redaction.ts"
import { CurrentStoreTimeout } from "../../../StoreTimeout.ts"
import { ReconciliationInterceptor } from "../../../ToolInterceptor.ts"
import { answerWithin } from "../../foundation/effect/answerWithin.ts"
import type { Reconciliation } from "../../../Reconciliation.ts"
import { errorName } from "../../run/observe/errorName.ts"
import type { Asking } from "./keyedAttempt.ts"

/** The answer of a `reconcile` that gave none: it failed, died, threw, or took longer than an attempt or a store may. */
const stillUnknown: Reconciliation<never> = { _tag: "Unknown" }

/** Asks within the tool's timeout, or within that of stores. */
export const askService = (
  reconcile: () => Effect.Effect<Reconciliation<unknown>, unknown, unknown>,
  { call, params, run, timeout, tool }: Asking
): Effect.Effect<Reconciliation<unknown>> => {
  const asked = Effect.flatMap(ReconciliationInterceptor, (intercept) => {
    const answer = Effect.suspend(reconcile)
    return intercept?.({ tool, callId: call.id, params }, answer) ?? answer
  }) as Effect.Effect<Reconciliation<unknown>, unknown>
  const gaveNoAnswer = (why: string): Effect.Effect<Reconciliation<unknown>> =>
    Effect.as(
      Effect.annotateLogs(
        Effect.logWarning(`\`reconcile\` of tool "${tool}" gave no answer: the outcome stays unknown`),
        { call_id: call.id, trace_id: run?.id ?? call.id, why }
      ),
      stillUnknown
    )
  return Effect.flatMap(CurrentStoreTimeout, (limit) =>
    answerWithin(
      Effect.flatMap(
        Effect.exit(asked),
        (exit): Effect.Effect<Reconciliation<unknown>> =>
          Exit.isSuccess(exit)
            ? Effect.succeed(exit.value)
            : Effect.flatMap(Redaction, (redactor) => gaveNoAnswer(errorName(exit.cause, redactor)))
      ),
      timeout ?? limit,
      () => gaveNoAnswer("timeout")
    ))
}
