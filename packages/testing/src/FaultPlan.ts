/**
 * Fault plans: injected faults and their places, in one value. A plan can be printed, stored, and played again with the
 * same effect.
 *
 * All durations are milliseconds. Executions of a tool are counted over the whole run, retries included; so are model
 * calls, operations of a store, and how often a person was asked about calls of a tool.
 */
import { OptionCheck } from "@recourse/core"
import { Effect, Schema } from "effect"
import { at } from "./internal/faults/occurrences.ts"

const millis = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 86_400_000 }))
const counting = Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 1_000_000 }))

const fault = <const Type extends string, const Fields extends Schema.Struct.Fields>(type: Type, fields: Fields) =>
  Schema.Struct({ type: Schema.Literal(type), ...fields })

/** The error that an executor is made to fail with: its tag, and its other fields. Default: the tag `InjectedFailure`. */
const error = {
  error: Schema.optionalKey(
    Schema.StructWithRest(Schema.Struct({ _tag: Schema.NonEmptyString }), [
      Schema.Record(Schema.String, Schema.Unknown)
    ])
  )
}

/**
 * Possible faults of a tool.
 *
 * - `failure`: the executor fails with a typed error, which the tool's `failure` schema decodes from the fields if they
 *   fit; not executed.
 * - `timeout`: no answer within the tool's own timeout, not executed; a tool without one fails with `TimeoutError`
 *   after 30 seconds, like clients. `timeout_after_commit`: the same, but the tool was executed before.
 * - `hang`: no answer, ever. `delay`: the answer comes later, by `millis`.
 * - `network_error`, `network_error_after_commit`: fails with `NetworkError` before the tool is run, or after it.
 * - `malformed_arguments`, `missing_arguments`: the model's arguments are cut off, or lack their fields.
 * - `invalid_result`: the answer does not fit the tool's schema; the tool was run.
 * - `prompt_injection`: `text` is in the answer, in its first text.
 * - `partial_success`: the tool was run, and says that it did a part of the work: the first half of the first list in its
 *   answer, or else in its arguments, succeeded, and the rest failed with `code` and `reason`.
 * - `defect`: the executor dies. `interruption`: it is interrupted.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ToolFault = Schema.Union([
  fault("failure", error),
  fault("timeout", {}),
  fault("timeout_after_commit", {}),
  fault("hang", {}),
  fault("delay", { millis: Schema.optionalKey(millis) }),
  fault("network_error", error),
  fault("network_error_after_commit", error),
  fault("malformed_arguments", {}),
  fault("missing_arguments", {}),
  fault("invalid_result", {}),
  fault("prompt_injection", { text: Schema.optionalKey(Schema.NonEmptyString) }),
  fault("partial_success", {
    code: Schema.optionalKey(Schema.NonEmptyString),
    reason: Schema.optionalKey(Schema.NonEmptyString)
  }),
  fault("defect", {}),
  fault("interruption", {})
])

/**
 * Possible fault of a tool.
 *
 * @category models
 * @since 0.2.0
 */
export type ToolFault = typeof ToolFault.Type

/**
 * The reasons of `AiError` that a model call can be made to fail with.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ModelErrorReason = Schema.Literals([
  "NetworkError",
  "RateLimitError",
  "QuotaExhaustedError",
  "AuthenticationError",
  "ContentPolicyError",
  "InvalidRequestError",
  "InternalProviderError",
  "InvalidResponseError",
  "InvalidOutputError",
  "StructuredOutputError",
  "UnsupportedSchemaError",
  "UnknownError",
  "ToolNotFoundError",
  "ToolParameterValidationError",
  "InvalidToolResultError",
  "ToolResultEncodingError",
  "ToolConfigurationError",
  "ToolkitRequiredError",
  "InvalidUserInputError"
])

/**
 * The reasons of `AiError` that a model call can be made to fail with.
 *
 * @category models
 * @since 0.2.0
 */
export type ModelErrorReason = typeof ModelErrorReason.Type

/**
 * Possible faults of a model call.
 *
 * - `model_error`: fails with a reason; `retryAfter` is for `RateLimitError`. `rate_limit` is short for that (429).
 * - `model_hang`, `model_delay`: no answer, or a late one.
 * - `stream_cut`: the stream breaks after `after` of its parts; a call that is not streamed fails with a network error.
 * - `malformed_tool_call`: the arguments of its tool calls are cut off. `unknown_tool`: they name a tool that is not there.
 * - `duplicate_ids`: its tool calls all have the same id. `empty_answer`: the answer is empty.
 * - `truncated_answer`: the answer ends with finish reason `length`.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ModelFault = Schema.Union([
  fault("model_error", { reason: ModelErrorReason, retryAfter: Schema.optionalKey(millis) }),
  fault("rate_limit", { retryAfter: Schema.optionalKey(millis) }),
  fault("model_hang", {}),
  fault("model_delay", { millis: Schema.optionalKey(millis) }),
  fault("stream_cut", { after: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 10_000 })) }),
  fault("malformed_tool_call", {}),
  fault("unknown_tool", {}),
  fault("duplicate_ids", {}),
  fault("empty_answer", {}),
  fault("truncated_answer", {})
])

/**
 * Possible fault of a model call.
 *
 * @category models
 * @since 0.2.0
 */
export type ModelFault = typeof ModelFault.Type

/**
 * Faults of approvals: a person's behaviour about a waiting call. Without a fault the call is approved at once.
 *
 * - `approval_rejected`: the person rejects the call; the model reads the `reason`.
 * - `approval_edited`: it is to run with other `arguments`, which may or may not fit.
 * - `approval_responded`: the person answers in the tool's place; `result` is JSON of the tool's `success` schema.
 * - `approval_missing`: the call stays undecided; the run is resumed, and the person asked once more.
 * - `approval_late`: it is approved after the time in which it may be. As the decisions of a pause are sent together, the
 *   others are late too.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ApprovalFault = Schema.Union([
  fault("approval_rejected", { reason: Schema.optionalKey(Schema.NonEmptyString) }),
  fault("approval_edited", { arguments: Schema.Record(Schema.String, Schema.Json) }),
  fault("approval_responded", { result: Schema.Json }),
  fault("approval_missing", {}),
  fault("approval_late", {})
])

/**
 * Faults of approvals.
 *
 * @category models
 * @since 0.2.0
 */
export type ApprovalFault = typeof ApprovalFault.Type

/**
 * Possible faults of an executor's request to a service, if the double of the service uses `SideEffects.request`.
 *
 * - `service_fails`: it fails without an effect. `service_answer_lost`: it has its effect, and fails. `service_hangs`:
 *   no answer.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ServiceFault = Schema.Union([
  fault("service_fails", {}),
  fault("service_answer_lost", {}),
  fault("service_hangs", {})
])

/**
 * Possible fault of a request to a service.
 *
 * @category models
 * @since 0.2.0
 */
export type ServiceFault = typeof ServiceFault.Type

/**
 * The stores that can fail: that of the `IdempotencyLedger`, and `Approval.Resumptions`, which records resumed runs.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Store = Schema.Literals(["ledger", "resumptions"])

/**
 * The stores that can fail.
 *
 * @category models
 * @since 0.2.0
 */
export type Store = typeof Store.Type

/**
 * Possible faults of an operation of a store.
 *
 * - `store_fails`: it fails without an effect. `store_answer_lost`: it has its effect, and fails.
 * - `store_does_twice`: it is done twice, and the second answer counts. `store_hangs`: no answer.
 *
 * @category schemas
 * @since 0.2.0
 */
export const StoreFault = Schema.Union([
  fault("store_fails", {}),
  fault("store_answer_lost", {}),
  fault("store_does_twice", {}),
  fault("store_hangs", {})
])

/**
 * Possible fault of an operation of a store.
 *
 * @category models
 * @since 0.2.0
 */
export type StoreFault = typeof StoreFault.Type

/**
 * The callbacks of a program that can fail: `compensate` and `reconcile` of a tool, and the `audit`, which is given each record.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Callback = Schema.Literals(["compensate", "reconcile", "audit"])

/**
 * The callbacks of a program that can fail.
 *
 * @category models
 * @since 0.2.0
 */
export type Callback = typeof Callback.Type

/**
 * Possible faults of a callback.
 *
 * - `callback_fails`: it fails without an effect; an audit has no error type, and dies. `callback_answer_lost`: it has
 *   its effect, and fails.
 * - `callback_dies`: it dies. `callback_hangs`: no answer. `callback_interrupted`: it is interrupted.
 *
 * @category schemas
 * @since 0.2.0
 */
export const CallbackFault = Schema.Union([
  fault("callback_fails", {}),
  fault("callback_answer_lost", {}),
  fault("callback_dies", {}),
  fault("callback_hangs", {}),
  fault("callback_interrupted", {})
])

/**
 * Possible fault of a callback.
 *
 * @category models
 * @since 0.2.0
 */
export type CallbackFault = typeof CallbackFault.Type

const when = {
  /** The execution, model call, question, request, operation or call of a callback with which it begins. Default: 1, the first. */
  from: counting.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1), { encodingStrategy: "passthrough" })),
  /** For how many in a row it may happen. Default: 1. */
  times: counting.pipe(Schema.withDecodingDefaultKey(Effect.succeed(1), { encodingStrategy: "passthrough" })),
  /** Probability of each occurrence, by the plan's seed. Default: certain. */
  probability: Schema.optionalKey(Schema.Number.check(Schema.isBetween({ minimum: 0, maximum: 1 })))
}

/**
 * A fault of a tool, and when it happens.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ToolInjection = Schema.Struct({ tool: Schema.String, fault: ToolFault, ...when })

/**
 * A person's decision about calls of a tool, with its time.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ApprovalInjection = Schema.Struct({ tool: Schema.String, fault: ApprovalFault, ...when })

/**
 * A fault of the service of a tool, and when it happens.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ServiceInjection = Schema.Struct({ tool: Schema.String, fault: ServiceFault, ...when })

/**
 * A fault of the model, and when it happens.
 *
 * @category schemas
 * @since 0.2.0
 */
export const ModelInjection = Schema.Struct({ fault: ModelFault, ...when })

/**
 * A fault of a store, and when it happens.
 *
 * @category schemas
 * @since 0.2.0
 */
export const StoreInjection = Schema.Struct({ store: Store, fault: StoreFault, ...when })

/**
 * A fault of a callback, and when it happens: of a `tool`, or of the audit.
 *
 * @category schemas
 * @since 0.2.0
 */
export const CallbackInjection = Schema.Struct({
  callback: Callback,
  tool: Schema.optionalKey(Schema.String),
  fault: CallbackFault,
  ...when
})

/**
 * A fault, with its place and time.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Injection = Schema.Union([
  ToolInjection,
  ApprovalInjection,
  ServiceInjection,
  ModelInjection,
  StoreInjection,
  CallbackInjection
])

/**
 * A fault, with its place and time.
 *
 * @category models
 * @since 0.2.0
 */
export type Injection = typeof Injection.Type

/**
 * Faults, and the seed of everything that is left to chance. Of several that apply at once, the first is injected.
 *
 * @category schemas
 * @since 0.2.0
 */
export const FaultPlan = Schema.Struct({
  seed: Schema.Int,
  injections: Schema.Array(Injection)
})

/**
 * Faults, and the seed of everything that is left to chance.
 *
 * @category models
 * @since 0.2.0
 */
export type FaultPlan = typeof FaultPlan.Type

/**
 * When a fault happens.
 *
 * @category models
 * @since 0.2.0
 */
export interface When {
  readonly from?: number | undefined
  readonly times?: number | undefined
  readonly probability?: number | undefined
}

/**
 * A fault of a tool: by default at its first execution.
 *
 * @category constructors
 * @since 0.2.0
 */
export const onTool = (tool: string, fault: ToolFault, options?: When): Injection => ({ tool, fault, ...at(options) })

/**
 * A person's decision about a call of a tool: by default at the first question about one.
 *
 * @category constructors
 * @since 0.2.0
 */
export const onApproval = (tool: string, fault: ApprovalFault, options?: When): Injection => ({
  tool,
  fault,
  ...at(options)
})

/**
 * A fault of a tool's service: by default at its first request.
 *
 * @category constructors
 * @since 0.2.0
 */
export const onService = (tool: string, fault: ServiceFault, options?: When): Injection => ({
  tool,
  fault,
  ...at(options)
})

/**
 * A fault of a store: by default at its first operation in the run.
 *
 * @category constructors
 * @since 0.2.0
 */
export const onStore = (store: Store, fault: StoreFault, options?: When): Injection => ({
  store,
  fault,
  ...at(options)
})

/**
 * A fault of a tool's `compensate`: by default at its first call.
 *
 * @category constructors
 * @since 0.2.0
 */
export const onCompensate = (tool: string, fault: CallbackFault, options?: When): Injection => ({
  callback: "compensate",
  tool,
  fault,
  ...at(options)
})

/**
 * A fault of a tool's `reconcile`: by default at its first call.
 *
 * @category constructors
 * @since 0.2.0
 */
export const onReconcile = (tool: string, fault: CallbackFault, options?: When): Injection => ({
  callback: "reconcile",
  tool,
  fault,
  ...at(options)
})

/**
 * A fault of the audit: by default at its first record.
 *
 * @category constructors
 * @since 0.2.0
 */
export const onAudit = (fault: CallbackFault, options?: When): Injection => ({
  callback: "audit",
  fault,
  ...at(options)
})

/**
 * A fault of the model: by default at its first call.
 *
 * @category constructors
 * @since 0.2.0
 */
export const onModel = (fault: ModelFault, options?: When): Injection => ({ fault, ...at(options) })

const someFaults: OptionCheck.Kind = {
  is: (value) => Array.isArray(value) && value.every(OptionCheck.anObject.is),
  called: "a list of faults: [FaultPlan.onTool(\"weather\", { type: \"timeout\" })]"
}

/**
 * Makes a plan.
 *
 * **Example** (A plan, printed and read again)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { FaultPlan } from "@recourse/testing"
 *
 * const plan = FaultPlan.make([
 *   FaultPlan.onTool("crm_lookup", { type: "timeout" }),
 *   FaultPlan.onModel({ type: "rate_limit", retryAfter: 2000 }, { from: 2, probability: 0.5 })
 * ], { seed: 7 })
 *
 * FaultPlan.print(plan).split("\n")[1] // => "crm_lookup: timeout at execution 1"
 * FaultPlan.print(plan).split("\n")[2] // => "model: rate_limit {\"retryAfter\":2000} at call 2 with probability 0.5"
 * Effect.runSync(FaultPlan.parse(FaultPlan.stringify(plan))) // => plan
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (
  injections: ReadonlyArray<Injection>,
  options: { readonly seed?: number } = {}
): FaultPlan => {
  OptionCheck.checkArgument("FaultPlan.make", "its first argument", injections, someFaults)
  OptionCheck.checkOptions("FaultPlan.make", options, { kinds: { seed: OptionCheck.aNumber }, otherNames: {} })
  return { seed: options.seed ?? 1, injections }
}

/**
 * The plan without faults.
 *
 * @category constants
 * @since 0.2.0
 */
export const none: FaultPlan = make([])

const Json = Schema.fromJsonString(FaultPlan)

/**
 * A plan as JSON.
 *
 * @category encoding
 * @since 0.2.0
 */
export const stringify: (plan: FaultPlan) => string = Schema.encodeSync(Json)

/**
 * A plan from JSON; fails for unknown faults.
 *
 * @category decoding
 * @since 0.2.0
 */
export const parse: (json: string) => Effect.Effect<FaultPlan, Schema.SchemaError> = Schema.decodeEffect(Json)

const shown = (tool: string): string => /^[\w-]+$/.test(tool) ? tool : JSON.stringify(tool)

const line = (injection: Injection): string => {
  const { type, ...fields } = injection.fault
  const { from, times, probability } = injection
  const unit = "store" in injection
    ? "operation"
    : isOfModel(injection) || isOfCallback(injection)
    ? "call"
    : isOfApproval(injection)
    ? "question"
    : isOfService(injection)
    ? "request"
    : "execution"
  const place = isOfCallback(injection)
    ? callbackName(injection.callback, injection.tool === undefined ? undefined : shown(injection.tool))
    : "tool" in injection
    ? shown(injection.tool)
    : "store" in injection
    ? injection.store
    : "model"
  return [
    `${place}: ${type}`,
    ...(Object.keys(fields).length === 0 ? [] : [JSON.stringify(fields)]),
    times === 1 ? `at ${unit} ${from}` : `at ${unit}s ${from} to ${from + times - 1}`,
    ...(probability === undefined ? [] : [`with probability ${probability}`])
  ].join(" ")
}

/**
 * A plan as text for people: one line for each fault.
 *
 * @category formatting
 * @since 0.2.0
 */
export const print = (plan: FaultPlan): string => [`seed ${plan.seed}`, ...plan.injections.map(line)].join("\n")

const typesOf = (union: { readonly members: ReadonlyArray<{ readonly fields: { readonly type: unknown } }> }) =>
  union.members.map((member) => (member.fields.type as Schema.Literal<string>).literal)

/**
 * The names of all faults of tools.
 *
 * @category constants
 * @since 0.2.0
 */
export const toolFaults: ReadonlyArray<string> = typesOf(ToolFault)

/**
 * The names of all faults of models.
 *
 * @category constants
 * @since 0.2.0
 */
export const modelFaults: ReadonlyArray<string> = typesOf(ModelFault)

/**
 * The names of all that a person can say besides yes.
 *
 * @category constants
 * @since 0.2.0
 */
export const approvalFaults: ReadonlyArray<string> = typesOf(ApprovalFault)

/**
 * The names of all faults of services.
 *
 * @category constants
 * @since 0.2.0
 */
export const serviceFaults: ReadonlyArray<string> = typesOf(ServiceFault)

/**
 * The names of all faults of stores.
 *
 * @category constants
 * @since 0.2.0
 */
export const storeFaults: ReadonlyArray<string> = typesOf(StoreFault)

/**
 * The names of all faults of callbacks.
 *
 * @category constants
 * @since 0.2.0
 */
export const callbackFaults: ReadonlyArray<string> = typesOf(CallbackFault)

/**
 * The name of a callback: `"pay.compensate"`, `"audit"`.
 *
 * @category getters
 * @since 0.2.0
 */
export const callbackName = (callback: Callback, tool: string | undefined): string =>
  tool === undefined ? callback : `${tool}.${callback}`

/**
 * True if an injection is about the model.
 *
 * @category guards
 * @since 0.2.0
 */
export const isOfModel = (injection: Injection): injection is typeof ModelInjection.Type =>
  !("tool" in injection) && !("store" in injection) && !("callback" in injection)

/**
 * True if an injection is about a callback.
 *
 * @category guards
 * @since 0.2.0
 */
export const isOfCallback = (injection: Injection): injection is typeof CallbackInjection.Type =>
  "callback" in injection

/**
 * True if an injection is about a person's decision.
 *
 * @category guards
 * @since 0.2.0
 */
export const isOfApproval = (injection: Injection): injection is typeof ApprovalInjection.Type =>
  approvalFaults.includes(injection.fault.type)

/**
 * True if an injection is about the service of a tool.
 *
 * @category guards
 * @since 0.2.0
 */
export const isOfService = (injection: Injection): injection is typeof ServiceInjection.Type =>
  serviceFaults.includes(injection.fault.type)

/**
 * The faults after which the tool was executed, although its answer is lost or altered.
 *
 * @category constants
 * @since 0.2.0
 */
export const afterCommit: ReadonlyArray<string> = [
  "timeout_after_commit",
  "network_error_after_commit",
  "invalid_result",
  "partial_success"
]

/**
 * True if a random fault occurs the nth time, by the seed alone: independent of other events.
 *
 * @category predicates
 * @since 0.2.0
 */
export const happens = (plan: FaultPlan, index: number, n: number): boolean => {
  const { from, probability, times } = plan.injections[index]!
  if (n < from || n >= from + times) return false
  return probability === undefined || chance(plan.seed, index, n) < probability
}

/** A number from 0 to 1 for three others: two rounds of the finaliser of MurmurHash3 (public domain, Austin Appleby). */
const chance = (seed: number, index: number, n: number): number => {
  const mix = (hash: number): number => {
    let h = hash
    h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
    h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
    return (h ^ (h >>> 16)) >>> 0
  }
  return mix(mix(seed ^ Math.imul(index + 1, 0x9e3779b1)) ^ Math.imul(n, 0x85ebca77)) / 2 ** 32
}
