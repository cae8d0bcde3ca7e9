/** Step of an attempt: claims the idempotency key of the call, if it has one. The ledger may answer. If it gives no answer, a call that may have started is unknown. */
import * as Effect from "effect/Effect"
import { isWrite } from "../execution.ts"
import { idempotencyOf } from "../executor.ts"
import { recordStart } from "../happened.ts"
import { mayHaveStarted } from "../hiddenBeginning.ts"
import { oncePerKey } from "../oncePerKey.ts"
import type { Step } from "./attemptState.ts"
import { ledgerRefusals } from "./ledgerRefusals.ts"

export const claimKey: Step = (attempt, next) => {
  const { call, params, raw, run, tool, tool: { info, success, timeout } } = attempt
  const idempotency = idempotencyOf(tool, call)
  if (idempotency === undefined) return next(attempt)
  const refusals = ledgerRefusals(attempt)
  const withoutLedger = (reason: unknown) => {
    if (!isWrite(info) || !mayHaveStarted(run, attempt.intended)) return refusals.unavailable(reason)
    recordStart(run, call.record, "unknown", () => run!.clock.currentTimeMillisUnsafe())
    return refusals.unknown(0)
  }
  return oncePerKey(
    idempotency,
    { call, run, tool: info.name, params, raw, success, timeout },
    { ...refusals, unavailable: (reason) => Effect.suspend(() => withoutLedger(reason)) },
    (key) => {
      attempt.key = key
      return next(attempt)
    }
  )
}
