/** Step of an attempt: claims the idempotency key of the call, if it has one. The ledger may answer. If it gives no answer, a call that may have started is unknown. */
import * as Effect from "effect/Effect"
import { isWrite } from "../execute/passThrough.ts"
import { idempotencyOf } from "../execute/executeTool.ts"
import { recordStart } from "../execute/effects.ts"
import { identify } from "../ledger/identifyCall.ts"
import { oncePerKey } from "../ledger/oncePerKey.ts"
import { startsOf } from "../replay/attemptedCall.ts"
import { keyedStarts, resolveKeys } from "../replay/resolveKey.ts"
import { keyOfCall } from "../../run/recordedStart.ts"
import type { Step } from "./attemptState.ts"
import { ledgerRefusals } from "../ledgerRefusals.ts"

export const claimKey: Step = (next) => (attempt) => {
  const { call, params, raw, run, tool, tool: { info, success, timeout } } = attempt
  const idempotency = idempotencyOf(tool, call)
  if (idempotency === undefined) return next(attempt)
  const refusals = ledgerRefusals(attempt)
  const withoutLedger = (reason: unknown) => {
    if (!isWrite(info) || startsOf(run, attempt.attempted).length === 0) return refusals.unavailable(reason)
    recordStart(run, call.record, "unknown", () => run!.clock.currentTimeMillisUnsafe())
    return refusals.unknown(0)
  }
  const asking = { call, run, tool: info.name, params, raw, success, timeout }
  const claim = () =>
    oncePerKey(
      idempotency,
      asking,
      { ...refusals, unavailable: (reason) => Effect.suspend(() => withoutLedger(reason)) },
      (key) => {
        attempt.key = key
        return next(attempt)
      }
    )
  const started = keyedStarts(run, attempt.attempted)
  if (started.length === 0) return claim()
  return Effect.flatMap(identify(idempotency, asking), ({ id }) => {
    const others = started.filter(({ key }) => key !== id && (key !== keyOfCall || idempotency.key !== undefined))
    return others.length === 0 ? claim() : resolveKeys(attempt.today, others, claim)
  })
}
