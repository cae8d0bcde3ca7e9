/** Steps of an attempt that may write: it waits for recorded writes, claims its key and its path, and appends its start. */
import * as Effect from "effect/Effect"
import type { Run } from "../../run/run.ts"
import { nextChange, placedWrite, placeWrite } from "../../run/state/runState.ts"
import { isDivergent } from "../replay/divergence.ts"
import { stopped } from "../record/record.ts"
import { attemptedOf, type Step, todayOf } from "./attemptState.ts"
import { isWrite, recordStart } from "../execute/effects.ts"
import { identify } from "../ledger/identifyCall.ts"
import { oncePerKey } from "../ledger/oncePerKey.ts"
import { type AttemptedCall, isPlainWrite, pathOfCall, startsOf } from "../replay/attemptedCall.ts"
import { keyedStarts, resolveKeys } from "../replay/resolveKey.ts"
import { keyOfCall } from "../../run/recordedStart.ts"
import { ledgerRefusals } from "../ledgerRefusals.ts"
import { recorded } from "../ledger/loggedWrite.ts"

/** Time limit for other fibers of an executor to match the recorded writes. */
const longestWait = "10 seconds"

const divergent = {
  _tag: "Denied",
  policy: "approval",
  reason: "It diverges from the call that it repeats, whose effects stay"
} as const

/** Succeeds once the attempt would not diverge any more. */
const matched = (attempted: AttemptedCall, run: Run): Effect.Effect<void> =>
  Effect.suspend(() => isDivergent(attempted) ? Effect.andThen(nextChange(run), matched(attempted, run)) : Effect.void)

/**
 * A write that would diverge waits until the recorded writes are matched. The order in which fibers start may differ. So it is denied only after a
 * long wait: then no other work can run in the outer call.
 */
export const awaitReplay: Step = (next) => (attempt) => {
  const { call, run, tool: { info } } = attempt
  if (info.effects !== "write" || !isDivergent(attemptedOf(attempt))) return next(attempt)
  if (run === undefined) return stopped(call, divergent)
  return Effect.flatMap(
    Effect.timeoutOption(matched(attemptedOf(attempt), run), longestWait),
    (inTime) => inTime._tag === "Some" ? next(attempt) : stopped(call, divergent)
  )
}

/** Claims the idempotency key of the call, if it has one. The ledger may answer. If it gives no answer, a call that may have started is unknown. */
export const claimKey: Step = (next) => (attempt) => {
  const { call, idempotency, params, raw, run, tool: { info, success, timeout } } = attempt
  if (idempotency === undefined) return next(attempt)
  const refusals = ledgerRefusals(attempt)
  const withoutLedger = (reason: unknown) => {
    if (!isWrite(info) || startsOf(run, attemptedOf(attempt)).length === 0) return refusals.unavailable(reason)
    recordStart(run, call.record, "unknown", () => run!.clock.currentTimeMillisUnsafe())
    return refusals.unknown(0)
  }
  const asking = { call, run, tool: info.name, params, raw, success, timeout }
  const claim = () =>
    oncePerKey(
      idempotency,
      asking,
      { ...refusals, unavailable: (reason) => Effect.suspend(() => withoutLedger(reason)) },
      (key) => next({ ...attempt, key })
    )
  const started = keyedStarts(run, attemptedOf(attempt))
  if (started.length === 0) return claim()
  return Effect.flatMap(identify(idempotency, asking), ({ id }) => {
    const others = started.filter(({ key }) => key !== id && (key !== keyOfCall || idempotency.key !== undefined))
    return others.length === 0 ? claim() : resolveKeys(todayOf(attempt), others, claim)
  })
}

/**
 * Claims the path of a write without a key that an agent within a call makes. Two parallel attempts of that call run two agents, whose writes have
 * one path. The second agent gets an unknown outcome, because the first may have done the write.
 */
export const claimPlace: Step = (next) => (attempt) => {
  const { call: { record }, key, run, tool: { info } } = attempt
  if (run?.start.outerCall === undefined || key !== undefined || !isPlainWrite(info)) return next(attempt)
  const place = pathOfCall(run, attemptedOf(attempt))
  const other = placedWrite(run, place)
  if (
    other !== undefined && other.write !== record.outcome &&
    (other.isRunning || (other.write.happened !== "no" && !other.write.isCompensated))
  ) {
    recordStart(run, record, "unknown", () => run.clock.currentTimeMillisUnsafe())
    return ledgerRefusals(attempt).unknown(0)
  }
  const endWrite = placeWrite(run, place, record.outcome)
  return Effect.onExit(next(attempt), () => Effect.sync(endWrite))
}

/** Appends the start to the journal or the write log of the run. The attempt of a resumed agent has its start there. */
export const appendStart: Step = (next) => (attempt) => {
  const { key, run } = attempt
  return run !== undefined && attempt.call.record.admission.continuation === undefined &&
      (run.log !== undefined || run.writes.log !== undefined)
    ? recorded(run, attemptedOf(attempt), key, () => next(attempt))
    : next(attempt)
}
