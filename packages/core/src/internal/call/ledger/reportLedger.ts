/** Reports of the ledger for the operator: an outcome could not be recorded, or was recorded otherwise than it was meant to be. */
import * as Effect from "effect/Effect"
import { Redaction } from "../../../Redaction.ts"
import type { LedgerError } from "../../idempotency/ledgerStore.ts"
import { forOperator } from "../../projection/audiences.ts"
import * as Telemetry from "../../run/observe/telemetry.ts"
import type { Asking } from "./keyedAttempt.ts"

/** Logs the failure of an operation, in the operator's projection and redacted. */
export const quietly =
  ({ call, run, tool }: Asking, operation: LedgerError["operation"]) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> =>
    Effect.catchCause(Effect.asVoid(effect), (cause) =>
      Effect.flatMap(Redaction, (redactor) => {
        const { error, text, trace_id } = forOperator(cause, run?.id ?? call.id)
        return Effect.logWarning("The idempotency ledger could not record the outcome of a call").pipe(
          Effect.annotateLogs({
            operation,
            tool,
            call_id: call.id,
            trace_id,
            error,
            cause: redactor.text(text, trace_id)
          }),
          Effect.andThen(Telemetry.spanEvent("recourse.ledger_failed", { operation }))
        )
      }))

/** Reports that an outcome was recorded otherwise than it was meant to be. */
export const reportFate = ({ call, run, tool }: Asking, fate: "restored" | "lost"): Effect.Effect<void> =>
  Effect.logWarning(
    fate === "lost"
      ? "The key of a call was taken over by another process while the call ran: it may have been done twice"
      : "The entry of a call had vanished from the idempotency ledger: its outcome was recorded again"
  ).pipe(
    Effect.annotateLogs({ tool, call_id: call.id, trace_id: run?.id ?? call.id }),
    Effect.andThen(Telemetry.spanEvent("recourse.ledger_entry", { fate }))
  )
