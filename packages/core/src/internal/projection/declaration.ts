/** Annotations of a tool's `failure` schema: its texts for others. */
import * as Duration from "effect/Duration"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as Catalogue from "../../Catalogue.ts"
import type { Declared } from "../../ToolError.ts"

/**
 * The annotation of an error's schema with the model's text.
 *
 * @category annotations
 * @since 0.2.0
 */
export const ModelText = "@recourse/core/ModelText" as const

/**
 * The annotation of an error's schema with the user's text.
 *
 * @category annotations
 * @since 0.2.0
 */
export const UserText = "@recourse/core/UserText" as const

/**
 * The annotation of an error's schema that gives its code.
 *
 * @category annotations
 * @since 0.2.0
 */
export const Code = "@recourse/core/Code" as const

/**
 * The annotation of an error's schema that says when the same call may be made again.
 *
 * @category annotations
 * @since 0.2.0
 */
export const RetryAfter = "@recourse/core/RetryAfter" as const

/**
 * The annotation of an error's schema with its meaning for a write.
 *
 * @category annotations
 * @since 0.2.0
 */
export const Outcome = "@recourse/core/Outcome" as const

/** The annotation of an error's schema that says whether the same call may succeed later. */
const Transient = "@recourse/core/Transient" as const

/**
 * Texts by language, or one for all.
 *
 * @category models
 * @since 0.2.0
 */
export type Localised = string | Readonly<Record<string, string>>

/**
 * Declarations of an error's schema for others.
 *
 * @category models
 * @since 0.2.0
 */
export interface Declaration<in E> {
  /** A code of the decision table, such as `not_found` or `rate_limited`, or one of your own. */
  readonly code?: string | undefined
  /** The model's text. Default: a fixed sentence for the code. */
  readonly model?: string | ((error: E) => string) | undefined
  /** The user's text. Default: the catalogue's sentence for the code. */
  readonly user?: Localised | ((error: E) => Localised) | undefined
  /**
   * True if the same call may succeed later, so that recovery retries it. Default: by the decision table of codes
   * (`timeout`, `rate_limited`, `upstream_error` and `circuit_open` may). For a code of your own: true if there is a
   * `retryAfter`.
   */
  readonly transient?: boolean | undefined
  readonly retryAfter?: ((error: E) => Duration.Input | undefined) | undefined
  /**
   * Meaning of the error for a write. `"not_done"`: it was certainly not done, so the call is an `ExecutionError`, and
   * its idempotency key is free again. `"unknown"`: the outcome is unknown; `model` and `user` are read with the
   * `OutcomeUnknown`. Default: unknown, with the fixed sentences. Reads and idempotent tools need none.
   */
  readonly outcome?: "not_done" | "unknown" | undefined
}

/**
 * Returns the annotations that declare the public texts of an error: for the schema of an error class, or any schema in
 * a tool's `failure`.
 *
 * **Example** (The model and the user may know which order)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { ErrorProjection, Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * class NoOrder extends Schema.TaggedError<NoOrder>()("NoOrder", { id: Schema.String, table: Schema.String },
 *   ErrorProjection.declare<{ readonly id: string }>({
 *     code: "not_found",
 *     model: ({ id }) => `There is no order ${id}.`,
 *     user: ({ id }) => ({ en: `I could not find order ${id}.`, zh: `未找到订单 ${id}。` })
 *   })
 * ) {}
 *
 * const Find = Tool.make("find", {
 *   parameters: Schema.Struct({ id: Schema.String }),
 *   success: Schema.String,
 *   failure: NoOrder,
 *   execute: ({ id }) => Effect.fail(new NoOrder({ id, table: "crm.orders" }))
 * }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
 *
 * const escalation = await Effect.runPromise(
 *   Effect.flip(Find.call).pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { id: "7" } }))
 *   )
 * )
 * ErrorProjection.toolFailure(escalation, "run-1").message_for_model // => "There is no order 7."
 * ```
 *
 * @category annotations
 * @since 0.2.0
 */
export const declare = <E>(declaration: Declaration<E>): { readonly [annotation: string]: unknown } => ({
  [Code]: declaration.code,
  [ModelText]: declaration.model,
  [UserText]: declaration.user,
  [Transient]: declaration.transient,
  [RetryAfter]: declaration.retryAfter,
  [Outcome]: declaration.outcome
})

const members = (ast: SchemaAST.AST): ReadonlyArray<SchemaAST.AST> =>
  SchemaAST.isUnion(ast) ? ast.types.flatMap(members) : [ast]

const called = (u: unknown, error: unknown): unknown => typeof u === "function" ? u(error) : u

const localised = (u: unknown, locale: string): string | undefined => {
  if (typeof u === "string") return u
  if (typeof u !== "object" || u === null) return undefined
  const text = Catalogue.pick(u as Readonly<Record<string, unknown>>, locale)
  return typeof text === "string" ? text : undefined
}

/** Codes of the decision table after which the same call may be made again, if the tool may be repeated. */
const transientCodes = new Set(["timeout", "rate_limited", "upstream_error", "circuit_open"])

/** Codes of the decision table after which the same call fails again. */
const permanentCodes = new Set([
  "invalid_arguments",
  "missing_required_field",
  "tool_not_found",
  "not_found",
  "permission_denied",
  "approval_required",
  "approval_expired",
  "partial_success",
  "outcome_unknown",
  "idempotency_conflict",
  "unsafe_output",
  "authentication",
  "execution_error"
])

/** True if the same call may succeed later. */
export const isTransient = ({ code, retryAfter, transient }: Declared): boolean =>
  transient ?? (transientCodes.has(code) || (!permanentCodes.has(code) && retryAfter !== undefined))

/**
 * @internal The codes that a failure schema declares, in its order, each once. A declaration without a code has the
 * general one.
 */
export const codesOf = (failure: Schema.Top | undefined): ReadonlyArray<string> => {
  if (failure === undefined) return []
  const declared = members(failure.ast).flatMap(({ annotations = {} }) => {
    const says = [Code, ModelText, UserText, RetryAfter, Transient, Outcome].some((key) =>
      annotations[key] !== undefined
    )
    return says ? [typeof annotations[Code] === "string" ? annotations[Code] : "execution_error"] : []
  })
  return [...new Set(declared)]
}

/** @internal Declaration of an error in a failure schema. A declaration that throws declares nothing of it. */
export const declaredBy = (
  failure: Schema.Top | undefined,
  error: unknown,
  locale: string,
  repeatable: boolean
): Declared | undefined => {
  if (failure === undefined) return undefined
  try {
    for (const ast of members(failure.ast)) {
      if (!Schema.is(Schema.make<Schema.Top>(ast))(error)) continue
      const annotations = ast.annotations ?? {}
      const code = annotations[Code]
      const model = called(annotations[ModelText], error)
      const user = localised(called(annotations[UserText], error), locale)
      const after = called(annotations[RetryAfter], error) as Duration.Input | undefined
      const transient = annotations[Transient] as boolean | undefined
      const outcome = annotations[Outcome] as Declared["outcome"] | undefined
      if ([code, model, user, after, transient, outcome].every((said) => said === undefined)) continue
      return {
        code: typeof code === "string" ? code : "execution_error",
        ...(typeof model === "string" ? { model } : undefined),
        ...(user === undefined ? undefined : { user }),
        ...(after === undefined
          ? undefined
          : { retryAfter: Math.ceil(Duration.toMillis(Duration.fromInputUnsafe(after))) }),
        ...(transient === undefined ? undefined : { transient }),
        ...(outcome === undefined ? undefined : { outcome }),
        repeatable
      }
    }
  } catch {
    return undefined
  }
  return undefined
}

// --- the table ------------------------------------------------------------------------------------------------------
