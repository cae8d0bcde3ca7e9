/** Errors of an execution: its executor gave no answer in time, or failed. */
import type * as Duration from "effect/Duration"
import { type Declared, ExecutionError, OutcomeUnknown, Timeout } from "../../../ToolError.ts"
import type { Idempotency } from "../../idempotency/idempotencyOptions.ts"
import { type Attempt, failAttempt, type OfUnknown } from "../attemptLog.ts"
import { mayBeRepeated } from "./effects.ts"
import type { ToolInfo } from "../tool/toolInfo.ts"

/**
 * True if a later call with the key of an unknown outcome can get an answer: it reconciles, or sends the write again.
 */
const canLeadToAnswer = (idempotency: Idempotency | undefined): boolean =>
  idempotency?.key !== undefined && (idempotency.reconcile !== undefined || idempotency.isDeduplicated)

/** Returns the fields of an unknown outcome about the tool's key. */
export const ofUnknownOutcome = ({ passesKey }: ToolInfo, idempotency: Idempotency | undefined): OfUnknown => ({
  ...(passesKey ? { underKey: true } : undefined),
  ...(canLeadToAnswer(idempotency) ? { repeatable: true } : undefined)
})

/** The executor gave no answer in time. */
export const timedOut = (
  info: ToolInfo,
  attempt: Attempt,
  after: Duration.Duration,
  ofUnknown: OfUnknown,
  isRolledBack: boolean
) =>
  failAttempt(
    attempt,
    { error: "Timeout" },
    (fields) =>
      new Timeout({
        ...fields,
        after,
        ...(mayBeRepeated(info) || isRolledBack ? { repeatable: true } : undefined)
      }),
    { ...ofUnknown, after }
  )

/** Returns the executor's own error, with its declared projection. */
export const executionFailed = (
  attempt: Attempt,
  reason: unknown,
  declared: Declared | undefined,
  ofUnknown: OfUnknown
) => {
  const said = declared === undefined ? undefined : { declared }
  return failAttempt(
    attempt,
    { error: reason instanceof OutcomeUnknown ? "OutcomeUnknown" : "ExecutionError", reason },
    (fields) =>
      reason instanceof OutcomeUnknown
        ? new OutcomeUnknown({ ...fields, after: reason.after, reason })
        : new ExecutionError({ ...fields, reason, ...said }),
    { ...ofUnknown, ...said }
  )
}
