/** Refuses an attempt: fails without running anything. */
import * as Effect from "effect/Effect"
import { CurrentRetryBudget } from "../../RetryBudget.ts"
import { tagOf } from "../foundation/errorTags.ts"
import { emit, type Run } from "../run/run.ts"
import type { Call } from "./call.ts"
import { type AttemptError, toolName } from "./record.ts"

/** Whether the process-wide budget, if there is one, pays for one more retry. */
export const withdraw: Effect.Effect<boolean> = Effect.flatMap(
  CurrentRetryBudget,
  (budget) => budget === undefined ? Effect.succeed(true) : budget.withdraw
)

/** Fails as the last attempt did, without running anything. */
export const refuse = (
  call: Call,
  run: Run | undefined,
  because?: "retry_budget"
): Effect.Effect<never, AttemptError> =>
  Effect.andThen(
    emit(run, () => ({
      _tag: "ToolAttemptRefused",
      callId: call.id,
      tool: toolName(call.record),
      error: tagOf(call.record.lastError) ?? "unknown",
      ...(because === undefined ? undefined : { because })
    })),
    Effect.fail(call.record.lastError as AttemptError)
  )
