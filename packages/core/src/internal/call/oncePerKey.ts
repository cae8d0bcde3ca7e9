/** The ledger around the attempts of a call: who may run, what is recorded, and what an earlier call left. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import { Redaction } from "../../Redaction.ts"
import { ExecutionError, PartialSuccess, Pending } from "../../ToolError.ts"
import { canonicalJson } from "../foundation/canonicalJson.ts"
import { randomId, sha256 } from "../foundation/digest.ts"
import type { Claim, Claimed } from "../idempotency/claims.ts"
import type { Idempotency, Reconciled } from "../idempotency/declaration.ts"
import { IdempotencyLedger } from "../idempotency/service.ts"
import type { Entry, Intent, LedgerError, Outcome } from "../idempotency/store.ts"
import { forOperator } from "../projection/audiences.ts"
import * as Telemetry from "../run/counters.ts"
import { emit, type Run } from "../run/run.ts"
import type { Call } from "./call.ts"
import { type AttemptError, errorFields } from "./record.ts"

/** The attempt that asks. */
export interface Asking {
  readonly call: Call
  readonly run: Run | undefined
  readonly tool: string
  readonly params: unknown
  readonly raw: Readonly<Record<string, unknown>>
  readonly success: Schema.Top
}

/** What the attempt fails with where it may not run. */
export interface Refusals<E> {
  readonly conflict: (entry: string) => Effect.Effect<never, E>
  readonly unavailable: (reason: unknown) => Effect.Effect<never, E>
  readonly unknown: (sinceMillis: number) => Effect.Effect<never, E>
}

interface Identity {
  readonly key: string
  readonly id: string
  readonly hash: string
}

const identify = (idempotency: Idempotency, { call, params, raw, run, tool }: Asking): Effect.Effect<Identity> => {
  const own = idempotency.key?.(params, raw)
  const parts = own === undefined
    ? [tool, "call", run?.scope ?? call.scope ?? "", call.identity ?? call.id]
    : [tool, "key", own]
  return Effect.map(
    Effect.all([sha256(canonicalJson(parts)), sha256(canonicalJson(raw))]),
    ([id, hash]) => ({ key: own ?? id, id, hash })
  )
}

const isRejection = (idempotency: Idempotency, { causes }: Call["record"], error: unknown): boolean =>
  error instanceof ExecutionError &&
  typeof error.reason === "object" && error.reason !== null && "_tag" in error.reason &&
  idempotency.rejected.includes(error.reason._tag as string) &&
  // An earlier attempt without an answer may still have done something.
  causes.every((cause) => cause.error !== "Timeout" && cause.error !== "OutcomeUnknown")

const json = Schema.encodeUnknownEffect(Schema.toCodecJson(Schema.Unknown))

/** What the timeout of a call says that has a key and may not be repeated without it. */
export const unanswered = (
  idempotency: Idempotency | "never" | undefined
): { readonly mayHaveHappened: true; readonly repeatable?: true } | undefined => {
  if (idempotency === undefined || idempotency === "never") return undefined
  return idempotency.key === undefined ? { mayHaveHappened: true } : { mayHaveHappened: true, repeatable: true }
}

/** What an attempt came to, in a form that can be stored; nothing if nobody knows. */
const storedOutcome = (
  success: Schema.Top,
  exit: Exit.Exit<unknown, unknown>
): Effect.Effect<Outcome | undefined, Schema.SchemaError, unknown> => {
  if (Exit.isSuccess(exit)) {
    return Effect.map(
      Schema.encodeUnknownEffect(Schema.toCodecJson(success))(exit.value),
      (value): Outcome => ({ _tag: "Result", value: (value ?? null) as Schema.Json })
    )
  }
  const error = exit.cause.reasons.length === 1 && exit.cause.reasons[0]?._tag === "Fail"
    ? exit.cause.reasons[0].error
    : undefined
  if (error instanceof Pending) {
    return Effect.succeed({
      _tag: "Pending",
      taskId: error.taskId,
      ...(error.retryAfter === undefined ? undefined : { retryAfterMillis: Duration.toMillis(error.retryAfter) })
    })
  }
  if (error instanceof PartialSuccess) {
    return Effect.map(
      json({ succeeded: error.succeeded, failed: error.failed }),
      (parts) => ({ _tag: "PartialSuccess", ...(parts as object) }) as Outcome
    )
  }
  return Effect.undefined
}

/** What an earlier call came to, as this call's own. */
const replay = (
  { call, success, tool }: Asking,
  outcome: Outcome
): Effect.Effect<unknown, unknown, unknown> => {
  const fields = { ...errorFields(call.record), tool }
  switch (outcome._tag) {
    case "Result":
      return Schema.decodeUnknownEffect(Schema.toCodecJson(success))(outcome.value)
    case "PartialSuccess":
      return Effect.fail(
        new PartialSuccess({ ...fields, succeeded: outcome.succeeded, failed: outcome.failed })
      )
    case "Pending":
      return Effect.fail(
        new Pending({
          ...fields,
          taskId: outcome.taskId,
          ...(outcome.retryAfterMillis === undefined
            ? undefined
            : { retryAfter: Duration.millis(outcome.retryAfterMillis) })
        })
      )
  }
}

/** What cannot be recorded is logged: as the operator's projection, without what the `Redaction` takes out. */
const quietly =
  ({ call, run, tool }: Asking, operation: LedgerError["operation"]) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<void, never, R> =>
    Effect.catchCause(Effect.asVoid(effect), (cause) =>
      Effect.flatMap(Redaction, (redactor) => {
        const { error, text, trace_id } = forOperator(cause, run?.id ?? call.id)
        return Effect.logWarning("The idempotency ledger could not record what came of a call").pipe(
          Effect.annotateLogs({ operation, tool, call_id: call.id, trace_id, error, cause: redactor.text(text) }),
          Effect.andThen(Telemetry.spanEvent("recourse.ledger_failed", { operation }))
        )
      }))

/**
 * Runs an attempt under the call's key: records the intent before it and what came of it after. Where the key has a
 * result, that is the answer; where it may not run, it fails as `verdicts` say.
 */
export const oncePerKey = <A, E, R, E2>(
  idempotency: Idempotency,
  asking: Asking,
  verdicts: Refusals<E2>,
  execute: (key: string) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | E2, R> => {
  const { call, run, success, tool } = asking
  const record = call.record

  const ended = (claim: Claim, exit: Exit.Exit<A, E>): Effect.Effect<void, never, unknown> => {
    const error = Exit.isFailure(exit) ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
    if (!record.executed || isRejection(idempotency, record, error)) {
      return leave(
        Effect.suspend(() => {
          record.claim = undefined
          return claim.release
        }).pipe(quietly(asking, "release"))
      )
    }
    return Effect.flatMap(
      Effect.catchTag(storedOutcome(success, exit), "SchemaError", () => Effect.undefined),
      (outcome) =>
        outcome === undefined
          ? Effect.void
          : leave(
            Effect.flatMap(Clock.currentTimeMillis, (now) => {
              record.claim = undefined
              return claim.complete(outcome, now + Duration.toMillis(idempotency.timeToLive))
            }).pipe(quietly(asking, "complete"))
          )
    )
  }

  const leave = (recorded: Effect.Effect<void>): Effect.Effect<void> => Effect.flatMap(recorded, () => settle(call))

  const begun = (claim: Claim, key: string): Effect.Effect<A, E, R> =>
    Effect.suspend(() => {
      const earlier = record.executed
      // What was executed before the key was claimed again says nothing of what is recorded now.
      if (record.claim !== claim) record.executed = false
      record.claim = claim
      return Effect.onExit(execute(key), (exit) => {
        const recorded = ended(claim, exit) as Effect.Effect<void>
        record.executed ||= earlier
        return recorded
      })
    })

  const unknown = (entry: Entry): Effect.Effect<never, E2> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => verdicts.unknown(Math.max(0, now - entry.startedAt)))

  const replayed = (outcome: Outcome, entry: Entry, waited: boolean): Effect.Effect<A, E | E2, R> =>
    emit(run, () => ({ _tag: "ToolReplayed", callId: call.id, tool, entry: entry.id, waited })).pipe(
      Effect.andThen(Telemetry.spanEvent("recourse.replayed", { "recourse.waited": waited })),
      Effect.andThen(replay(asking, outcome)),
      // A result that the schema of today cannot read: it happened, and nobody can say what came of it.
      Effect.catchTag("SchemaError" as never, () => unknown(entry))
    ) as Effect.Effect<A, E | E2, R>

  const reconciled = (entry: Entry, claim: Claim, key: string): Effect.Effect<A, E | E2, R> => {
    if (idempotency.reconcile === undefined) return unknown(entry)
    const asked = Effect.catch(
      idempotency.reconcile(entry, asking.params),
      () => Effect.succeed<Reconciled<unknown>>({ _tag: "StillUnknown" })
    ) as Effect.Effect<Reconciled<unknown>>
    return Effect.flatMap(asked, (found): Effect.Effect<A, E | E2, R> => {
      if (found._tag === "StillUnknown") return unknown(entry)
      return Effect.flatMap(
        Effect.catch(claim.take(entry), verdicts.unavailable),
        (taken): Effect.Effect<A, E | E2, R> => {
          // Somebody else has decided about it in the meantime.
          if (!taken) return unknown(entry)
          if (found._tag === "NotHappened") return begun(claim, key)
          record.executed = true
          return Effect.onExit(
            Effect.succeed(found.result as A),
            (exit) => ended(claim, exit) as Effect.Effect<void>
          )
        }
      )
    })
  }

  const claimed = (answer: Claimed, { id, key }: Identity): Effect.Effect<A, E | E2, R> => {
    switch (answer._tag) {
      case "Begun":
        return begun(answer.claim, key)
      case "Finished":
        return replayed(answer.outcome, answer.entry, answer.waited)
      case "Unfinished":
        return reconciled(answer.entry, answer.claim, key)
      case "Conflict":
        return verdicts.conflict(id)
    }
  }

  return Effect.flatMap(identify(idempotency, asking), (identity) => {
    const held = record.claim
    if (held !== undefined) {
      return held.intent.id === identity.id && held.intent.arguments === identity.hash
        ? begun(held, identity.key)
        : verdicts.conflict(identity.id)
    }
    const ask = Effect.gen(function*() {
      const ledger = yield* IdempotencyLedger
      const intent: Intent = {
        id: identity.id,
        tool,
        callId: call.id,
        arguments: identity.hash,
        claim: yield* randomId,
        startedAt: yield* Clock.currentTimeMillis
      }
      return yield* ledger.claim(intent, (settle) => {
        record.settle = settle
      })
    }) as Effect.Effect<Claimed, LedgerError>
    // Whoever asks again has held the key before, and is not to wait for itself.
    return Effect.flatMap(
      Effect.catch(Effect.andThen(settle(call), ask), (error) => verdicts.unavailable(error.reason)),
      (answer) => claimed(answer, identity)
    )
  })
}

/** Lets those go on who wait for a call. Done at the end of each call, whatever came of it. */
export const settle = ({ record }: Call): Effect.Effect<void> => {
  const waiting = record.settle
  record.settle = undefined
  return waiting ?? Effect.void
}

/** The ledger's refusal under `Recovery.idempotent`: a defect, as recovery within that operator is not to see it. */
export class LedgerVerdict {
  readonly error: AttemptError
  constructor(error: AttemptError) {
    this.error = error
  }
}
