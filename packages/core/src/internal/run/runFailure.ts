/** Run failure as events carry it: its tag, its code, and the user's text. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import { Redaction } from "../../Redaction.ts"
import { forOperator, redacted, userTextsOf } from "../projection/audiences.ts"
import { toolFailure } from "../projection/failures.ts"
import { errorName } from "./observe/errorName.ts"
import type { Run } from "./run.ts"

/** Fields of a failure in an event. */
export interface FailureSummary {
  readonly error: string
  readonly code: string
  readonly userMessage: string
  readonly retryAfter?: number
}

/** Sums up a cause for an event. */
export const summaryOf = (
  cause: Cause.Cause<unknown>,
  runId: string,
  context: Context.Context<never>
): FailureSummary => {
  const user = userTextsOf(context)
  const failure = toolFailure(cause.reasons.find(Cause.isFailReason)?.error, runId, user)
  const redactor = Context.get(context, Redaction)
  const { code, message_for_user, retry_after_ms } = redacted(redactor, failure, user)
  return {
    error: errorName(cause, redactor),
    code,
    userMessage: message_for_user,
    ...(retry_after_ms === undefined ? undefined : { retryAfter: retry_after_ms })
  }
}

/** The operators' text of a cause in an event, if events include it. */
export const operatorMessage = (
  run: Run | undefined,
  cause: Cause.Cause<unknown>
): { readonly operatorMessage?: string } =>
  run?.audience?.details === true ? { operatorMessage: forOperator(cause, run.id).text } : {}
