/** Projections of an error for its three audiences: the model, the user and the operator. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Catalogue from "../../Catalogue.ts"
import { json, make as makeRedactor, Redaction, type Redactor, secrets as secretRules } from "../../Redaction.ts"
import { cutText, isLongerThan } from "../foundation/json/jsonShape.ts"
import { body } from "./errorBody.ts"
import { isFixed, isOfSchema, toolFailure, type UserTexts } from "./failures.ts"
import type { ToolFailure } from "./toolFailure.ts"

/** Length limit of a declared text, and of the parts of a partial success together, in characters. */
const maxText = 4_000
const maxParts = 16_000

/** @internal The model's text of a failure, redacted. */
export const shownToModel = (redactor: Redactor, failure: ToolFailure): string =>
  isFixed(failure) || isOfSchema(failure)
    ? failure.message_for_model
    : cutText(redactor.text(failure.message_for_model), maxText)

/** The parts of a partial success that the model reads: as many of the first as fit. */
const listed = <Part>(redactor: Redactor, parts: ReadonlyArray<Part>): ReadonlyArray<Part> => {
  let count = parts.length
  while (count > 0 && isLongerThan(parts.slice(0, count), maxParts)) count = Math.floor(count / 2)
  return parts.slice(0, count).map((part) => json(redactor, part) as Part)
}

/**
 * @internal Redacts a failure. Fixed sentences of the code, texts made of a schema alone, and instructions of this
 * library do not change.
 */
export const redacted = (redactor: Redactor, failure: ToolFailure, user: UserTexts): ToolFailure => ({
  ...failure,
  message_for_model: shownToModel(redactor, failure),
  ...(failure.message_for_user === user(failure.code)
    ? undefined
    : { message_for_user: cutText(redactor.text(failure.message_for_user), maxText) }),
  ...(failure.succeeded === undefined
    ? undefined
    : { succeeded: listed(redactor, failure.succeeded) }),
  ...(failure.failed === undefined
    ? undefined
    : { failed: listed(redactor, failure.failed) })
})

/** @internal The user's texts in the language that is set. */
export const userTextsOf = (context: Context.Context<never>): UserTexts => {
  const catalogue = Context.get(context, Catalogue.Catalogue)
  const locale = Context.get(context, Catalogue.Locale)
  return (code) => Catalogue.text(catalogue, locale, code)
}

/**
 * The user's texts in the language that is set.
 *
 * @category accessors
 * @since 0.2.0
 */
export const userTexts: Effect.Effect<UserTexts> = Effect.contextWith((context: Context.Context<never>) =>
  Effect.succeed(userTextsOf(context))
)

/**
 * Returns the model's projection of an error, redacted and with the user's text in the user's language.
 *
 * @category accessors
 * @since 0.2.0
 */
export const forModel = (error: unknown, traceId: string): Effect.Effect<ToolFailure> =>
  Effect.flatMap(
    userTexts,
    (user) => Effect.map(Redaction, (redactor) => redacted(redactor, toolFailure(error, traceId, user), user))
  )

/**
 * Projection of an error for a user: of a tool's, or of the one that ended a run.
 *
 * @category models
 * @since 0.2.0
 */
export interface UserProjection {
  readonly code: string
  readonly message: string
  readonly trace_id: string
  readonly retry_after_ms?: number
}

/**
 * Returns the user's projection of an error, in the user's language.
 *
 * **Example** (A run that failed, in Chinese)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Catalogue, ErrorProjection } from "@recourse/core"
 *
 * const error = new Error("ECONNREFUSED 10.0.0.7:5432")
 *
 * await Effect.runPromise(
 *   ErrorProjection.forUser(error, "run-1").pipe(
 *     Effect.map((projection) => projection.message),
 *     Effect.provide(Catalogue.layerLocale("zh"))
 *   )
 * ) // => "出现问题，请稍后再试。"
 * ```
 *
 * @category accessors
 * @since 0.2.0
 */
export const forUser = (error: unknown, traceId: string): Effect.Effect<UserProjection> =>
  Effect.map(forModel(error, traceId), ({ code, message_for_user, retry_after_ms }) => ({
    code,
    message: message_for_user,
    trace_id: traceId,
    ...(retry_after_ms === undefined ? undefined : { retry_after_ms })
  }))

/**
 * Projection for an operator: the code, the tag, and all known facts. Not for models, users or spans.
 *
 * @category models
 * @since 0.2.0
 */
export interface OperatorProjection {
  readonly code: string
  readonly error: string
  readonly trace_id: string
  /** The cause as it is. */
  readonly cause: Cause.Cause<unknown>
  /** The cause as text, with secrets taken out; stack traces and paths are left in. */
  readonly text: string
}

const secretsOnly = makeRedactor({ rules: secretRules })

/** Why an error came about that keeps that in `reason` alone: `Cause.pretty` prints causes. */
const reasonWithoutCause = (error: unknown): unknown =>
  typeof error === "object" && error !== null && "reason" in error && !("cause" in error && error.cause !== undefined)
    ? error.reason
    : undefined

/**
 * Returns the operator's projection of a cause.
 *
 * @category getters
 * @since 0.2.0
 */
export const forOperator = (
  cause: Cause.Cause<unknown>,
  traceId: string,
  redactor: Redactor = secretsOnly
): OperatorProjection => {
  const fail = cause.reasons.find(Cause.isFailReason)
  const error: unknown = fail?.error
  const reason = reasonWithoutCause(error)
  const parts = [Cause.pretty(cause), ...(reason === undefined ? [] : [`reason: ${Cause.pretty(Cause.fail(reason))}`])]
  return {
    code: body(error).code,
    error: typeof error === "object" && error !== null && "_tag" in error
      ? redactor.text(String(error._tag))
      : "Defect",
    trace_id: traceId,
    cause,
    text: redactor.text(parts.join("\n"), traceId)
  }
}
