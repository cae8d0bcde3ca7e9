/** What compensation does to the types of tools and agents: its services are needed, its errors end nothing. */
import {
  Agent,
  type Approval,
  type Budget,
  Compensation,
  type IdempotencyLedger,
  type Runs,
  Tool,
  ToolCall,
  type ToolError
} from "@recourse/core"
import { Context, Data, Effect, Schema } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { type Equals, holds } from "./assert.ts"

class Down extends Data.TaggedError("Down") {}
class NotUndone extends Data.TaggedError("NotUndone") {}
class Alpha extends Context.Service<Alpha, { readonly on: true }>()("Alpha") {}
class Beta extends Context.Service<Beta, { readonly on: true }>()("Beta") {}
class Gamma extends Context.Service<Gamma, { readonly on: true }>()("Gamma") {}

declare const off: boolean
type Left<T> = Tool.Error<T>
type Write = ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.OutcomeUnknown | ToolError.ExecutionError<Down>

const parameters = Schema.Struct({ order: Schema.String })
const execute = (): Effect.Effect<number, Down> => Effect.succeed(1)

// --- of a tool: the arguments and the result are typed, the services needed, and the errors those of nobody

const book = Tool.make("book", {
  parameters,
  success: Schema.Int,
  effects: "write",
  compensate: ({ order }, booking) => {
    holds<Equals<typeof order, string>>()
    holds<Equals<typeof booking, number>>()
    return Effect.andThen(Alpha, Effect.andThen(ToolCall.ToolCall, Effect.fail(new NotUndone())))
  },
  execute
})
holds<Equals<Left<typeof book>, Write>>()
holds<Equals<Tool.Services<typeof book>, Alpha>>()
const simple = Tool.make("book", { success: Schema.Int, effects: "write", compensate: () => Effect.void, execute })
holds<Equals<Tool.Services<typeof simple>, never>>()
holds<Equals<Left<typeof simple>, Write>>()

// What is there only sometimes is needed always.
const sometimes = Tool.make("book", {
  success: Schema.Int,
  effects: "write",
  ...(off ? { compensate: () => Effect.asVoid(Alpha) } : {}),
  execute
})
holds<Equals<Tool.Services<typeof sometimes>, Alpha>>()
const either = Tool.make("book", {
  success: Schema.Int,
  effects: "write",
  compensate: off ? () => Effect.asVoid(Alpha) : undefined,
  execute
})
holds<Equals<Tool.Services<typeof either>, Alpha>>()
const keyed = Tool.make("book", {
  success: Schema.Int,
  effects: "write",
  idempotency: true,
  compensate: () => Effect.asVoid(Alpha),
  execute
})
holds<Equals<Tool.Services<typeof keyed>, Alpha | IdempotencyLedger.IdempotencyLedger>>()
const fromJson = Tool.fromJsonSchema("book", {
  parameters: {},
  success: Schema.Int,
  effects: "write",
  compensate: (_, booking) => {
    holds<Equals<typeof booking, number>>()
    return Effect.asVoid(Alpha)
  },
  execute
})
holds<Equals<Tool.Services<typeof fromJson>, Alpha>>()

// Nothing is undone by a tool that only reads; where that is so only sometimes, it may be.
// @ts-expect-error reads have nothing to undo
Tool.make("t", { success: Schema.Int, effects: "read", compensate: () => Effect.void, execute })
// @ts-expect-error reads have nothing to undo, however it is given
Tool.make("t", { success: Schema.Int, effects: "read", ...(off ? { compensate: () => Effect.void } : {}), execute })
Tool.make("t", { success: Schema.Int, compensate: () => Effect.void, execute })
Tool.make("t", { success: Schema.Int, effects: off ? "read" : "write", compensate: () => Effect.void, execute })
// @ts-expect-error no Effect
Tool.make("t", { success: Schema.Int, effects: "write", compensate: () => {}, execute })
Tool.make("t", {
  success: Schema.Int,
  effects: "write",
  // @ts-expect-error the result is a number
  compensate: (_, { length }) => Effect.succeed(length),
  execute
})

// Recovery leaves what compensation needs.
const recovered = book.pipe(
  Tool.onError((call) => call.pipe(Effect.catchTag("ExecutionError", () => Effect.succeed(0))))
)
holds<Equals<Tool.Services<typeof recovered>, Alpha>>()

// --- of an agent

type Own = AiError.AiError | Budget.BudgetExceeded
const desk = Agent.make("desk", { tools: [book], compensation: {} })
holds<Equals<Agent.Error<typeof desk>, Own | Write>>()
holds<Equals<Agent.Services<typeof desk>, LanguageModel.LanguageModel | Alpha>>()
// Also without `compensation`: an agent around it may say that.
const plain = Agent.make("desk", { tools: [book] })
holds<Equals<Agent.Services<typeof plain>, LanguageModel.LanguageModel | Alpha>>()

const reporting = Agent.make("desk", {
  tools: [simple],
  compensation: {
    after: ["failure", "rejection"],
    timeout: "5 seconds",
    report: (left) => {
      holds<Equals<typeof left, ReadonlyArray<ToolError.NotCompensated>>>()
      // What `compensate` fails with ends no run: its name is told, and itself it stands in no type.
      holds<Equals<(typeof left)[number]["error"], string | undefined>>()
      holds<Equals<(typeof left)[number]["reason"], unknown>>()
      return Effect.asVoid(Beta)
    }
  }
})
holds<Equals<Agent.Services<typeof reporting>, LanguageModel.LanguageModel | Beta>>()
holds<Equals<Agent.Error<typeof reporting>, Own | Write>>()
const reportingSometimes = Agent.make("desk", {
  tools: [simple],
  ...(off ? { compensation: { report: () => Effect.asVoid(Beta) } } : {})
})
holds<Equals<Agent.Services<typeof reportingSometimes>, LanguageModel.LanguageModel | Beta>>()

// What others call is undone with what the agent has.
const within = Tool.make("within", {
  success: Schema.Int,
  effects: "write",
  execute: () => Effect.provideService(Effect.orElseSucceed(book.call, () => 0), Alpha, { on: true })
})
const around = Agent.make("desk", {
  tools: [within],
  compensation: { tools: [book], report: () => Effect.asVoid(Gamma) }
})
holds<Equals<Agent.Services<typeof around>, LanguageModel.LanguageModel | Alpha | Gamma>>()

// An agent that undoes may wait, and needs the same where it goes on.
const asks = Tool.make("mayRequestApproval", {
  effects: "write",
  needsApproval: true,
  compensate: () => Effect.asVoid(Alpha),
  execute: () => Effect.void
})
const waits = Agent.make("desk", { tools: [asks], compensation: {} })
holds<
  Equals<
    Effect.Services<ReturnType<typeof waits.resume>>,
    LanguageModel.LanguageModel | Alpha | Approval.SnapshotKey
  >
>()

// @ts-expect-error no failure of that name
Agent.make("desk", { tools: [book], compensation: { after: ["fialure"] } })
// @ts-expect-error a report does not fail
Agent.make("desk", { tools: [book], compensation: { report: () => Effect.fail(new Down()) } })
// @ts-expect-error an agent is no tool
Agent.make("desk", { tools: [book], compensation: { tools: [desk] } })

// What agents are made of does not matter: the report's services are needed besides, and errors and pauses stay.
const whole = desk.pipe(Agent.compensated({ tools: [book], report: () => Effect.asVoid(Gamma) }))
holds<Equals<Agent.Error<typeof whole>, Agent.Error<typeof desk>>>()
holds<Equals<Agent.Services<typeof whole>, Agent.Services<typeof desk> | Gamma>>()
const wholeWaits = waits.pipe(Agent.compensated({}))
const startedWhole = wholeWaits.start("x")
const startedAlone = waits.start("x")
holds<Equals<Effect.Error<typeof startedWhole>, Effect.Error<typeof startedAlone>>>()
const forCalls = Agent.forCalls("calls", { tools: [book], compensation: { report: () => Effect.asVoid(Gamma) } })
holds<Equals<Extract<Agent.Services<typeof forCalls>, Gamma>, Gamma>>()

// --- of a run that has ended: the agent that compensates has the services of its agent, and the operations need the engine alone

const ended = Compensation.agent(Agent.make("ended", { tools: [book] }))
holds<Alpha extends Agent.Services<NonNullable<typeof ended>> ? true : false>()
holds<Equals<Agent.Input<NonNullable<typeof ended>>, Compensation.Request>>()
holds<Equals<Agent.Output<NonNullable<typeof ended>>, Compensation.Answer>>()

const compensation = Compensation.compensate({ runId: "r1", writes: ["w1"], by: "ada" })
holds<Equals<Effect.Services<typeof compensation>, Runs.Runs>>()
holds<
  Equals<
    Effect.Error<typeof compensation>["_tag"],
    | "InvalidInput"
    | "NotCompensable"
    | "RunNotEnded"
    | "RunsUnavailable"
    | "UnknownAgent"
    | "UnknownRun"
  >
>()
// @ts-expect-error a run is named
void Compensation.compensate({ by: "ada" })
