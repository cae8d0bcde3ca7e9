/** Step of an attempt: charges a retry to the retry budget of the process and to the budget of the run. A first attempt makes a deposit. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { CurrentRetryBudget } from "../../../RetryBudget.ts"
import { before } from "../../foundation/effect/sequence.ts"
import * as Telemetry from "../../run/observe/counters.ts"
import { refuse, withdraw } from "../refusal.ts"
import { isGivenUp, noteStart } from "../repetition.ts"
import type { Attempting, Step } from "./attemptState.ts"
import { useMarks } from "../record/recovering.ts"
import { use } from "../../run/state/counts.ts"

export const chargeRetry: Step = (next) => (attempt) => {
  const { call, context, run, tool: { info } } = attempt
  const { record } = call
  const isRetry = record.attempts.count > 0 && !record.recovering.isFix
  if (isRetry && !record.recovering.isRetryPaid && isGivenUp(record, call.arguments)) return refuse(call, run)
  noteStart(record)
  const isPaid = useMarks(record)
  if (!isRetry) {
    const deposit = record.attempts.count > 0 ? undefined : Context.get(context, CurrentRetryBudget)?.deposit
    return deposit === undefined ? next(attempt) : before(deposit, () => next(attempt))
  }
  return Effect.flatMapEager(isPaid ? Effect.succeed(true) : withdraw(context), (isPaid): Attempting => {
    if (!isPaid) return refuse(call, run, "retry_budget")
    const charged = run === undefined ? Effect.void : run.account.chargeNow("retriesPerTool", info.name)
    return before(charged, () => {
      Telemetry.countToolRetry(context, { tool: info.name })
      use(run, "retries", 1)
      return next(attempt)
    })
  })
}
