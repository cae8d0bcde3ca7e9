/** Step of an attempt: claims the idempotency key of the call, if it has one. The ledger may answer. */
import { idempotencyOf } from "../executor.ts"
import { oncePerKey } from "../oncePerKey.ts"
import type { Step } from "./attemptState.ts"
import { ledgerRefusals } from "./ledgerRefusals.ts"

export const claimKey: Step = (attempt, next) => {
  const { call, params, raw, run, tool, tool: { info, success, timeout } } = attempt
  const idempotency = idempotencyOf(tool, call)
  return idempotency === undefined ? next(attempt) : oncePerKey(
    idempotency,
    { call, run, tool: info.name, params, raw, success, timeout },
    ledgerRefusals(attempt),
    (key) => {
      attempt.key = key
      return next(attempt)
    }
  )
}
