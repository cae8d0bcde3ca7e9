/** What is handled only sometimes is not handled; what may be there is listed; nothing is `any` or `unknown`. */
// oxlint-disable unicorn/no-useless-spread -- what is there only sometimes is what is tested
import { Context, Data, Effect, Schema, SchemaGetter, Stream } from "effect"
import { type AiError, type LanguageModel, Prompt, Tool as AiTool, type Toolkit } from "effect/ai"
import type { CircuitBreaker } from "effect/persistence"
import {
  Agent,
  type AgentError,
  AiToolkit,
  type Approval,
  type Budget,
  Guardrail,
  type IdempotencyLedger,
  ModelError,
  Policy,
  Recovery,
  Skill,
  Tool,
  ToolCall,
  type ToolError
} from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

class Down extends Data.TaggedError("Down") {}
class Lost extends Data.TaggedError("Lost") {}
class Mine extends Data.TaggedError("Mine") {}
class Alpha extends Context.Service<Alpha, { readonly on: true }>()("typetest/Alpha") {}
class Beta extends Context.Service<Beta, { readonly on: true }>()("typetest/Beta") {}

declare const off: boolean
declare const name: string
type Left<T> = Tool.Error<T>
type Own = AiError.AiError | Budget.BudgetExceeded
type Always = ToolError.InvalidArgs | ToolError.InvalidResult
type Execution = ToolError.ExecutionError<Down | Lost>

const execute = (): Effect.Effect<string, Down | Lost> => Effect.fail(new Down())
const T = Tool.make("t", { success: Schema.String, effects: "read", execute })
holds<Equals<Left<typeof T>, Always | Execution>>()

// --- policies that are there only sometimes

const lax = Recovery.policy({ InvalidArgs: "escalate", ExecutionError: "escalate" })
const strict = Recovery.policy({ InvalidArgs: "escalate" })

const either = Agent.make("a", { tools: [T], defaults: { onError: off ? lax : strict } })
holds<Equals<Agent.Error<typeof either>, Own | ToolError.InvalidResult | Execution>>()
const orNone = Agent.make("a", { tools: [T], defaults: { onError: off ? lax : undefined } })
holds<Equals<Agent.Error<typeof orNone>, Own | Always | Execution>>()
const spread = Agent.make("a", { tools: [T], ...(off ? { defaults: { onError: lax } } : {}) })
holds<Equals<Agent.Error<typeof spread>, Own | Always | Execution>>()
const spreadWithin = Agent.make("a", { tools: [T], defaults: { ...(off ? { onError: lax } : {}) } })
holds<Equals<Agent.Error<typeof spreadWithin>, Own | Always | Execution>>()
const emptyOr = Agent.make("a", { tools: [T], defaults: off ? { onError: lax } : {} })
holds<Equals<Agent.Error<typeof emptyOr>, Own | Always | Execution>>()

const entrySpread = Recovery.policy({
  InvalidArgs: "escalate",
  ...(off ? { ExecutionError: "escalate" as const } : {})
})
holds<Equals<typeof entrySpread, Recovery.RecoveryPolicy<"InvalidArgs", ToolError.Escalation, never>>>()
// @ts-expect-error an entry that is there only sometimes is spread
Recovery.policy({ ExecutionError: off ? "escalate" : undefined })
const entryEither = Recovery.policy({ ExecutionError: off ? "escalate" : "rethrow" })
holds<Equals<typeof entryEither, Recovery.RecoveryPolicy<never, ToolError.Escalation, never>>>()

// @ts-expect-error a policy is not one that handles more
export const wider: Recovery.RecoveryPolicy<"InvalidArgs" | "Timeout", never, never> = strict
// @ts-expect-error nor one that handles less, as it fails with escalations where the other does not
export const narrower: Recovery.RecoveryPolicy<never, never, never> = strict

// --- guards: what they fail with and need stands in the agent

const guarded = Agent.make("a", {
  guardInput: (text) => {
    holds<Equals<typeof text, string>>()
    return off ? Effect.fail(new Guardrail.UnsafeInput({ category: "x" })) : Effect.as(Alpha, Guardrail.change("y"))
  },
  output: Schema.Number,
  guardOutput: (n, { transcript }) => {
    holds<Equals<typeof n, number>>()
    holds<Equals<typeof transcript, Prompt.Prompt>>()
    return Effect.flatMap(Beta, () => Effect.fail(new Mine()))
  }
})
holds<Equals<Agent.Error<typeof guarded>, Own | AgentError.InvalidOutput | Guardrail.UnsafeInput | Mine>>()
holds<Equals<Agent.Services<typeof guarded>, LanguageModel.LanguageModel | Alpha | Beta>>()
const passing = Agent.make("a", {
  guardInput: () => Effect.void,
  guardOutput: (text) => Effect.succeed(Guardrail.change(text))
})
holds<Equals<Agent.Error<typeof passing>, Own>>()
// @ts-expect-error an input is replaced by an input
Agent.make("a", { guardInput: () => Effect.succeed(Guardrail.change(1)) })
// @ts-expect-error an answer is replaced by an answer
Agent.make("a", { output: Schema.Number, guardOutput: () => Effect.succeed(Guardrail.change("one")) })

// --- recoveries of single tools that are there only sometimes

const sometimes = Agent.make("a", {
  tools: [T],
  onToolError: off ? { t: (call) => call.pipe(Effect.catch(() => Effect.fail(new Mine()))) } : undefined
})
holds<Equals<Agent.Error<typeof sometimes>, Own | Always | Execution | Mine>>()
const always = Agent.make("a", {
  tools: [T],
  onToolError: { t: (call) => call.pipe(Effect.catch(() => Effect.fail(new Mine()))) }
})
holds<Equals<Agent.Error<typeof always>, Own | ToolError.InvalidResult | Mine>>()
const entrySometimes = Agent.make("a", {
  tools: [T],
  onToolError: {
    ...(off
      ? { t: (_: Effect.Effect<string, ToolError.InvalidArgs | Execution, ToolCall.ToolCall>) => Effect.succeed("") }
      : {})
  }
})
holds<Equals<Agent.Error<typeof entrySometimes>, Own | Always | Execution>>()

// --- tools whose names are not known

const Wide = Tool.make(name, { success: Schema.String, effects: "read", execute })
const wide = Agent.make("a", {
  tools: [Wide],
  onToolError: {
    t: (call) => call.pipe(Effect.catch(() => Effect.fail(new Mine()))),
    u: Recovery.escalate("InvalidArgs")
  }
})
holds<Equals<Agent.Error<typeof wide>, Own | Always | Execution | Mine>>()
holds<Equals<Agent.Services<typeof wide>, LanguageModel.LanguageModel>>()

const OneOf = Tool.make(off ? "t" : "u", { success: Schema.String, effects: "read", execute })
const oneOf = Agent.make("a", {
  tools: [OneOf],
  onToolError: { t: Recovery.escalate("InvalidArgs", "ExecutionError") }
})
holds<Equals<Agent.Error<typeof oneOf>, Own | Always | Execution>>()

// --- options of tools that are there only sometimes

const timed = { success: Schema.String, timeout: "1 second", execute } as const
const effectsSpread = Tool.make("t", { ...timed, ...(off ? { effects: "write" as const } : {}) })
holds<Equals<Left<typeof effectsSpread>, Always | Execution | ToolError.Timeout | ToolError.OutcomeUnknown>>()
const effectsEither = Tool.make("t", { ...timed, effects: off ? "write" : "read" })
holds<Equals<Left<typeof effectsEither>, Always | Execution | ToolError.Timeout | ToolError.OutcomeUnknown>>()
type Ledger = ToolError.OutcomeUnknown | ToolError.IdempotencyConflict | ToolError.LedgerUnavailable
const keyedSometimes = Tool.make("t", { ...timed, effects: "write", idempotency: off ? true : undefined })
holds<Equals<Left<typeof keyedSometimes>, Always | Execution | Ledger>>()
holds<Equals<Tool.Services<typeof keyedSometimes>, IdempotencyLedger.IdempotencyLedger>>()
const statusSometimes = Tool.make("t", {
  success: Schema.String,
  execute: () => Effect.succeed(""),
  status: off ? () => Effect.fail(new Lost()) : undefined
})
holds<Equals<Left<typeof statusSometimes>, Always | ToolError.ExecutionError<Lost>>>()
const timeoutSometimes = Tool.make("t", { success: Schema.String, execute, timeout: off ? "1 second" : undefined })
holds<Equals<Left<typeof timeoutSometimes>, Always | Execution | ToolError.Timeout>>()
const approvalSometimes = Tool.make("t", { success: Schema.String, execute, ...(off ? { needsApproval: true } : {}) })
holds<Equals<Left<typeof approvalSometimes>, Always | Execution | ToolError.NotApproved>>()

// --- operators whose arguments only a run knows

const W = Tool.make("w", { ...timed, effects: "read" })
const tagEither = W.pipe(Tool.onError(Recovery.escalate(off ? "Timeout" : "ExecutionError")))
holds<Equals<Left<typeof tagEither>, Left<typeof W> | ToolError.Escalation>>()
declare const list: ReadonlyArray<"Timeout" | "ExecutionError">
const tagList = W.pipe(Tool.onError(Recovery.escalate(...list)))
holds<Equals<Left<typeof tagList>, Left<typeof W> | ToolError.Escalation>>()
const fallbackList = W.pipe(Tool.onError(Recovery.fallback(list, Effect.fail(new Mine()))))
holds<Equals<Left<typeof fallbackList>, Left<typeof W> | Mine>>()
const fallbackEither = W.pipe(Tool.onError(Recovery.fallback(off ? "Timeout" : "ExecutionError", Effect.succeed(""))))
holds<Equals<Left<typeof fallbackEither>, Left<typeof W>>>()
const describedEither = W.pipe(
  Tool.onError((call) => call.pipe(Recovery.escalateWith(off ? "Timeout" : "ExecutionError", () => ({ reason: "" }))))
)
holds<Equals<Left<typeof describedEither>, Left<typeof W> | ToolError.Escalation>>()
const reasonSometimes = T.pipe(
  Tool.onError((call) => call.pipe(Recovery.catchReasons({ ...(off ? { Down: () => Effect.fail(new Mine()) } : {}) })))
)
holds<Equals<Left<typeof reasonSometimes>, Left<typeof T> | Mine>>()
const reasonEither = T.pipe(
  Tool.onError((call) => call.pipe(Recovery.catchReason(off ? "Down" : "Lost", () => Effect.succeed(""))))
)
holds<Equals<Left<typeof reasonEither>, Left<typeof T>>>()

const one = Agent.fromFunction("one", (_: Recovery.FixRequest) => Effect.as(Alpha, ""))
const two = Agent.fromFunction("two", (_: Recovery.FixRequest) => Effect.fail(new Mine()))
const fixedByEither = T.pipe(Tool.onError(Recovery.fix("InvalidArgs", off ? one : two)))
holds<Equals<Left<typeof fixedByEither>, Left<typeof T> | Mine>>()
holds<Equals<Tool.Services<typeof fixedByEither>, Alpha>>()
const tableFixer = Recovery.policy({ ...(off ? { InvalidArgs: { fix: two, otherwise: "escalate" as const } } : {}) })
holds<Equals<typeof tableFixer, Recovery.RecoveryPolicy<never, ToolError.Escalation | Mine, never>>>()
const tableFixerOr = Recovery.policy({ InvalidArgs: off ? { fix: two, otherwise: "escalate" } : "escalate" })
holds<Equals<typeof tableFixerOr, Recovery.RecoveryPolicy<"InvalidArgs", Mine, never>>>()

// --- what is wider than it says

const WideError = Tool.make("t", { execute: (): Effect.Effect<void, Error> => Effect.void })
holds<
  Equals<
    Left<typeof WideError>,
    | Always
    | ToolError.ExecutionError<Error>
    | ToolError.OutcomeUnknown
    | ToolError.Escalation
    | ToolError.Escalated
    | ToolError.AgentException
    | ToolError.PartialSuccess
    | ToolError.Pending
  >
>()

declare const widened: Tool.Tool<"t", typeof AiTool.EmptyParams, typeof Schema.Void, Error, never>
const mayAsk = Agent.make("a", { tools: [widened] })
holds<Equals<Agent.Services<typeof mayAsk>, LanguageModel.LanguageModel | Approval.SnapshotKey>>()
holds<Equals<Extract<Agent.Error<typeof mayAsk>, Approval.ApprovalRequired>, Approval.ApprovalRequired>>()

declare const widenedAgent: Agent.Agent<string, string, Error>
const asked = widenedAgent.pipe(
  Agent.asTool("ask", { description: "", parameters: Schema.String, success: Schema.String })
)
holds<Equals<Extract<Left<typeof asked>, ToolError.NotApproved>, ToolError.NotApproved>>()
holds<Equals<Extract<Left<typeof asked>, ToolError.Escalation>, ToolError.Escalation>>()

// --- tools that run tools: what the inner one leaves is the outer one's reason

const outer = Tool.make("outer", { success: Schema.String, effects: "read", execute: () => T.call })
holds<Equals<Left<typeof outer>, Always | ToolError.ExecutionError<Left<typeof T>>>>()
holds<Equals<Tool.Services<typeof outer>, never>>()
const outerOfRecovered = Tool.make("outer", {
  success: Schema.String,
  effects: "read",
  execute: () => T.pipe(Tool.onError(Recovery.escalate("ExecutionError"))).call
})
holds<Equals<Left<typeof outerOfRecovered>, Always | ToolError.Escalation | ToolError.ExecutionError<Always>>>()

// --- what is needed

const Coded = Schema.String.pipe(
  Schema.decodeTo(Schema.String, {
    decode: SchemaGetter.transformEffect((text: string) => Effect.as(Alpha, text)),
    encode: SchemaGetter.transformEffect((text: string) => Effect.as(Beta, text))
  })
)
// A person may answer in the tool's place, and a ledger: their results are decoded.
const Answers = Tool.make("t", { success: Coded, needsApproval: true, execute: () => Effect.succeed("") })
holds<Equals<Tool.Services<typeof Answers>, Alpha | Beta>>()

const Needs = Tool.make("t", { success: Schema.String, execute: () => Effect.as(Alpha, "") })
holds<Equals<Tool.Services<typeof Needs>, Alpha>>()
const provided = Needs.pipe(Tool.onError((call) => call.pipe(Effect.provideService(Alpha, { on: true }))))
holds<Equals<Tool.Services<typeof provided>, never>>()
const providedByAgent = Agent.make("a", {
  tools: [Needs],
  onToolError: { t: (call) => call.pipe(Effect.provideService(Alpha, { on: true })) }
})
holds<Equals<Agent.Services<typeof providedByAgent>, LanguageModel.LanguageModel>>()

// --- what is stored, or made in place, is what it is elsewhere

const skilled = Agent.make("a", { skills: [Skill.make("one", { description: "", tools: [T] })] })
holds<Equals<Agent.Error<typeof skilled>, Own | AgentError.SkillNotChosen | Always | Execution>>()
holds<Equals<Agent.Services<typeof skilled>, LanguageModel.LanguageModel>>()

const again = Recovery.retry({ times: 2 })
const breaker = Recovery.circuitBreaker()
const stored = T.pipe(Tool.onError((call) => call.pipe(again, breaker)))
holds<Equals<Left<typeof stored>, Left<typeof T> | ToolError.CircuitOpen>>()
holds<Equals<Tool.Services<typeof stored>, CircuitBreaker.CircuitBreaker>>()

// --- what cannot happen is not listed

const bare = Agent.make("a", {})
holds<Equals<Agent.Error<typeof bare>, Own>>()
const full = Agent.make("a", {
  input: Schema.Struct({ n: Schema.Int }),
  output: Schema.Int,
  skills: [Skill.make("one", { description: "" })]
})
holds<Equals<Agent.Error<typeof full>, AgentError.AgentError>>()

// --- conversions, and models

const definition = AiTool.make("t", { success: Schema.String, failure: Schema.String })
const converted = AiToolkit.fromTool(definition, () => Effect.fail("down"), { timeout: "1 second" })
holds<
  Equals<
    Left<typeof converted>,
    Always | ToolError.ExecutionError<string> | ToolError.Timeout | ToolError.NotApproved
  >
>()
const convertedWrite = AiToolkit.fromTool(definition, () => Effect.fail("down"), {
  timeout: "1 second",
  effects: "write"
})
holds<
  Equals<
    Left<typeof convertedWrite>,
    Always | ToolError.ExecutionError<string> | ToolError.OutcomeUnknown | ToolError.NotApproved
  >
>()

// @ts-expect-error a language model fails with `AiError` only
ModelError.layer(() => Effect.fail(new Mine()))

const substituting = Agent.make("a", {
  tools: [Tool.escalate],
  policies: [Policy.make("p", () => Policy.substitute("a"))]
})
holds<Equals<Agent.Error<typeof substituting>, Own | ToolError.Escalated | ToolError.InvalidResult>>()

// --- what is misspelt

// @ts-expect-error There is no "TimeOut" here. Did you mean "Timeout"?
Recovery.policy({ TimeOut: "escalate" })
// @ts-expect-error There is no "Donw" here. Did you mean "Down"?
T.pipe(Tool.onError((call) => call.pipe(Recovery.catchReasons({ Donw: () => Effect.succeed("") }))))
// @ts-expect-error There is no "timeuot" here. Did you mean "timeout"?
Tool.make("t", { timeuot: "1 second", execute: () => Effect.void })
// @ts-expect-error There is no "tols" here. Did you mean "tools"?
Agent.make("a", { tols: [T] })
// @ts-expect-error There is no "tt" here. Did you mean "t"?
Agent.make("a", { tools: [T], onToolError: { tt: Recovery.standard } })
// @ts-expect-error "onerror" is not a default. Did you mean "onError"?
Agent.make("a", { tools: [T], defaults: { onerror: Recovery.standard } })
// @ts-expect-error "turn" is not a cap. Did you mean "turns"?
Agent.make("a", { tools: [T], budget: { turn: 1 } })
// @ts-expect-error There is no "default" here. Did you mean "defaults"?
AiToolkit.toToolkit([T], { default: { onError: Recovery.standard } })
// @ts-expect-error There is no "timeuot" here. Did you mean "timeout"?
AiToolkit.fromTool(definition, () => Effect.fail("down"), { timeuot: "1 second" })

// --- what tools say before, and beside, their results

const streamed = Tool.make("t", {
  success: Schema.String,
  effects: "read",
  execute: () => Stream.fromEffect(Effect.andThen(Alpha, Effect.andThen(ToolCall.ToolCall, execute())))
})
holds<Equals<Left<typeof streamed>, Always | Execution>>()
holds<Equals<Tool.Services<typeof streamed>, Alpha>>()
holds<Equals<Tool.Success<typeof streamed>, string>>()
Tool.make("t", {
  success: Schema.Struct({ png: Schema.Uint8Array }),
  toModelOutput: ({ png }) => [Prompt.filePart({ mediaType: "image/png", data: png })],
  execute: () => Effect.succeed({ png: new Uint8Array() })
})
Tool.make("t", {
  success: Schema.String,
  // @ts-expect-error the elements of a Stream are results, too
  execute: () => Stream.make(1)
})
Tool.make("t", {
  success: Schema.String,
  // @ts-expect-error a picture alone is no list of parts
  toModelOutput: () => new Uint8Array(),
  execute: () => Effect.succeed("")
})

// --- tools of JSON Schemas, and of toolkits

const jsonTool = Tool.fromJsonSchema("j", {
  parameters: { type: "object" },
  success: Schema.String,
  effects: "write",
  execute: (params) => Effect.fail(params["a"])
})
holds<Equals<Left<typeof jsonTool>, Always | ToolError.ExecutionError<Schema.Json> | ToolError.OutcomeUnknown>>()
// @ts-expect-error There is no "timeuot" here. Did you mean "timeout"?
Tool.fromJsonSchema("j", { parameters: { type: "object" }, timeuot: "1 second", execute: () => Effect.void })

class Dependency extends Context.Service<Dependency, { readonly n: number }>()("Dependency") {}
const dependent = AiToolkit.fromTool(definition, () => Effect.andThen(Dependency, Effect.fail("down")), {
  idempotency: true,
  timeout: "1 second"
})
holds<
  Equals<
    Left<typeof dependent>,
    | Always
    | ToolError.ExecutionError<string>
    | ToolError.OutcomeUnknown
    | ToolError.IdempotencyConflict
    | ToolError.LedgerUnavailable
    | ToolError.NotApproved
  >
>()
holds<Equals<Tool.Services<typeof dependent>, Dependency | IdempotencyLedger.IdempotencyLedger>>()

declare const kit: Toolkit.WithHandler<{ readonly t: typeof definition }>
const ofKit = AiToolkit.fromToolkit(kit, { t: { timeout: "1 second" } })
holds<
  Equals<
    Left<(typeof ofKit)[number]>,
    Always | ToolError.ExecutionError<string | AiError.AiError> | ToolError.Timeout | ToolError.NotApproved
  >
>()
const byFunction = AiToolkit.fromToolkit(kit, ({ name }) => ({ effects: name === "t" ? "write" : "read" }))
holds<
  Equals<
    Left<(typeof byFunction)[number]>,
    Always | ToolError.ExecutionError<string | AiError.AiError> | ToolError.OutcomeUnknown | ToolError.NotApproved
  >
>()
// @ts-expect-error There is no "tt" here. Did you mean "t"?
AiToolkit.fromToolkit(kit, { tt: {} })

// --- a table that is one of several, of different shapes: what any of them does is listed

const eitherReason = T.pipe(
  Tool.onError((call) =>
    call.pipe(
      Recovery.catchReasons({
        ...(off ? { Down: () => Effect.fail(new Mine()) } : { Lost: () => Effect.succeed("a") })
      })
    )
  )
)
holds<Equals<Extract<Tool.Error<typeof eitherReason>, Mine>, Mine>>()

const U = Tool.make("u", { success: Schema.String, execute: () => Effect.succeed("") })
const byAlpha = { t: () => Effect.flatMap(Alpha, () => new Mine()) }
const byBeta = { u: () => Effect.flatMap(Beta, () => new Lost()) }
// @ts-expect-error onToolError cannot be one of several tables
Agent.make("a", { tools: [T, U], onToolError: off ? byAlpha : byBeta })
// @ts-expect-error onToolError cannot be one of several tables
Agent.make("a", { tools: [T, U], onToolError: { ...(off ? byAlpha : byBeta) } })
const twoTables = Agent.make("a", {
  tools: [T, U],
  onToolError: { ...(off ? byAlpha : {}), ...(off ? byBeta : {}) }
})
holds<Equals<Extract<Agent.Services<typeof twoTables>, Alpha | Beta>, Alpha | Beta>>()
holds<Equals<Extract<Agent.Error<typeof twoTables>, Mine | Lost>, Mine | Lost>>()
