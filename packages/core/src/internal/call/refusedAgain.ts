/**
 * Refused again: a call with a key that may have begun in an earlier life of its run, and that this life would refuse. What the ledger has of it
 * counts: no refusal of today makes it less.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import type { Attempt } from "./attemptLog.ts"
import { type Executable, idempotencyOf } from "./executor.ts"
import type { PassThrough } from "./execution.ts"
import { stopped } from "./stop.ts"
import { comingBy, noteMet } from "./hiddenBeginning.ts"
import { recordStart } from "./happened.ts"
import { oncePerKey, type Refusals } from "./oncePerKey.ts"
import type { AttemptError } from "./attemptError.ts"
import { forEachAround, rootOf } from "./outerCalls.ts"
import { clearStop } from "./record/admission.ts"

type Attempting<A, R> = Effect.Effect<A, AttemptError | PassThrough, R>

/** What is refused: with its arguments, as far as they could be read. */
export interface Refused<Params> {
  readonly attempt: Attempt
  readonly refusals: Refusals<AttemptError>
  readonly raw: Readonly<Record<string, unknown>>
  readonly params: Params | undefined
}

/** Refuses a call, unless an earlier life has begun it under its key: then it comes to what the ledger says, and is not executed. */
export const unlessBegun = <Params, A, D, R>(
  tool: Executable<Params, A, D, R>,
  { attempt, params, raw, refusals }: Refused<Params>,
  refusal: Attempting<A, R>
): Attempting<A, R> => {
  const { call, run } = attempt
  const { record } = call
  const idempotency = rootOf(record).replay.mayHaveBegun ? idempotencyOf(tool, call) : undefined
  if (idempotency === undefined || call.lookupOnly === true) return refusal
  const unknown = Effect.suspend(() => {
    recordStart(run, record, "unknown", () => run!.clock.currentTimeMillisUnsafe())
    return refusals.unknown(0)
  })
  // Nothing but today's arguments could say the key.
  if (params === undefined && idempotency.key !== undefined) return unknown
  const matched = run?.journal?.isResumed === true
    ? { run, intended: { attempt, info: tool.info, success: tool.success } }
    : undefined
  const answered = oncePerKey(
    params === undefined ? { ...idempotency, reconcile: undefined } : idempotency,
    { call, run, tool: tool.info.name, params, raw, success: tool.success },
    { ...refusals, conflict: () => unknown },
    (_, isAgain) => {
      if (isAgain) return unknown
      // The ledger has no entry, or `reconcile` says that nothing happened.
      if (matched !== undefined) noteMet(matched.run, matched.intended)
      return refusal
    }
  )
  return matched === undefined ? answered : comingBy(matched.run, matched.intended, answered)
}

/** Lets a gate decide about a call. Where it stops one that an earlier life may have begun, the ledger is asked first. */
export const stoppedUnlessBegun = <Params, A, D, R, B>(
  tool: Executable<Params, A, D, R>,
  refused: Refused<Params>,
  admitted: Effect.Effect<B, never, R>,
  then: (answer: B) => Attempting<A, R>
): Attempting<A, R> => {
  const { call, call: { record } } = refused.attempt
  if (!rootOf(record).replay.mayHaveBegun) return Effect.flatMapEager(admitted, then)
  return Effect.matchCauseEffect(admitted, {
    onSuccess: then,
    onFailure: (cause) => {
      const stop = record.admission.stop
      if (stop === undefined || stop.of !== undefined || !Cause.hasInterrupts(cause)) return Effect.failCause(cause)
      unstop(call.record)
      return unlessBegun(tool, refused, stopped(call, stop))
    }
  })
}

/** Takes a stop back, also from the calls around. */
const unstop = (record: Refused<unknown>["attempt"]["call"]["record"]): void => {
  clearStop(record)
  forEachAround(record, (around) => {
    if (around.admission.stop?.of === record) clearStop(around)
  })
}
