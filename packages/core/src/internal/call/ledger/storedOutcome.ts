/** Outcomes of calls as the ledger stores them, with their marks, and as they are given again. */
import * as Cause from "effect/Cause"
import * as DateTime from "effect/DateTime"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { PartialSuccess, Pending } from "../../../ToolError.ts"
import { toJson } from "../../foundation/json/jsonValue.ts"
import type { Marks, Outcome } from "../../idempotency/ledgerStore.ts"
import { type Degraded, markOf } from "../../projection/degradedMark.ts"
import type { CallRecord, ErrorFields } from "../record/record.ts"
import { noteRead } from "../children/untrustedContent.ts"
import { forgetDegraded, noteDegraded } from "../record/marks.ts"

const json = Schema.encodeUnknownEffect(Schema.toCodecJson(Schema.Unknown))

/** Returns the marks of an outcome: the untrusted texts that it may contain, and its degraded sources. */
const marksOf = ({ marks: { degraded, read } }: CallRecord): { readonly marks?: Marks } =>
  degraded === undefined && read === undefined ? {} : {
    marks: {
      ...(read === undefined ? undefined : { taintedBy: [...read] }),
      ...(degraded === undefined ? undefined : { degraded: degraded.map((one) => markOf([one])) })
    }
  }

/** A call with the outcome of an earlier one also has its marks. */
const noteMarks = (record: CallRecord, { degraded = [], taintedBy = [] }: Marks): void => {
  noteRead(record, taintedBy)
  if (degraded.length === 0) return
  noteDegraded(
    record,
    degraded.map(({ asOf, source }): Degraded => ({
      source,
      asOf: asOf === undefined ? undefined : Option.getOrUndefined(DateTime.make(asOf))
    }))
  )
}

type StoredResult = Pick<Extract<Outcome, { readonly _tag: "Result" }>, "value" | "isUndefined">

const undefinedResult: StoredResult = { value: null, isUndefined: true }

/**
 * A result by the schema's JSON form. If there is none, as of `undefined` or a `Date` by `Schema.Unknown`: `undefined`, or the JSON that the
 * model reads. Fails if that JSON loses something else.
 */
const storedResult = (
  success: Schema.Top,
  value: unknown
): Effect.Effect<StoredResult, Schema.SchemaError, unknown> => {
  const encoded = Schema.encodeUnknownEffect(Schema.toCodecJson(success))(value)
  return Effect.catch(
    Effect.map(encoded, (json) => json === undefined ? undefinedResult : { value: json as Schema.Json }),
    (error) =>
      Effect.flatMap(Schema.encodeUnknownEffect(success)(value), (plain) =>
        plain === undefined
          ? Effect.succeed(undefinedResult)
          : Option.match(toJson(plain), {
            onNone: () => Effect.fail(error),
            onSome: (json) => Effect.succeed({ value: json })
          }))
  )
}

/** The outcome of an attempt, in a form that can be stored; none if the outcome is unknown. */
export const storedOutcome = (
  success: Schema.Top,
  exit: Exit.Exit<unknown, unknown>,
  record: CallRecord
): Effect.Effect<Outcome | undefined, Schema.SchemaError, unknown> => {
  if (Exit.isSuccess(exit)) {
    return Effect.map(
      storedResult(success, exit.value),
      (result): Outcome => ({ _tag: "Result", ...result, ...marksOf(record) })
    )
  }
  const error = exit.cause.reasons.length === 1 ? exit.cause.reasons.find(Cause.isFailReason)?.error : undefined
  if (error instanceof Pending) {
    return Effect.succeed({
      _tag: "Pending",
      taskId: error.taskId,
      ...(error.retryAfter === undefined ? undefined : { retryAfterMillis: Duration.toMillis(error.retryAfter) }),
      ...marksOf(record)
    })
  }
  if (error instanceof PartialSuccess) {
    return Effect.map(
      json({ succeeded: error.succeeded, failed: error.failed }),
      (parts) => ({ _tag: "PartialSuccess", ...(parts as object), ...marksOf(record) }) as Outcome
    )
  }
  return Effect.undefined
}

/** The outcome of an earlier call, as this call's own. */
export const replay = (
  record: CallRecord,
  fields: ErrorFields,
  success: Schema.Top,
  outcome: Outcome
): Effect.Effect<unknown, unknown, unknown> => {
  forgetDegraded(record)
  if (outcome.marks !== undefined) noteMarks(record, outcome.marks)
  switch (outcome._tag) {
    case "Result":
      return outcome.isUndefined === true
        ? Schema.decodeUnknownEffect(success)(undefined)
        : Schema.decodeUnknownEffect(Schema.toCodecJson(success))(outcome.value)
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
