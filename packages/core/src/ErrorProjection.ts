/**
 * The one place where a failure becomes what a model, a user and an operator are told.
 *
 * Opaque by default: an executor's own error, a defect or a cause gives a code, a fixed sentence and the id of the run.
 * What a model or a user reads beyond that is what the program declared for it: field paths and expectations of schemas,
 * escalations, and the texts of a tool's `failure` schema. Declared text goes through the `Redaction` as well.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import * as AiError from "effect/ai/AiError"
import * as Catalogue from "./Catalogue.ts"
import { json, make as makeRedactor, Redaction, type Redactor, secrets as secretRules } from "./Redaction.ts"
import { type AgentException, type Declared, type Escalated, Issue, Severity, type ToolError } from "./ToolError.ts"

/** What stands in a tool result that is a failure. */
export const ToolFailure = Schema.Struct({
  status: Schema.Literal("error"),
  /** Machine-readable, such as `invalid_arguments`, `timeout`, `outcome_unknown`. */
  code: Schema.String,
  message_for_model: Schema.String,
  message_for_user: Schema.String,
  /** Whether the same call may be made again without doing anything twice. */
  safe_to_retry: Schema.Boolean,
  /** The run, for finding it in logs and traces. */
  trace_id: Schema.String,
  /** The first field that is wrong. */
  field: Schema.optionalKey(Schema.String),
  /** What the model is to do now. */
  instruction: Schema.optionalKey(Schema.String),
  /** How long not to call again. */
  retry_after_ms: Schema.optionalKey(Schema.Int),
  /** The parts that were done, and those that were not, of a `partial_success`. */
  succeeded: Schema.optionalKey(Schema.Array(Schema.Unknown)),
  failed: Schema.optionalKey(
    Schema.Array(Schema.Struct({ item: Schema.Unknown, code: Schema.String, reason: Schema.String }))
  ),
  issues: Schema.optionalKey(Schema.Array(Issue)),
  severity: Schema.optionalKey(Severity),
  available_tools: Schema.optionalKey(Schema.Array(Schema.String)),
  /** The untrusted tool that the message is from. */
  untrusted: Schema.optionalKey(Schema.String)
})

/** What stands in a tool result that is a failure. */
export type ToolFailure = typeof ToolFailure.Type

// --- declared text --------------------------------------------------------------------------------------------------

/** The annotation of an error's schema that says what the model may read of it. */
export const ModelText = "@recourse/core/ModelText" as const

/** The annotation of an error's schema that says what the user may read of it. */
export const UserText = "@recourse/core/UserText" as const

/** The annotation of an error's schema that gives its code. */
export const Code = "@recourse/core/Code" as const

/** The annotation of an error's schema that says when the same call may be made again. */
export const RetryAfter = "@recourse/core/RetryAfter" as const

/** Texts by language, or one for all. */
export type Localised = string | Readonly<Record<string, string>>

/** What an error's schema declares for others. */
export interface Declaration<in E> {
  /** A code of the decision table, such as `not_found` or `rate_limited`, or one of your own. */
  readonly code?: string | undefined
  /** What the model may read. Default: a fixed sentence for the code. */
  readonly model?: string | ((error: E) => string) | undefined
  /** What the user may read. Default: the catalogue's sentence for the code. */
  readonly user?: Localised | ((error: E) => Localised) | undefined
  readonly retryAfter?: ((error: E) => Duration.Input | undefined) | undefined
}

/**
 * The annotations that declare what others may read of an error: for the schema of an error class, or any schema in a
 * tool's `failure`.
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
 */
export const declare = <E>(declaration: Declaration<E>): { readonly [annotation: string]: unknown } => ({
  [Code]: declaration.code,
  [ModelText]: declaration.model,
  [UserText]: declaration.user,
  [RetryAfter]: declaration.retryAfter
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

/** Codes of failures after which the same call may be made again, if the tool may be repeated. */
const transient = new Set(["timeout", "rate_limited", "upstream_error", "circuit_open"])

/** @internal What a failure schema declares of an error. A declaration that throws declares nothing. */
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
      if (code === undefined && model === undefined && user === undefined && after === undefined) continue
      return {
        code: typeof code === "string" ? code : "execution_error",
        ...(typeof model === "string" ? { model } : undefined),
        ...(user === undefined ? undefined : { user }),
        ...(after === undefined
          ? undefined
          : { retryAfter: Math.ceil(Duration.toMillis(Duration.fromInputUnsafe(after))) }),
        repeatable
      }
    }
  } catch {
    return undefined
  }
  return undefined
}

// --- the table ------------------------------------------------------------------------------------------------------

interface Entry {
  readonly model: string
  readonly safe?: boolean
  readonly instruction?: string
}

/** What the model is told by the code alone. */
const entries: Readonly<Record<string, Entry>> = {
  timeout: {
    model: "The tool did not answer in time.",
    instruction: "Try again later or another way."
  },
  outcome_unknown: {
    model: "No answer came back. What the tool was asked to do may have happened.",
    instruction: "Do not call again. Check first whether it happened."
  },
  idempotency_conflict: {
    model: "Not done: the same key was used before with other arguments. The state is uncertain."
  },
  ledger_unavailable: {
    model: "Not done: the call could not be recorded. Nothing has happened.",
    safe: true,
    instruction: "Try again later or another way."
  },
  circuit_open: {
    model: "The tool is temporarily unavailable.",
    safe: true,
    instruction: "Do not call it now. Go on without it, or another way."
  },
  invalid_result: { model: "The tool ran, but its result cannot be used." },
  not_found: { model: "It was not found." },
  permission_denied: {
    model: "This call is not allowed.",
    instruction: "Do not make this call again. Go on without it."
  },
  approval_required: { model: "This call was not made: it waits for an approval." },
  rate_limited: { model: "The service limits how often it may be called.", instruction: "Try again later." },
  upstream_error: { model: "A service that the tool needs is down.", instruction: "Try again later or another way." },
  authentication: { model: "The tool is not available.", instruction: "Go on without it." },
  unsafe_output: { model: "The output of the tool was blocked as unsafe.", instruction: "Go on without it." },
  exception: { model: "The run ends." },
  execution_error: { model: "Tool execution failed." }
}

/** What to do about a write that may have happened, and whose key is made of its arguments. */
const sameArguments = "The same call with the same arguments is never done twice: it is safe to make it again. " +
  "Do not change the arguments before you know whether it happened."

type Body = Omit<ToolFailure, "status" | "trace_id" | "message_for_user"> & { readonly message_for_user?: string }

const byCode = (code: string, model?: string): Body => {
  const entry = entries[code] ?? entries["execution_error"]!
  return {
    code,
    message_for_model: model ?? entry.model,
    safe_to_retry: entry.safe ?? false,
    ...(entry.instruction === undefined ? undefined : { instruction: entry.instruction })
  }
}

const pathOf = (issue: Issue): string => issue.path.join(".")

const describe = (issues: ReadonlyArray<Issue>): string =>
  issues.map((issue) => issue.path.length === 0 ? issue.expected : `${pathOf(issue)}: ${issue.expected}`).join("; ")

const invalidArguments = (issues: ReadonlyArray<Issue>): Body => {
  const first = issues.find((issue) => issue.path.length > 0)
  return {
    code: issues.every((issue) => issue.problem === "missing") ? "missing_required_field" : "invalid_arguments",
    message_for_model: `The arguments do not fit: ${describe(issues)}`,
    safe_to_retry: true,
    instruction: "Call again with corrected arguments.",
    issues,
    ...(first === undefined ? undefined : { field: pathOf(first) })
  }
}

const declaredBody = (declared: Declared): Body => ({
  ...byCode(declared.code, declared.model),
  safe_to_retry: declared.repeatable && transient.has(declared.code),
  ...(declared.user === undefined ? undefined : { message_for_user: declared.user }),
  ...(declared.retryAfter === undefined ? undefined : { retry_after_ms: declared.retryAfter })
})

const modelErrors: Partial<Record<AiError.AiErrorReason["_tag"], string>> = {
  RateLimitError: "rate_limited",
  QuotaExhaustedError: "rate_limited",
  AuthenticationError: "authentication",
  InternalProviderError: "upstream_error",
  NetworkError: "upstream_error",
  ContentPolicyError: "unsafe_output"
}

const body = (error: unknown): Body => {
  if (AiError.isAiError(error)) return byCode(modelErrors[error.reason._tag] ?? "execution_error")
  const known = error as
    | ToolError
    | Escalated
    | AgentException
    | { readonly _tag: "BudgetExceeded" | "ApprovalRequired" | "NotApproved" }
  switch (known?._tag) {
    case "InvalidArgs":
      return invalidArguments(known.issues)
    case "Timeout":
      return {
        ...byCode(known.mayHaveHappened === true ? "outcome_unknown" : "timeout"),
        ...(known.repeatable !== true ? undefined : { safe_to_retry: true }),
        ...(known.repeatable === true && known.mayHaveHappened === true ? { instruction: sameArguments } : undefined)
      }
    case "OutcomeUnknown":
      return byCode("outcome_unknown")
    case "IdempotencyConflict":
      return byCode("idempotency_conflict")
    case "LedgerUnavailable":
      return byCode("ledger_unavailable")
    case "CircuitOpen":
      return {
        ...byCode("circuit_open"),
        retry_after_ms: Math.ceil(Duration.toMillis(known.retryAfter)),
        instruction: `Do not call it before ${new Date(known.until).toISOString()}. Go on without it, or another way.`
      }
    case "PartialSuccess":
      return {
        code: "partial_success",
        message_for_model: `${known.succeeded.length} parts were done and ${known.failed.length} were not.`,
        safe_to_retry: false,
        instruction: "Do not repeat what was done. Decide about each part that was not.",
        succeeded: known.succeeded,
        failed: known.failed
      }
    case "InvalidResult":
      return byCode("invalid_result")
    case "ExecutionError":
      return known.declared === undefined ? byCode("execution_error") : declaredBody(known.declared)
    case "BudgetExceeded":
      return byCode("budget_exceeded")
    case "ApprovalRequired":
    case "NotApproved":
      return byCode("approval_required")
    case "Escalation": {
      const inner = known.error === undefined ? undefined : body(known.error)
      const user = inner?.message_for_user
      return {
        ...(inner?.code === known.code ? inner : {
          safe_to_retry: inner?.safe_to_retry ?? false,
          ...(user === undefined ? undefined : { message_for_user: user })
        }),
        code: known.code,
        message_for_model: known.reason,
        severity: known.severity
      }
    }
    case "Escalated":
      return { code: "escalated", message_for_model: known.reason, safe_to_retry: false }
    case "AgentException":
      return byCode("exception")
    default:
      return byCode("execution_error")
  }
}

// --- the projections ------------------------------------------------------------------------------------------------

/** What the user is told by the code alone. */
export type UserTexts = (code: string) => string

const english: UserTexts = (code) => Catalogue.text({ en: Catalogue.en }, "en", code)

const complete = (body: Body, traceId: string, user: UserTexts = english): ToolFailure => ({
  status: "error",
  ...body,
  message_for_user: body.message_for_user ?? user(body.code),
  trace_id: traceId
})

/**
 * What a model is told of an error that ended a tool call; the user's text in English unless `user` says it.
 *
 * **Example** (An executor's error stays opaque)
 *
 * ```ts
 * import { ErrorProjection, ToolError } from "@recourse/core"
 *
 * const error = new ToolError.ExecutionError({
 *   tool: "query",
 *   callId: "c1",
 *   attempt: 1,
 *   causes: [],
 *   reason: new Error("connect postgres://root:hunter2@10.0.0.7")
 * })
 *
 * ErrorProjection.toolFailure(error, "run-1").message_for_model // => "Tool execution failed."
 * ```
 */
export const toolFailure = (error: unknown, traceId: string, user?: UserTexts): ToolFailure =>
  complete(body(error), traceId, user)

/** A call of a tool that the agent does not have. */
export const toolNotFound = (
  name: string,
  available: ReadonlyArray<string>,
  traceId: string,
  user?: UserTexts
): ToolFailure =>
  complete(
    {
      code: "tool_not_found",
      message_for_model: `There is no tool "${name}".`,
      safe_to_retry: false,
      instruction: "Use one of the available tools.",
      available_tools: available
    },
    traceId,
    user
  )

/** A call that was not run because the run ended before its turn, or while it ran. */
export const notRun = (started: boolean, traceId: string, user?: UserTexts): ToolFailure =>
  complete(
    {
      code: "not_run",
      message_for_model: started
        ? "Not finished: the run ended while the tool was running."
        : "Not run: the run ended before.",
      safe_to_retry: !started
    },
    traceId,
    user
  )

/** A call that a policy denied. The policy's reason is for the audit. */
export const denied = (traceId: string, user?: UserTexts): ToolFailure =>
  complete(byCode("permission_denied"), traceId, user)

/** A call that a person rejected, with that person's reason. */
export const rejected = (reason: string, traceId: string, user?: UserTexts): ToolFailure =>
  complete(byCode("permission_denied", `A person rejected this call: ${reason}`), traceId, user)

/** Output that a guard blocked: a fixed notice and an id to refer to. */
export const blocked = (referenceId: string, traceId: string, user?: UserTexts): ToolFailure =>
  complete(
    byCode("unsafe_output", `${entries["unsafe_output"]!.model} Reference: ${referenceId}`),
    traceId,
    user
  )

/** @internal Whether the model's text is the fixed sentence of the code. */
export const isFixed = ({ code, message_for_model }: ToolFailure): boolean =>
  message_for_model === (entries[code] ?? entries["execution_error"]!).model

/** A call that waits for an approval. */
export const waiting = (traceId: string, user?: UserTexts): ToolFailure =>
  complete(byCode("approval_required"), traceId, user)

/** The same call with the same arguments failed in the same way too often. */
export const repeatedCall = (times: number, code: string, traceId: string, user?: UserTexts): ToolFailure =>
  complete(
    {
      code: "repeated_call",
      message_for_model: `This call failed ${times} times with the same arguments and the same error (${code}).`,
      safe_to_retry: false,
      instruction: "Do not make this call again. Change the arguments, use another tool, or answer without it."
    },
    traceId,
    user
  )

/** @internal Takes out of a failure what must not be shown. The fixed sentences of the code are as they are. */
export const redacted = (redactor: Redactor, failure: ToolFailure, user: UserTexts): ToolFailure => ({
  ...failure,
  ...(isFixed(failure) ? undefined : { message_for_model: redactor.text(failure.message_for_model) }),
  ...(failure.message_for_user === user(failure.code)
    ? undefined
    : { message_for_user: redactor.text(failure.message_for_user) }),
  ...(failure.succeeded === undefined
    ? undefined
    : { succeeded: failure.succeeded.map((part) => json(redactor, part)) }),
  ...(failure.failed === undefined
    ? undefined
    : { failed: failure.failed.map((part) => json(redactor, part) as typeof part) }),
  ...(failure.instruction === undefined || failure.instruction === entries[failure.code]?.instruction
    ? undefined
    : { instruction: redactor.text(failure.instruction) })
})

/** @internal The user's texts in the language that is set. */
export const userTextsOf = (context: Context.Context<never>): UserTexts => {
  const catalogue = Context.get(context, Catalogue.Catalogue)
  const locale = Context.get(context, Catalogue.Locale)
  return (code) => Catalogue.text(catalogue, locale, code)
}

/** The user's texts in the language that is set. */
export const userTexts: Effect.Effect<UserTexts> = Effect.contextWith((context: Context.Context<never>) =>
  Effect.succeed(userTextsOf(context))
)

/** What a model is told of an error, redacted and with the user's text in the user's language. */
export const forModel = (error: unknown, traceId: string): Effect.Effect<ToolFailure> =>
  Effect.flatMap(
    userTexts,
    (user) => Effect.map(Redaction, (redactor) => redacted(redactor, toolFailure(error, traceId, user), user))
  )

/** What a user is told of an error: of a tool's, or of the one that ended a run. */
export interface UserProjection {
  readonly code: string
  readonly message: string
  readonly trace_id: string
  readonly retry_after_ms?: number
}

/**
 * What a user is told of an error, in the user's language.
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
 */
export const forUser = (error: unknown, traceId: string): Effect.Effect<UserProjection> =>
  Effect.map(forModel(error, traceId), ({ code, message_for_user, retry_after_ms }) => ({
    code,
    message: message_for_user,
    trace_id: traceId,
    ...(retry_after_ms === undefined ? undefined : { retry_after_ms })
  }))

/** What an operator is told: the code, the tag, and everything that is known. Not for models, users or spans. */
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

/** What an operator is told of a cause. */
export const forOperator = (
  cause: Cause.Cause<unknown>,
  traceId: string,
  redactor: Redactor = secretsOnly
): OperatorProjection => {
  const fail = cause.reasons.find(Cause.isFailReason)
  const error: unknown = fail?.error
  const reason = typeof error === "object" && error !== null && "reason" in error ? error.reason : undefined
  const parts = [Cause.pretty(cause), ...(reason === undefined ? [] : [`reason: ${Cause.pretty(Cause.fail(reason))}`])]
  return {
    code: body(error).code,
    error: typeof error === "object" && error !== null && "_tag" in error ? String(error._tag) : "Defect",
    trace_id: traceId,
    cause,
    text: redactor.text(parts.join("\n"))
  }
}
