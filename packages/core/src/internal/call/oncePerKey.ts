/**
 * Idempotency around the attempts of a call: who may run, what the ledger records, and the outcome of an earlier call.
 */
/* oxlint-disable max-lines -- the ways of one key, of which each may lead to each other */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Deferred from "effect/Deferred"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { Redaction } from "../../Redaction.ts"
import { CurrentStoreTimeout } from "../../StoreTimeout.ts"
import { ReconciliationInterceptor } from "../../ToolInterceptor.ts"
import { answerWithin } from "../foundation/answerWithin.ts"
import { canonicalJson } from "../foundation/canonicalJson.ts"
import { randomId, sha256 } from "../foundation/digest.ts"
import type { Claim, Claimant, Claimed } from "../idempotency/claims.ts"
import { CheckedOutcomes, type CheckOutcome } from "../idempotency/checkedOutcomes.ts"
import type { Idempotency, Reconciled } from "../idempotency/declaration.ts"
import { IdempotencyLedger, LedgerNamespace } from "../idempotency/service.ts"
import { warnOfDrawnId } from "./drawnRunIds.ts"
import type { Entry, Intent, LedgerError, Outcome, Recorded } from "../idempotency/store.ts"
import { forOperator } from "../projection/audiences.ts"
import * as Telemetry from "../run/counters.ts"
import { errorName } from "../run/errorName.ts"
import { emit, type Run } from "../run/run.ts"
import { attemptOutcome, numberOf, openEntry } from "./attemptLog.ts"
import type { Call } from "./call.ts"
import { recordStart } from "./happened.ts"
import { encodedResult, hasBegun, isNotedByAnother, noteDone } from "./noteDone.ts"
import { noteLedgerAnswer } from "../run/ledgerAnswers.ts"
import type { AttemptError } from "./attemptError.ts"
import { rootOf } from "./outerCalls.ts"
import {
  dropClaim,
  endHold,
  endMaking,
  finishAsking,
  holdClaim,
  keepSettle,
  noteEntry,
  startAsking,
  takeSettle
} from "./record/claiming.ts"
import { keepEffects, noteAnswer, noteEffects, noteExecuted } from "./record/outcome.ts"
import { replay, storedOutcome } from "./storedOutcome.ts"
import { errorFields, subjectOf } from "./callSubject.ts"
import { use } from "../run/state/counts.ts"

/** The attempt that asks. */
export interface Asking {
  readonly call: Call
  readonly run: Run | undefined
  readonly tool: string
  readonly params: unknown
  readonly raw: Readonly<Record<string, unknown>>
  readonly success: Schema.Top
  /** How long an attempt may take; left out: as long as it takes. */
  readonly timeout?: Duration.Duration | undefined
}

/** What the attempt fails with where it may not run. */
export interface Refusals<E> {
  readonly conflict: (entry: string) => Effect.Effect<never, E>
  readonly unavailable: (reason: unknown) => Effect.Effect<never, E>
  readonly unknown: (sinceMillis: number) => Effect.Effect<never, E>
}

/** What the execution of a call fails with that is only looked for. */
export const notBegun = { _tag: "NotBegun" } as const

export const isOnlyLookedFor = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && exit.cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error === notBegun)

export interface Identity {
  readonly key: string
  readonly id: string
  readonly hash: string
}

export const identify = (
  idempotency: Idempotency,
  { call, params, raw, run, tool }: Asking
): Effect.Effect<Identity> => {
  const own = idempotency.key?.(params, raw)
  const { namespace } = idempotency
  const parts = own === undefined
    ? [tool, "call", run?.scope ?? call.scope ?? "", call.identity ?? call.id]
    : namespace === undefined
    ? [tool, "key", own]
    : ["namespace", namespace, own]
  return Effect.flatMap(LedgerNamespace, (ledger) =>
    Effect.map(
      Effect.all([
        sha256(canonicalJson(ledger === undefined ? parts : ["ledger", ledger, parts])),
        sha256(canonicalJson(raw))
      ]),
      ([id, hash]) => ({ key: own ?? id, id: idempotency.id ?? id, hash })
    ))
}

/** Who claims an own key: none if the namespace says who shares it, or if the run and the call are in the key. */
const claimantOf = ({ key, namespace }: Idempotency, { call: { record }, run }: Asking): Claimant | undefined =>
  key === undefined || namespace !== undefined
    ? undefined
    : { agent: run?.path.at(-1), tool: record.attempts.tool, run: run && new WeakRef(run.counts.admitted) }

/** What cannot be recorded is logged: as the operator's projection, without what the `Redaction` takes out. */
const quietly =
  ({ call, run, tool }: Asking, operation: LedgerError["operation"]) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> =>
    Effect.catchCause(Effect.asVoid(effect), (cause) =>
      Effect.flatMap(Redaction, (redactor) => {
        const { error, text, trace_id } = forOperator(cause, run?.id ?? call.id)
        return Effect.logWarning("The idempotency ledger could not record the outcome of a call").pipe(
          Effect.annotateLogs({
            operation,
            tool,
            call_id: call.id,
            trace_id,
            error,
            cause: redactor.text(text, trace_id)
          }),
          Effect.andThen(Telemetry.spanEvent("recourse.ledger_failed", { operation }))
        )
      }))

/** The answer of a `reconcile` that gave none: it failed, died, threw, or took longer than an attempt or a store may. */
const stillUnknown: Reconciled<never> = { _tag: "StillUnknown" }

/** In place of a `reconcile`: the service does nothing twice under one key. */
const sendAgain: Reconciled<never> = { _tag: "NotHappened" }

/** Asks a `reconcile` within the tool's timeout, or within that of stores. Whatever becomes of it, the answer is a value. */
const reconciledWithin = (
  reconcile: () => Effect.Effect<Reconciled<unknown>, unknown, unknown>,
  { call, params, run, timeout, tool }: Asking
): Effect.Effect<Reconciled<unknown>> => {
  const asked = Effect.flatMap(ReconciliationInterceptor, (intercept) => {
    const answer = Effect.suspend(reconcile)
    return intercept?.({ tool, callId: call.id, params }, answer) ?? answer
  }) as Effect.Effect<Reconciled<unknown>, unknown>
  const gaveNoAnswer = (why: string): Effect.Effect<Reconciled<unknown>> =>
    Effect.as(
      Effect.annotateLogs(
        Effect.logWarning(`\`reconcile\` of tool "${tool}" gave no answer: the outcome stays unknown`),
        {
          call_id: call.id,
          trace_id: run?.id ?? call.id,
          why
        }
      ),
      stillUnknown
    )
  return Effect.flatMap(CurrentStoreTimeout, (limit) =>
    answerWithin(
      Effect.flatMap(
        Effect.exit(asked),
        (exit): Effect.Effect<Reconciled<unknown>> =>
          Exit.isSuccess(exit)
            ? Effect.succeed(exit.value)
            : Effect.flatMap(Redaction, (redactor) => gaveNoAnswer(errorName(exit.cause, redactor)))
      ),
      timeout ?? limit,
      () => gaveNoAnswer("timeout")
    ))
}

/** A person's answer, with its result as the tool's `success` schema reads it. */
const readChecked = (
  check: CheckOutcome,
  { id }: Entry,
  { success }: Asking
): Effect.Effect<Reconciled<unknown>, unknown, unknown> =>
  Effect.flatMap(
    check(id),
    (found): Effect.Effect<Reconciled<unknown>, unknown, unknown> =>
      found._tag !== "Happened"
        ? Effect.succeed(found)
        : Effect.map(
          Schema.decodeUnknownEffect(Schema.toCodecJson(success))(found.result),
          (result) => ({ _tag: "Happened", result })
        )
  )

/** Asks the tool's `reconcile`, and the answers of people if that has none. Nothing if there is neither. */
const reconcileOf = (
  { reconcile }: Idempotency,
  check: CheckOutcome | undefined,
  entry: Entry,
  asking: Asking
): (() => Effect.Effect<Reconciled<unknown>, unknown, unknown>) | undefined => {
  const own = reconcile === undefined ? undefined : () => reconcile(entry, asking.params)
  if (check === undefined) return own
  const checked = () => readChecked(check, entry, asking)
  if (own === undefined) return checked
  return () =>
    Effect.flatMap(
      reconciledWithin(own, asking),
      (found) => found._tag === "StillUnknown" ? checked() : Effect.succeed(found)
    )
}

/** Tells that an outcome was recorded otherwise than it was meant to be. */
const reported = ({ call, run, tool }: Asking, fate: "restored" | "lost"): Effect.Effect<void> =>
  Effect.logWarning(
    fate === "lost"
      ? "The key of a call was taken over by another process while the call ran: it may have been done twice"
      : "The entry of a call had vanished from the idempotency ledger: its outcome was recorded anew"
  ).pipe(
    Effect.annotateLogs({ tool, call_id: call.id, trace_id: run?.id ?? call.id }),
    Effect.andThen(Telemetry.spanEvent("recourse.ledger_entry", { fate }))
  )

/**
 * Runs an attempt under the call's key: records the intent before it and the outcome after it. Where the key has a
 * result, that is the answer; where it may not run, it fails as `verdicts` say.
 */
export const oncePerKey = <A, E, R, E2>(
  idempotency: Idempotency,
  asking: Asking,
  verdicts: Refusals<E2>,
  execute: (key: string, isAgain: boolean) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | E2, R> =>
  Effect.uninterruptibleMask((restore) => underKey(idempotency, asking, verdicts, execute, restore))

/** From the intent on, only waits, `reconcile` and the execution can be interrupted. */
// oxlint-disable-next-line max-lines-per-function -- the ways of one key call each other, and share the call and its claim
const underKey = <A, E, R, E2>(
  idempotency: Idempotency,
  asking: Asking,
  verdicts: Refusals<E2>,
  execute: (key: string, isAgain: boolean) => Effect.Effect<A, E, R>,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | E2, R> => {
  const { call, run, success, tool } = asking
  const record = call.record

  const ended = (claim: Claim, exit: Exit.Exit<A, E>): Effect.Effect<void, E2, unknown> => {
    // Nothing began, or all that began is known to have done nothing: the key is free again.
    if (record.outcome.happened === "no" || isOnlyLookedFor(exit)) {
      return record.claiming.holders > 0 ? Effect.void : closing(freed(quietly(asking, "release")(claim.release)))
    }
    return Effect.flatMap(
      Effect.catchTag(storedOutcome(success, exit, record), "SchemaError", () => Effect.undefined),
      (outcome) =>
        outcome === undefined
          ? Effect.void
          : Effect.flatMap(recorded(claim, outcome), (fate) => {
            if (fate === "recorded") return settle(call)
            return Effect.andThen(
              Effect.andThen(reported(asking, fate), settle(call)),
              // Another process may have done it, too: the result of this call is not that of the key.
              fate === "lost" ? verdicts.unknown(0) : Effect.void
            )
          })
    )
  }

  const recorded = (claim: Claim, outcome: Outcome): Effect.Effect<Recorded> =>
    Effect.suspend(() => {
      let fate: Recorded = "recorded"
      return Effect.map(
        closing(
          quietly(asking, "complete")(
            Effect.map(claim.complete(outcome, idempotency.timeToLive), (became) => {
              fate = became
            })
          )
        ),
        () => fate
      )
    })

  /** Gives the claim up. An attempt that comes before that is done waits: it would find a key that nobody is at work under. */
  const closing = (closed: Effect.Effect<void>): Effect.Effect<void> => {
    dropClaim(record)
    const mine = startAsking(record)
    return Effect.onExit(closed, () => Effect.sync(() => finishAsking(record, mine)))
  }

  const freed = (released: Effect.Effect<void>): Effect.Effect<void> => Effect.flatMap(released, () => settle(call))

  /** Executes only while the key is this call's: a process that slept may have lost it. */
  const held = (claim: Claim, key: string, isAgain: boolean): Effect.Effect<A, E | E2, R> =>
    Effect.flatMap(
      Effect.catch(claim.confirm, (error) => verdicts.unavailable(error.reason)),
      (isHeld): Effect.Effect<A, E | E2, R> => {
        if (isHeld) return execute(key, isAgain)
        dropClaim(record)
        return Effect.andThen(reported(asking, "lost"), verdicts.unknown(0))
      }
    )

  /** Counts a holder of the claim at once, so that nobody gives the claim back too early. The effect is run, once. */
  const begun = (claim: Claim, key: string, isAgain = false): Effect.Effect<A, E | E2, R> => {
    holdClaim(record, claim)
    finishAsking(record)
    return Effect.onExit(restore(held(claim, key, isAgain)), (exit) => {
      endHold(record)
      return ended(claim, exit as Exit.Exit<A, E>) as Effect.Effect<void, E2>
    })
  }

  const isOfRun = ({ claim, id }: Entry): boolean => claim === run?.journal?.claim(id)

  /** Counts what an earlier life of the run has executed, and did not live to write into its journal. */
  const countedAgain = <B, E3, R3>(entry: Entry, answer: Effect.Effect<B, E3, R3>): Effect.Effect<B, E3, R3> =>
    Effect.suspend(() => {
      if (record.outcome.executed || !isOfRun(entry)) return answer
      use(run, "toolCalls", 1)
      recordStart(run, record, "yes", () => run!.clock.currentTimeMillisUnsafe())
      const executed = openEntry({ call, number: numberOf(record), run })
      return Effect.onExit(answer, (exit) =>
        Effect.sync(() => {
          executed.outcome = attemptOutcome(exit, record)
        }))
    })

  /** Notes what this call did in an earlier life of its run: what another run has done is not this one's to undo. */
  const noteAnswered = (value: unknown, entry: Entry, claim: string, encoded: Schema.Json | undefined): void => {
    const info = record.attempts.tool!
    const { arguments: hash, callId, id, tool } = entry
    const intent = { arguments: hash, callId, claim, id, tool }
    // What this life has executed itself stands where that began.
    const { outcome: { position } } = record
    const executed = { call, encoded, info, intent, isKeyed: true, live: undefined, position, run }
    const isOfCall = idempotency.key === undefined && idempotency.id === undefined
    // An earlier execution claimed under one name for all calls of the run: the write is of the call that was noted first.
    const isOwn = isOfCall || ((isOfRun(entry) || hasBegun(executed, entry.claim)) && !isNotedByAnother(executed, id))
    if (isOwn) noteDone(executed, Exit.succeed(value))
    else noteLedgerAnswer(run, id, rootOf(record).callId)
  }

  const replayed = (
    { entry, outcome, sinceMillis, waited }: Extract<Claimed, { readonly _tag: "Finished" }>
  ): Effect.Effect<A, E | E2, R> =>
    emit(run, () => ({ _tag: "ToolReplayed", ...subjectOf(record), entry: entry.id, waited })).pipe(
      Effect.andThen(Telemetry.spanEvent("recourse.replayed", { "recourse.waited": waited })),
      Effect.andThen(
        countedAgain(entry, Effect.suspend(() => replay(record, { ...errorFields(record), tool }, success, outcome)))
      ),
      Effect.tap((value) =>
        Effect.sync(() =>
          noteAnswered(value, entry, entry.claim, outcome._tag === "Result" ? outcome.value : undefined)
        )
      ),
      // A result that the schema of today cannot read: the call happened, and its result is unknown.
      Effect.catchTag("SchemaError" as never, () => verdicts.unknown(sinceMillis))
    ) as Effect.Effect<A, E | E2, R>

  /** The call has started under its key. Whatever comes after that, it is not reported as one that was not run. */
  const startedElsewhere = (sinceMillis: number): Effect.Effect<void> =>
    Effect.map(Clock.currentTimeMillis, (now) => recordStart(run, record, "unknown", () => now - sinceMillis))

  /**
   * Finds out about a call that was cut off. Its entry is taken first: from then on nobody begins it any more, so what
   * `reconcile` finds stays true.
   */
  const reconciled = (
    abandoned: Extract<Claimed, { readonly _tag: "Abandoned" }>,
    identity: Identity
  ): Effect.Effect<A, E | E2, R> => Effect.flatMap(CheckedOutcomes, (check) => reconciledBy(check, abandoned, identity))

  const reconciledBy = (
    check: CheckOutcome | undefined,
    { claim, entry, sinceMillis }: Extract<Claimed, { readonly _tag: "Abandoned" }>,
    identity: Identity
  ): Effect.Effect<A, E | E2, R> => {
    const unknown = verdicts.unknown(sinceMillis)
    const reconcile = reconcileOf(idempotency, check, entry, asking)
    const takeBack = keepEffects(record)
    const started = startedElsewhere(sinceMillis)
    if (reconcile === undefined && !idempotency.isDeduplicated) return Effect.andThen(started, unknown)
    const asked = reconcile === undefined
      ? Effect.succeed(sendAgain)
      : restore(reconciledWithin(reconcile, asking))
    const unavailable = Effect.catch((error: LedgerError) => verdicts.unavailable(error.reason))
    return Effect.flatMap(
      Effect.andThen(started, unavailable(claim.take(entry))),
      (taken): Effect.Effect<A, E | E2, R> => {
        // Another call has taken it in the meantime: this call waits for that one.
        if (!taken) {
          takeBack()
          return ask(identity)
        }
        return Effect.flatMap(asked, (found): Effect.Effect<A, E | E2, R> => {
          const isSentAgain = found === sendAgain || (found._tag === "StillUnknown" && idempotency.isDeduplicated)
          if (found._tag === "StillUnknown" && !isSentAgain) return unknown
          if (found._tag !== "Happened") {
            // Of a write that is sent again nobody knows whether it had happened.
            if (!isSentAgain) takeBack()
            return Effect.flatMap(unavailable(claim.resume), (isHeld) => isHeld ? begun(claim, identity.key) : unknown)
          }
          noteExecuted(record, true)
          noteEffects(record, "yes")
          noteAnswer(record, { value: found.result })
          return Effect.flatMap(encodedResult(success, found.result), (encoded) => {
            noteAnswered(found.result, entry, claim.intent.claim, encoded)
            return Effect.onExit(
              Effect.succeed(found.result as A),
              (exit) => ended(claim, exit) as Effect.Effect<void, E2>
            )
          })
        })
      }
    )
  }

  const claimed = (answer: Claimed, identity: Identity): Effect.Effect<A, E | E2, R> => {
    switch (answer._tag) {
      case "Begun":
        return begun(answer.claim, identity.key, answer.isAgain)
      case "Finished":
        return replayed(answer)
      case "Abandoned":
        return reconciled(answer, identity)
      case "Busy":
        return Effect.andThen(startedElsewhere(answer.sinceMillis), verdicts.unknown(answer.sinceMillis))
      case "Conflict":
        return verdicts.conflict(identity.id)
    }
  }

  const ask = (identity: Identity): Effect.Effect<A, E | E2, R> => {
    noteEntry(record, identity.id)
    // The key that the call held before it was left: nobody else has it under this name.
    const before = record.claiming.claim
    // The same holder in each life of a run, which repeats the call under its key; unless it can ask what happened.
    const holder = before !== undefined
      ? Effect.succeed(before.intent.claim)
      : idempotency.reconcile === undefined && run?.journal !== undefined
      ? Effect.succeed(run.journal.claim(identity.id))
      : randomId
    const answer = Effect.flatMap(holder, (claim) => {
      const intent: Intent = { id: identity.id, tool, callId: call.id, arguments: identity.hash, claim }
      return Effect.flatMap(IdempotencyLedger, (ledger) =>
        Effect.andThen(
          warnOfDrawnId(ledger, idempotency, run, tool),
          () =>
            ledger.claim(intent, (settle) => {
              keepSettle(record, settle)
            }, claimantOf(idempotency, asking))
        ))
    }) as Effect.Effect<Claimed, LedgerError>
    // A call that claims again has held the key before, and must not wait for itself.
    return Effect.flatMap(
      Effect.catch(
        Effect.andThen(settle(call), answer),
        (error) => Effect.andThen(before === undefined ? Effect.void : settle(call), verdicts.unavailable(error.reason))
      ),
      (answer) => {
        dropClaim(record)
        return claimed(
          answer._tag === "Begun" && before !== undefined ? { ...answer, isAgain: false } : answer,
          identity
        )
      }
    )
  }

  /** Asks once for all attempts of a call: of those that are raced, one asks, and the others have its claim. */
  const claiming = (identity: Identity): Effect.Effect<A, E | E2, R> => {
    const { claiming: { asking, claim } } = record
    if (claim !== undefined && (claim.intent.id !== identity.id || claim.intent.arguments !== identity.hash)) {
      return verdicts.conflict(identity.id)
    }
    if (asking !== undefined) {
      return Effect.andThen(restore(Deferred.await(asking)), Effect.suspend(() => claiming(identity)))
    }
    // Without `settle` the call was left in the meantime, and its lease given up.
    if (claim !== undefined && record.claiming.settle !== undefined) return begun(claim, identity.key)
    const mine = startAsking(record)
    return Effect.onExit(ask(identity), () => Effect.sync(() => finishAsking(record, mine)))
  }

  return Effect.flatMap(identify(idempotency, asking), claiming)
}

/** A call is left that a tool or a program has made. Its claim is kept until nobody makes it any more. */
export const leave = (call: Call): Effect.Effect<void> => endMaking(call.record) > 0 ? Effect.void : settle(call)

/** Lets those go on who wait for a call. Done at the end of each call, whatever came of it. */
export const settle = ({ record }: Call): Effect.Effect<void> => {
  return takeSettle(record) ?? Effect.void
}

/** The signal of the ledger's refusal under `Recovery.idempotent`: recovery within that operator does not see it. */
export class LedgerVerdict {
  readonly error: AttemptError
  constructor(error: AttemptError) {
    this.error = error
  }
}
