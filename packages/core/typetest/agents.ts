/** What agents of `Agent.make` are, and what they become: provided, interactive, in a combinator, a tool. */
import { Agent, type AgentError, Approval, type Budget, Recovery, Tool, type ToolError } from "@recourse/core"
import { Data, Effect, Layer, Redacted, Schema } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { type Equals, holds } from "./assert.ts"

class Down extends Data.TaggedError("Down") {}

const find = Tool.make("find", {
  success: Schema.Int,
  effects: "read",
  execute: (): Effect.Effect<number, Down> => Effect.succeed(1)
})
const send = Tool.make("send", { effects: "write", needsApproval: true, execute: () => Effect.void })

type Own = AiError.AiError | Budget.BudgetExceeded
type Found = Own | ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.ExecutionError<Down>

// --- by name

const reader = Agent.make("reader", { tools: [find] })
holds<
  Equals<typeof reader, Agent.ModelAgent<Schema.String, Schema.String, Found, LanguageModel.LanguageModel>>
>()
holds<Equals<typeof reader.takesText, true>>()

const clerk = Agent.make("clerk", { input: Schema.Struct({ id: Schema.Int }), output: Schema.Int, tools: [send] })
holds<
  Equals<
    typeof clerk,
    Agent.ModelAgent<
      Schema.Struct<{ readonly id: Schema.Int }>,
      Schema.Int,
      | Own
      | AgentError.InvalidInput
      | AgentError.InvalidOutput
      | ToolError.InvalidArgs
      | ToolError.InvalidResult
      | ToolError.OutcomeUnknown,
      LanguageModel.LanguageModel | Approval.SnapshotKey,
      Approval.ApprovalRequired
    >
  >
>()
holds<Equals<typeof clerk.takesText, false>>()
// What waits is a failure of `run`, and none of `start`.
holds<Equals<Extract<Agent.Error<typeof clerk>, Approval.ApprovalRequired>, Approval.ApprovalRequired>>()
holds<Equals<Extract<Effect.Error<ReturnType<typeof clerk.start>>, Approval.ApprovalRequired>, never>>()
// It is the agent that it always was.
const widened: Agent.Agent<string, string, Found, LanguageModel.LanguageModel> = reader
const resumable: Agent.Resumable<string, string, Found, LanguageModel.LanguageModel> = reader
// @ts-expect-error an error less
export const narrow: Agent.Agent<string, string, Own, LanguageModel.LanguageModel> = reader
// @ts-expect-error a text is no number
export const other: Agent.Agent<number, string, Found, LanguageModel.LanguageModel> = reader
export const used = [widened, resumable]

// --- provided

class Unready extends Data.TaggedError("Unready") {}
const keys = Approval.layerKey(Redacted.make("k".repeat(32)))
const provided = clerk.pipe(Agent.provide(keys))
holds<Equals<Agent.Services<typeof provided>, LanguageModel.LanguageModel>>()
holds<Equals<Effect.Services<ReturnType<typeof provided.resume>>, LanguageModel.LanguageModel>>()
const failing = reader.pipe(Agent.provide(Layer.effectDiscard(Effect.fail(new Unready()))))
holds<Equals<Agent.Error<typeof failing>, Found | Unready>>()
holds<Equals<Effect.Services<ReturnType<typeof failing.resume>>, LanguageModel.LanguageModel | Approval.SnapshotKey>>()
holds<Equals<typeof failing.input, Schema.String>>()
const plain = Agent.fromFunction("plain", (text: string) => Effect.succeed(text.length)).pipe(Agent.provide(keys))
holds<Equals<typeof plain, Agent.Agent<string, number>>>()

// --- interactive

const asked = clerk.pipe(Approval.interactive((call) => Effect.succeed(Approval.approve(call))))
holds<Equals<Extract<Agent.Error<typeof asked>, Approval.ApprovalRequired>, never>>()
holds<Equals<Agent.Services<typeof asked>, LanguageModel.LanguageModel>>()
holds<Equals<typeof asked.output, Schema.Int>>()

// --- a tool takes and answers by default what the agent does

type Left<T> = Tool.Error<T>
const ofText = reader.pipe(Agent.asTool("ask", { description: "" }))
holds<Equals<typeof ofText.parameters["Type"], string>>()
holds<Equals<typeof ofText.parameters["Encoded"], { readonly input: string }>>()
holds<Equals<typeof ofText.success, Schema.String>>()
holds<
  Equals<Left<typeof ofText>, ToolError.InvalidArgs | ToolError.InvalidResult | ToolError.ExecutionError<Found>>
>()
const ofStruct = clerk.pipe(Agent.asTool("ask", { description: "", effects: "write" }))
holds<Equals<typeof ofStruct.parameters, Schema.Struct<{ readonly id: Schema.Int }>>>()
holds<Equals<Tool.Success<typeof ofStruct>, number>>()
holds<Equals<Extract<Left<typeof ofStruct>, ToolError.NotApproved>, ToolError.NotApproved>>()
holds<Equals<Extract<Left<typeof ofStruct>, ToolError.OutcomeUnknown>, ToolError.OutcomeUnknown>>()
const ofList = Agent.make("l", { input: Schema.Array(Schema.Int) }).pipe(Agent.asTool("ask", { description: "" }))
holds<Equals<typeof ofList.parameters["Encoded"], { readonly input: ReadonlyArray<number> }>>()
const ofProvided = provided.pipe(Agent.asTool("ask", { description: "" }))
holds<Equals<typeof ofProvided.success, Schema.Int>>()
const ofInteractive = asked.pipe(Agent.asTool("ask", { description: "" }))
holds<Equals<Extract<Left<typeof ofInteractive>, ToolError.NotApproved>, never>>()
const half = reader.pipe(Agent.asTool("ask", { description: "", success: Schema.Union([Schema.String, Schema.Int]) }))
holds<Equals<Tool.Success<typeof half>, string | number>>()
const inAgent = Agent.make("desk", { tools: [ofText, ofStruct], defaults: { onError: Recovery.keepGoing } })
holds<Equals<Agent.Error<typeof inAgent>, Own | ToolError.InvalidResult | Approval.ApprovalRequired>>()
const inPlace = Agent.make("desk", { tools: [clerk.pipe(Agent.asTool("ask", { description: "" }))] })
holds<Equals<Agent.Services<typeof inPlace>, LanguageModel.LanguageModel | Approval.SnapshotKey>>()
// @ts-expect-error a function says nothing of what it takes
Agent.fromFunction("f", (_: string) => Effect.void).pipe(Agent.asTool("ask", { description: "" }))
// @ts-expect-error stored, it is for any agent
Agent.asTool("ask", { description: "" })
const sometimes: boolean = Math.random() > 0.5
// @ts-expect-error only sometimes
reader.pipe(Agent.asTool("ask", { description: "", ...(sometimes ? { success: Schema.String } : {}) }))

// --- combinators, of agents that a function is given

export const generic = <In, Out, E, R>(
  first: Agent.Agent<In, Out, E, R>,
  second: Agent.Agent<Out, string, E, R>,
  choose: (input: In) => boolean
) => {
  const line = first.pipe(Agent.andThen(second))
  holds<Equals<typeof line, Agent.Composed<In, string, E, R, E>>>()
  const branch = Agent.branch("b", choose, { onTrue: first, onFalse: line })
  holds<Equals<typeof branch, Agent.Composed<In, Out | string, E, R, E>>>()
  const best = Agent.bestOf(first, {
    n: 2,
    judge: Agent.fromFunction("j", (_: Agent.Candidates<In, Out>) => Effect.succeed(0))
  })
  holds<Equals<typeof best, Agent.Composed<In, Out, E | AgentError.InvalidOutput, R, E | AgentError.InvalidOutput>>>()
  return { run: (input: In) => Agent.all("all", [first, first]).run(input) }
}
export const list = <A extends Agent.Any>(agent: A) => Agent.all("all", [agent, reader])
export const tooled = <T extends Tool.Any>(tool: T) => Agent.make("a", { tools: [tool] })

const routed = Agent.route("r", (n: number) => n > 1 ? "a" as const : "b" as const, {
  a: Agent.fromFunction("a", (n: number) => n > 2 ? Effect.fail(new Down()) : Effect.succeed(n)),
  b: Agent.fromFunction("b", (_: number | string) => Effect.succeed("b"))
})
holds<Equals<typeof routed, Agent.Composed<number, number | string, Down, never>>>()
