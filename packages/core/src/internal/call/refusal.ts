/** Refuses an attempt: runs no executor, and ends like the last attempt. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Redaction } from "../../Redaction.ts"
import { CurrentRetryBudget } from "../../RetryBudget.ts"
import type { OutcomeUnknown } from "../../ToolError.ts"
import { emit, type Run } from "../run/run.ts"
import { errorName } from "../run/observe/errorName.ts"
import type { Call } from "./call.ts"
import { stopped, subjectOf } from "./record/record.ts"
import { isWrite, type PassThrough, unknownOutcome } from "./execute/effects.ts"
import type { AttemptError } from "./attemptError.ts"

/** Returns whether the process-wide budget, if there is one, pays for one more retry. */
export const withdraw = (context: Context.Context<never>): Effect.Effect<boolean> =>
  Context.get(context, CurrentRetryBudget)?.withdraw ?? Effect.succeed(true)

/**
 * Returns the exit of an attempt that may not run while another one runs, or whose predecessor ended in an unknown way.
 * Only a write has an unknown outcome. Any other call ends without a result for its agent's model; by hand it is
 * interrupted, like the call that it would repeat.
 */
const cutOff = (call: Call): Exit.Exit<never, OutcomeUnknown> | Effect.Effect<never> => {
  const { gate, attempts: { tool } } = call.record
  if (tool === undefined || isWrite(tool) || tool.passesKey || call.idempotency !== undefined) {
    return Exit.fail(unknownOutcome(call.record))
  }
  return gate === undefined ? Effect.interrupt : stopped(call, { _tag: "CutOff" })
}

/** Emits that a call is not run again and ends with `ended`. */
export const refused = (
  call: Call,
  run: Run | undefined,
  ended: Exit.Exit<unknown, unknown>,
  because?: "retry_budget"
): Effect.Effect<void> =>
  Effect.flatMap(Redaction, (redactor) =>
    emit(run, () => ({
      _tag: "ToolAttemptRefused",
      ...subjectOf(call.record),
      error: Exit.isSuccess(ended) ? "none" : errorName(ended.cause, redactor),
      ...(because === undefined ? undefined : { because })
    })))

/**
 * Ends an attempt without an execution: with the last attempt's answer, which its caller gets again; with its error; or
 * with the state of a call that was interrupted, died, or is still running.
 */
export const refuse = (
  call: Call,
  run: Run | undefined,
  because?: "retry_budget"
): Effect.Effect<never, AttemptError | PassThrough> => {
  const { outcome: { answered, lastError } } = call.record
  const said = answered === undefined
    ? lastError === undefined ? undefined : Exit.fail(lastError as AttemptError | PassThrough)
    : Exit.succeed(answered.value as never)
  return Effect.flatMapEager(refused(call, run, said ?? Exit.interrupt(), because), () => said ?? cutOff(call))
}
