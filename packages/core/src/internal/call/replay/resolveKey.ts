/**
 * Outcome of a call that an earlier execution of the run has started under a key. The ledger is asked for the recorded key if the tool of today
 * gives another key or none, and if today's schema or policies refuse the call. No refusal of today takes the start back.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type { Idempotency } from "../../idempotency/idempotencyOptions.ts"
import { IdempotencyLedger } from "../../idempotency/ledgerService.ts"
import { keyOfCall, type RecordedStart } from "../../run/recordedStart.ts"
import type { Run } from "../../run/run.ts"
import type { PassThrough } from "../execute/effects.ts"
import type { Executable } from "../execute/executeTool.ts"
import type { Refusals } from "../ledger/keyedAttempt.ts"
import { oncePerKey } from "../ledger/oncePerKey.ts"
import { isOnlyLookedFor, notStarted } from "../ledger/ledgerLookup.ts"
import type { AttemptError } from "../attemptError.ts"
import { unknownOutcome } from "./answerStarted.ts"
import { type AttemptedCall, matchAttempt, startsOf } from "./attemptedCall.ts"

type Attempting = Effect.Effect<unknown, AttemptError | PassThrough, unknown>

/** The attempt of today, with its arguments as far as they could be read. */
export interface Today {
  readonly attempted: AttemptedCall
  readonly tool: Pick<Executable<never, unknown, unknown, unknown>, "info" | "success">
  /** The idempotency of the call, if it has one. */
  readonly idempotency: Idempotency | undefined
  readonly raw: Readonly<Record<string, unknown>>
  /** The decoded arguments, if they fit the schema of today. */
  readonly params: unknown
  readonly refusals: Refusals<AttemptError>
}

/** The starts of a call that the ledger may know. */
export const keyedStarts = (run: Run | undefined, attempted: AttemptedCall): ReadonlyArray<RecordedStart> =>
  attempted.info.isAgent === true || attempted.attempt.call.lookupOnly === true
    ? []
    : startsOf(run, attempted).filter(({ key }) => key !== undefined)

const recorded = ({ key }: RecordedStart, reconcile: Idempotency["reconcile"]): Idempotency => ({
  key: undefined,
  id: key === keyOfCall ? undefined : key,
  timeToLive: Duration.hours(24),
  isDeduplicated: false,
  rejected: [],
  reconcile
})

/** The ways to continue a call whose recorded key has no outcome in the ledger. */
interface Otherwise {
  /** The ledger has no entry of the key: the entry has expired, was released, or is in another ledger. */
  readonly absent: () => Attempting
  /** `reconcile` says that it did not happen. */
  readonly notHappened: () => Attempting
}

/** Asks the ledger for a recorded key: succeeds with the recorded outcome, fails if it is unknown. */
const ask = (today: Today, start: RecordedStart, otherwise: Otherwise): Attempting => {
  const { attempted, attempted: { attempt: { call, run }, info }, idempotency, params, raw, refusals, tool } = today
  const unknown = Effect.suspend(() => unknownOutcome(attempted, run!, start))
  const reconcile = params === undefined ? undefined : idempotency?.reconcile
  let notHappened = false
  const asked = oncePerKey<unknown, AttemptError | PassThrough | typeof notStarted, unknown, unknown>(
    recorded(
      start,
      reconcile && ((entry, params) =>
        Effect.tap(reconcile(entry, params), ({ _tag }) =>
          Effect.sync(() => {
            notHappened = _tag === "NotStarted"
          })))
    ),
    { call, run, tool: tool.info.name, params, raw, success: tool.success },
    {
      ...refusals,
      conflict: () => unknown,
      unavailable: () => info.effects === "idempotent" ? Effect.fail(notStarted) : unknown,
      unknown: () => unknown
    },
    (_, isAgain) => isAgain ? unknown : Effect.fail(notStarted)
  )
  return Effect.matchCauseEffect(asked, {
    onSuccess: (value) => {
      matchAttempt(run!, attempted)
      return Effect.succeed(value)
    },
    onFailure: (cause) => {
      if (!isOnlyLookedFor(Exit.failCause(cause))) return Effect.failCause(cause)
      // An older version may not have started it.
      if (!notHappened && start.key !== keyOfCall) return otherwise.absent()
      matchAttempt(run!, attempted)
      return otherwise.notHappened()
    }
  }) as Attempting
}

const askAll = (today: Today, starts: ReadonlyArray<RecordedStart>, otherwise: Otherwise): Attempting =>
  Effect.flatMap(Effect.serviceOption(IdempotencyLedger), (ledger) => {
    if (Option.isNone(ledger)) return otherwise.absent()
    const next = (index: number): Attempting =>
      index === starts.length
        ? otherwise.absent()
        : ask(today, starts[index]!, { ...otherwise, absent: () => next(index + 1) })
    return next(0)
  })

/**
 * Continues a call whose tool of today has another key, or none, with the outcome of the recorded starts. If the ledger has no entry of them, the
 * outcome is unknown, unless the tool of today may be repeated.
 */
export const resolveKeys = (today: Today, starts: ReadonlyArray<RecordedStart>, next: () => Attempting): Attempting => {
  const { attempted, attempted: { attempt: { run }, info } } = today
  return askAll(today, starts, {
    absent: () => info.effects === "idempotent" ? next() : unknownOutcome(attempted, run!, starts[0]),
    notHappened: next
  })
}

/** Refuses a call, unless an earlier execution has started it: then the call ends with its recorded outcome, or as unknown. */
export const refuseUnlessStarted = (today: Today, refusal: Attempting): Attempting => {
  const { attempted, attempted: { attempt: { call, run } } } = today
  const starts = call.lookupOnly === true ? [] : startsOf(run, attempted)
  if (starts.length === 0) return refusal
  const keyed = keyedStarts(run, attempted)
  const unknown = () => unknownOutcome(attempted, run!, starts[0])
  return keyed.length === 0 ? unknown() : askAll(today, keyed, { absent: unknown, notHappened: () => refusal })
}
