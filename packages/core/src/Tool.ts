/**
 * Tools: Effects that read their call from context.
 *
 * `tool.call` is an ordinary Effect that needs a `ToolCall`. Recovery is declared next to the tool with ordinary Effect
 * operators, by {@link onError}; what is left in its error type is what can still end a run.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Function from "effect/Function"
import type * as Pipeable from "effect/Pipeable"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import type * as Types from "effect/Types"
import * as AiTool from "effect/ai/Tool"
import { pipeArguments } from "effect/Pipeable"
import type { Decision, DecisionRefused, SnapshotRefused } from "./Approval.ts"
import { ConfigurationError } from "./ConfigurationError.ts"
import { ToolFailure } from "./ErrorProjection.ts"
import type { IdempotencyLedger } from "./IdempotencyLedger.ts"
import * as Attempt from "./internal/call/attempt.ts"
import { errorFields, type ToolInfo, toolName } from "./internal/call/record.ts"
import { type Idempotency, settle } from "./internal/call/oncePerKey.ts"
import { provide } from "./internal/foundation/provideService.ts"
import { after, CurrentRun } from "./internal/run/run.ts"
import { fromIssue } from "./internal/foundation/schemaIssues.ts"
import { escalate as escalateArguments } from "./internal/recovery/escalate.ts"
import { fromOptions, type IdempotencyOptions } from "./internal/recovery/idempotent.ts"
import type { TagOf } from "./internal/foundation/errorTags.ts"
import { type Call, mayRunAgain, ToolCall } from "./ToolCall.ts"
import {
  AgentException,
  Escalated,
  type Escalation,
  type ExecutionError,
  type IdempotencyConflict,
  type InvalidArgs,
  InvalidResult,
  type LedgerUnavailable,
  NotApproved,
  type OutcomeUnknown,
  Severity,
  type Timeout
} from "./ToolError.ts"

/** The brand of tools. */
export const TypeId = "~@recourse/core/Tool" as const

/**
 * How repeatable a tool is.
 *
 * - `"read"`: has no side effects. May be retried.
 * - `"idempotent"`: running it twice does what running it once does. May be retried.
 * - `"write"`: an attempt that reached the executor is never followed by another one, whatever recovery asks for, unless
 *   the tool declares `idempotency`.
 *
 * Left out: only the tool's own recovery ({@link onError}) may repeat it.
 */
export type Effects = "read" | "idempotent" | "write"

/** A tool: what the model is told of it, and the Effect that is one call of it. */
export interface Tool<
  out Name extends string,
  out Parameters extends Schema.Top,
  out Success extends Schema.Top,
  out E,
  out R
> extends Pipeable.Pipeable {
  readonly [TypeId]: typeof TypeId
  readonly name: Name
  readonly description: string | undefined
  readonly parameters: Parameters
  readonly success: Success
  readonly effects: Effects | undefined
  readonly trust: Trust
  /** The definition in terms of `effect/ai`: what providers, MCP servers and JSON Schema are made from. */
  readonly definition: AiTool.Any
  /** One call: attempts, the tool's own recovery, and the check of the result, in this order. */
  readonly call: Effect.Effect<Success["Type"], E, ToolCall | R>
  /** @internal The call with its own recovery, before its result is checked. */
  readonly recovered: Effect.Effect<unknown, unknown, unknown>
  /** @internal */
  readonly info: ToolInfo
  /** @internal Set where the tool is an agent that may wait: whether it goes on with a snapshot as was decided. */
  readonly resumes?: Resumes | undefined
  /** @internal The tool that tells the state of this one's tasks, under the same recovery. */
  readonly status: Any | undefined
}

/** @internal Fails where a snapshot or decisions about it cannot be used. Runs nothing. */
export type Resumes = (
  snapshot: unknown,
  decisions: ReadonlyArray<Decision>
) => Effect.Effect<unknown, SnapshotRefused | DecisionRefused, unknown>

/** Any tool. */
export interface Any extends Tool<string, Schema.Top, Schema.Top, unknown, unknown> {}

/** The errors that a tool leaves. */
export type Error<T> = T extends Tool<infer _N, infer _P, infer _S, infer E, infer _R> ? E : never

/** The services that a tool needs, its `ToolCall` apart. */
export type Services<T> = T extends Tool<infer _N, infer _P, infer _S, infer _E, infer R> ? R : never

/** What a tool answers. */
export type Success<T> = T extends Tool<infer _N, infer _P, infer S, infer _E, infer _R> ? S["Type"] : never

/** What no recovery sees: results are checked behind it, and calls that wait for an approval go around it. */
export type BehindRecovery = InvalidResult | NotApproved

/** The call that recovery of a tool is given. */
export type CallOf<T> = T extends Tool<infer _N, infer _P, infer S, infer E, infer R>
  ? Effect.Effect<S["Type"], Exclude<E, BehindRecovery>, ToolCall | R>
  : never

/** Whether a tool may read what somebody else wrote: `"untrusted"` results reach models in an envelope. */
export type Trust = "trusted" | "untrusted"

/** Whether a call needs an approval, or what finds out. */
export type Approves = boolean | Effect.Effect<boolean, never, unknown>

/** What `needsApproval` may be: as in `effect/ai`, and an Effect. */
export type NeedsApproval<Params, A> = A | ((params: Params, context: { readonly toolCallId: string }) => A)

/** What `needsApproval` and `trust` add to what a call can fail with. */
export type ApprovalError<A, Tr> = [A] extends [undefined | false] ? Tr extends "untrusted" ? NotApproved : never
  : NotApproved

/** What `needsApproval` needs. */
export type ApprovalServices<A> = A extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

/** What the executor's error type becomes in the error type of the call. */
export type ExecuteError<D> =
  | Extract<D, Attempt.PassThrough>
  | ([Exclude<D, Attempt.PassThrough>] extends [never] ? never : ExecutionError<Exclude<D, Attempt.PassThrough>>)

/** What a timeout of one attempt becomes in the error type of the call. */
export type TimeoutError<Eff, T, Id = undefined> = [T] extends [undefined] ? never
  : Eff extends "write" ? undefined extends Id ? OutcomeUnknown : Timeout
  : Timeout

/** What `idempotency` may be. Left out, it is the whole of this type, which `undefined` is a part of. */
export type AnyIdempotency<P extends Schema.Top, S extends Schema.Top, D> =
  | true
  | IdempotencyOptions<P["Type"], S["Type"], TagOf<D>>
  | undefined

/** What `idempotency` adds to the error type of the call. */
export type IdempotencyError<Id> = undefined extends Id ? never
  : OutcomeUnknown | IdempotencyConflict | LedgerUnavailable

/** What `idempotency` needs. */
export type IdempotencyServices<Id, S extends Schema.Top> = undefined extends Id ? never
  :
    | IdempotencyLedger
    | S["DecodingServices"]
    | (Id extends { readonly reconcile: (...args: never) => Effect.Effect<infer _A, infer _E, infer R> } ? R : never)

/** The question for the state of a task. */
export type StatusOf<A> = (taskId: string) => Effect.Effect<A, unknown, unknown>

/** What `status` adds to the error type of the call: recovery is one for both. */
export type StatusError<St, T> = undefined extends St ? never :
  St extends (...args: never) => Effect.Effect<infer _A, infer D, infer _R> ? ExecuteError<D> | TimeoutError<"read", T>
  : never

/** What `status` needs. */
export type StatusServices<St> = undefined extends St ? never
  : St extends (...args: never) => Effect.Effect<infer _A, infer _E, infer R> ? R
  : never

/** The schema services that a tool needs. */
export type SchemaServices<P extends Schema.Top, S extends Schema.Top> = P["DecodingServices"] | S["EncodingServices"]

const Proto = {
  [TypeId]: TypeId,
  pipe() {
    return pipeArguments(this, arguments)
  }
}

/** Whether a value is a tool. */
export const isTool = (u: unknown): u is Any => Predicate.hasProperty(u, TypeId)

/** A checked result: the value, and what the model is given. */
export interface Checked<A> {
  readonly value: A
  readonly encoded: unknown
}

/** @internal Checks what a call answers. Fails with what recovery does not see. */
export type Check = (call: Call, value: unknown) => Effect.Effect<Checked<unknown>, unknown, unknown>

/** @internal Checks what calls answer against the tool's `success` schema. */
export const checked = ({ name, success }: Pick<Any, "name" | "success">): Check => {
  const encode = Schema.encodeUnknownEffect(success)
  return ({ record }, value) =>
    Effect.mapEager(
      Effect.catchEager(
        encode(value),
        ({ issue }) => Effect.fail(new InvalidResult({ ...errorFields(record), tool: name, issues: fromIssue(issue) }))
      ),
      (encoded) => ({ value, encoded: encoded ?? null })
    )
}

/** @internal A tool with its recovery, and what stands behind that. */
export interface Completable {
  readonly tool: Pick<Any, "info">
  /** A call with all its recovery. */
  readonly recovered: Any["recovered"]
  readonly check: Check
}

/** @internal Runs a call, recovered, and checks what it answers: behind all recovery, so it causes no further attempt. */
export const completed = (
  { check, recovered, tool }: Completable,
  call: Call
): ReturnType<Check> => {
  call.record.tool = tool.info
  return provide(
    Effect.flatMap(after(recovered, () => settle(call)), (value) => check(call, value)),
    ToolCall,
    call
  )
}

/** By hand, a call that may not run is a failure, whatever recovery made of it: there is no run that could wait. */
const byHand = ({ id, record }: Call, call: Effect.Effect<Checked<unknown>, unknown, unknown>) =>
  Effect.flatMap(Effect.exit(call), (exit): Effect.Effect<Checked<unknown>, unknown> =>
    record.stop === undefined
      ? exit
      : Effect.fail(new NotApproved({ tool: toolName(record), callId: id })))

const fromRecovered = (self: Omit<Any, "call" | "pipe" | typeof TypeId>): Any => {
  const { recovered } = self
  const completable = { tool: self, recovered, check: checked(self) }
  return Object.assign(Object.create(Proto), self, {
    call: Effect.flatMap(
      ToolCall,
      (call) => Effect.map(byHand(call, completed(completable, call)), (result) => result.value)
    )
  })
}

/** The parameters of a tool that tells the state of another one's tasks. */
const StatusParameters = Schema.Struct({
  task_id: Schema.String.annotate({ description: "The task_id that the tool answered" })
})

const namePattern = /^[a-zA-Z0-9_-]{1,64}$/

/**
 * Defines a tool.
 *
 * `execute` gets arguments that fit `parameters` and may fail with errors of its own, which stand in the call's error
 * type as `ExecutionError<D>`. `timeout` holds for one attempt, which is interrupted; it stands in the error type as
 * `Timeout`, or as `OutcomeUnknown` for writes without `idempotency`. Throws `ConfigurationError` for a name that models cannot call (letters,
 * digits, `_` and `-`, at most 64: the common rule of OpenAI's and Anthropic's tool APIs).
 *
 * **Example** (A tool that cannot fail in a way that ends a run)
 *
 * ```ts
 * import { Data, Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * class NotJson extends Data.TaggedError("NotJson") {}
 *
 * const CountKeys = Tool.make("count_keys", {
 *   description: "Counts the top-level keys of a JSON object",
 *   parameters: Schema.Struct({ json: Schema.String }),
 *   success: Schema.Int,
 *   effects: "read",
 *   execute: ({ json }) =>
 *     Effect.try({ try: () => Object.keys(JSON.parse(json)).length, catch: () => new NotJson() })
 * }).pipe(
 *   Tool.onError((call) =>
 *     call.pipe(
 *       Recovery.escalate("InvalidArgs"),
 *       Effect.catchTag("ExecutionError", () => Effect.succeed(0))
 *     )
 *   )
 * )
 *
 * const call = (json: string) => ToolCall.make({ id: "c1", arguments: { json } })
 *
 * await Effect.runPromise(CountKeys.call.pipe(Effect.provideService(ToolCall.ToolCall, call("{\"a\":1}")))) // => 1
 * await Effect.runPromise(CountKeys.call.pipe(Effect.provideService(ToolCall.ToolCall, call("{a:1}")))) // => 0
 * ```
 */
export const make = <
  const Name extends string,
  Parameters extends Schema.Top = typeof AiTool.EmptyParams,
  SuccessSchema extends Schema.Top = typeof Schema.Void,
  D = never,
  R = never,
  const Eff extends Effects | undefined = undefined,
  const T extends Duration.Input | undefined = undefined,
  const A extends Approves | undefined = undefined,
  const Tr extends Trust = "trusted",
  const Id extends AnyIdempotency<Parameters, SuccessSchema, D> = AnyIdempotency<Parameters, SuccessSchema, D>,
  St extends StatusOf<SuccessSchema["Type"]> | undefined = StatusOf<SuccessSchema["Type"]> | undefined
>(name: Name, options: {
  readonly description?: string | undefined
  readonly parameters?: Parameters | undefined
  readonly success?: SuccessSchema | undefined
  readonly effects?: Eff
  readonly timeout?: T
  /** Whether a person has to approve a call: always, or by its arguments. The run pauses. Default: no. */
  readonly needsApproval?: NeedsApproval<Parameters["Type"], A>
  /** `"untrusted"`: the results hold what somebody else wrote (web pages, mail, other people's tools). */
  readonly trust?: Tr
  /** The errors of `execute`, annotated with what may be said of them: see `ErrorProjection.declare`. */
  readonly failure?: Schema.Top | undefined
  readonly execute: (params: Parameters["Type"]) => Effect.Effect<SuccessSchema["Type"], D, R>
  /**
   * Calls are done once for each key, across retries and restarts. It says that `execute` passes `ToolCall.idempotencyKey`
   * on to a service that honours it: so a write may be repeated under its key, and its `timeout` is a `Timeout`. Needs an
   * `IdempotencyLedger`.
   */
  readonly idempotency?: Id
  /**
   * Tells the state of a task that `execute` has begun and answered `ToolCall.pending` for: its result, or
   * `ToolCall.pending` again. The model is offered it as the tool `{name}_status` once a task is pending. It is a read, under
   * the same recovery as the tool.
   */
  readonly status?: St
}): Tool<
  Name,
  // Where a tool is made in place, what it is for says nothing about what is left out.
  Types.NoInfer<Parameters>,
  Types.NoInfer<SuccessSchema>,
  | InvalidArgs
  | InvalidResult
  | ExecuteError<D>
  | TimeoutError<Eff, T, Id>
  | IdempotencyError<Id>
  | StatusError<St, T>
  | ApprovalError<A, Tr>,
  | Exclude<R | StatusServices<St> | ApprovalServices<A>, ToolCall>
  | SchemaServices<Parameters, SuccessSchema>
  | IdempotencyServices<Id, SuccessSchema>
> => {
  const parameters = options.parameters ?? AiTool.EmptyParams
  const success = options.success ?? Schema.Void
  return define({
    definition: AiTool.make(name, {
      description: options.description,
      parameters,
      success,
      failure: ToolFailure,
      failureMode: "return"
    }),
    effects: options.effects,
    timeout: options.timeout,
    needsApproval: options.needsApproval,
    trust: options.trust,
    failure: options.failure,
    execute: options.execute,
    idempotency: options.idempotency &&
      fromOptions(options.idempotency as true | IdempotencyOptions<never, unknown, string>),
    status: options.status
  }) as never
}

const approvalOf = (needs: NeedsApproval<never, Approves | undefined> | undefined): ToolInfo["needsApproval"] => {
  if (needs === undefined || needs === false) return undefined
  return (params, toolCallId) =>
    Effect.suspend(() => {
      const answer = typeof needs === "function" ? needs(params, { toolCallId }) : needs
      return Effect.isEffect(answer) ? answer : Effect.succeed(answer === true)
    })
}

/** @internal Makes a tool from a definition of `effect/ai`. */
export const define = (options: {
  readonly definition: AiTool.Any
  readonly effects: Effects | undefined
  readonly timeout: Duration.Input | undefined
  readonly needsApproval?: NeedsApproval<never, Approves | undefined> | undefined
  readonly trust?: Trust | undefined
  readonly failure?: Schema.Top | undefined
  readonly execute: (params: never) => Effect.Effect<unknown, unknown, unknown>
  readonly idempotency?: Idempotency | "never" | undefined
  readonly status?: StatusOf<unknown> | undefined
}): Any => {
  const { effects } = options
  const name: string = options.definition.name
  if (!namePattern.test(name)) {
    throw new ConfigurationError({
      subject: `Tool "${name}"`,
      problem: "a name is 1 to 64 letters, digits, underscores and hyphens"
    })
  }
  const timeout = options.timeout === undefined ? undefined : Duration.fromInputUnsafe(options.timeout)
  if (timeout !== undefined && !(Duration.toMillis(timeout) > 0)) {
    throw new ConfigurationError({ subject: `Tool "${name}"`, problem: "timeout must be longer than 0" })
  }
  const asked = options.needsApproval === undefined || options.definition.needsApproval !== undefined
    ? options.definition
    : options.definition.setNeedsApproval(
      (params, { toolCallId }) => (approvalOf(options.needsApproval)?.(params as never, toolCallId) ?? false) as never
    )
  const definition: AiTool.Any = effects === undefined ? asked : asked
    .annotate(AiTool.Readonly, effects === "read")
    .annotate(AiTool.Destructive, effects === "write")
    .annotate(AiTool.Idempotent, effects !== "write")
  let jsonSchema: unknown
  const info: ToolInfo = {
    name,
    description: definition.description,
    effects,
    jsonSchema: () => jsonSchema ??= AiTool.getJsonSchema(definition),
    needsApproval: approvalOf(options.needsApproval),
    failure: options.failure,
    untrusted: options.trust === "untrusted",
    passesKey: options.idempotency !== undefined && options.idempotency !== "never"
  }
  const { status } = options
  return fromRecovered({
    name,
    info,
    status: status && define({
      definition: AiTool.make(`${name}_status`, {
        description: `The state of a task that ${name} has begun`,
        parameters: StatusParameters,
        success: definition.successSchema,
        failure: ToolFailure,
        failureMode: "return"
      }),
      effects: "read",
      timeout: options.timeout,
      trust: options.trust,
      failure: options.failure,
      execute: ({ task_id }: typeof StatusParameters.Type) => status(task_id),
      idempotency: "never"
    }),
    description: definition.description,
    parameters: definition.parametersSchema,
    success: definition.successSchema,
    effects,
    trust: options.trust ?? "trusted",
    definition,
    recovered: Attempt.make({
      info,
      parameters: definition.parametersSchema as Schema.Decoder<never, unknown>,
      success: definition.successSchema,
      idempotency: options.idempotency,
      timeout,
      execute: options.execute
    })
  })
}

/**
 * Declares a tool's own recovery: any function from the call to an Effect.
 *
 * The call may be run again (by `Effect.retry`, by a fixer); each run is another attempt of the same call and is charged
 * to the run's budget. `InvalidResult` is not visible here: results are checked behind all recovery, so that a write
 * that succeeded with a badly shaped result is not run again.
 *
 * **Example** (Retrying a timeout, and answering 0 after that)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolCall } from "@recourse/core"
 *
 * const Slow = Tool.make("slow", {
 *   success: Schema.Int,
 *   effects: "read",
 *   timeout: "5 millis",
 *   execute: () => Effect.never
 * }).pipe(
 *   Tool.onError((call) =>
 *     call.pipe(
 *       Effect.retry({ times: 2, while: (error) => error._tag === "Timeout" }),
 *       Effect.catchTag("Timeout", (error) => Effect.succeed(error.causes.length))
 *     )
 *   )
 * )
 *
 * await Effect.runPromise(
 *   Slow.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })))
 * ) // => 3
 * ```
 */
export const onError: {
  <Name extends string, Parameters extends Schema.Top, S extends Schema.Top, E, R, E2, R2>(
    recover: (
      call: Effect.Effect<S["Type"], Exclude<E, BehindRecovery>, ToolCall | R>
    ) => Effect.Effect<S["Type"], E2, R2>
  ): (
    self: Tool<Name, Parameters, S, E, R>
  ) => Tool<Name, Parameters, S, E2 | Extract<E, BehindRecovery>, Exclude<R2, ToolCall> | R>
  <Name extends string, Parameters extends Schema.Top, S extends Schema.Top, E, R, E2, R2>(
    self: Tool<Name, Parameters, S, E, R>,
    recover: (
      call: Effect.Effect<S["Type"], Exclude<E, BehindRecovery>, ToolCall | R>
    ) => Effect.Effect<S["Type"], E2, R2>
  ): Tool<Name, Parameters, S, E2 | Extract<E, BehindRecovery>, Exclude<R2, ToolCall> | R>
} = Function.dual(
  2,
  (self: Any, recover: (call: Any["recovered"]) => Any["recovered"]): Any =>
    fromRecovered({
      ...self,
      recovered: recover(self.recovered),
      status: self.status && fromRecovered({ ...self.status, recovered: recover(self.status.recovered) })
    })
)

/**
 * @internal The call as an agent's recovery gets it: running it again after it was executed is up to the tool's
 * `effects`, and what is running inside is the tool's own recovery.
 */
export const guarded = (tool: Any): Effect.Effect<unknown, unknown, unknown> =>
  Effect.contextWith((context: Context.Context<ToolCall>) => {
    const call = Context.get(context, ToolCall)
    return mayRunAgain(call)
      ? provide(tool.recovered, ToolCall, { ...call, level: "tool" })
      : Effect.flatMap(CurrentRun, (run) => Attempt.refuse(call, run))
  })

const escalation = Schema.Struct({
  reason: Schema.String.annotate({ description: "What is wrong, and everything that is needed to solve it" }),
  severity: Severity.annotate({ description: "How urgent it is" }).pipe(Schema.optionalKey)
})

const currentAgent = Effect.map(CurrentRun, (run) => run?.path.at(-1) ?? "")

/**
 * The built-in tool "escalate": the agent gives up and hands the problem to whoever ran it. For an agent that is a fixer
 * or a tool of another agent, that is the other agent's model. Inactive unless listed in an agent's `tools`.
 */
export const escalate: Tool<"escalate", typeof escalation, typeof Schema.Never, Escalated | Escalation, never> = make(
  "escalate",
  {
    description: "Hand the problem to whoever asked you, when you cannot solve it yourself.",
    effects: "read",
    parameters: escalation,
    success: Schema.Never,
    execute: ({ reason, severity }) =>
      Effect.flatMap(currentAgent, (agent) => new Escalated({ agent, reason, severity: severity ?? "medium" }))
  }
).pipe(onError(escalateArguments("InvalidArgs"))) as never

const exception = Schema.Struct({
  reason: Schema.String.annotate({ description: "Why nothing more can or should be done" })
})

/**
 * The built-in tool "throwException": the agent ends the whole run. Inactive unless listed in an agent's `tools`.
 */
export const throwException: Tool<
  "throwException",
  typeof exception,
  typeof Schema.Never,
  AgentException | Escalation,
  never
> = make("throwException", {
  description: "End the whole run, when it is wrong to go on at all.",
  effects: "read",
  parameters: exception,
  success: Schema.Never,
  execute: ({ reason }) => Effect.flatMap(currentAgent, (agent) => new AgentException({ agent, reason }))
}).pipe(onError(escalateArguments("InvalidArgs"))) as never
