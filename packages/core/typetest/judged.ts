/** What the combinators that judge, route and hand over do to the types of agents. */
import { Context, Data, Effect } from "effect"
import type { AiError, LanguageModel } from "effect/ai"
import { Prompt } from "effect/ai"
import { Agent, type AgentError, type Budget, type ToolError } from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

/** What any agent can fail with. */
type Own = AiError.AiError | Budget.BudgetExceeded

class A extends Data.TaggedError("A") {}
class B extends Data.TaggedError("B") {}
class S extends Context.Service<S, {}>()("typetest/S") {}
class T extends Context.Service<T, {}>()("typetest/T") {}

declare const writer: Agent.Agent<string, number, A, S>
declare const judge: Agent.Agent<Agent.Candidates<string, number>, number, B, T>

const best = Agent.bestOf(writer, { n: 3, judge })
holds<Equals<typeof best, Agent.Composed<string, number, A | B | AgentError.InvalidOutput, S | T>>>()

const voted = writer.pipe(Agent.vote(3))
holds<Equals<typeof voted, Agent.Composed<string, number, A, S>>>()

const revised = Agent.revise(writer, { times: 2, judge: (n) => n > 1 ? undefined : Effect.as(T, "again") })
holds<Equals<typeof revised, Agent.Composed<string, number, A, S | T>>>()

const routed = Agent.route("r", (text: string) => text === "" ? Effect.fail(new B()) : "w" as const, { w: writer })
holds<Equals<typeof routed, Agent.Composed<string, number, A | B, S>>>()

const conversation = { input: Prompt.Prompt, prompt: (conversation: Prompt.Prompt) => conversation }
const triage = Agent.make("triage", { ...conversation, tools: [Agent.handoffTo("billing", { description: "Bills" })] })
const billing = Agent.make("billing", conversation)
const support = Agent.handoff("support", { start: "triage", agents: { triage, billing } })
holds<
  Equals<
    Agent.Error<typeof support>,
    | Own
    | AgentError.InvalidInput
    | ToolError.InvalidArgs
    | ToolError.InvalidResult
    | ToolError.ExecutionError<Agent.HandedOff>
  >
>()
holds<Equals<Agent.Services<typeof support>, LanguageModel.LanguageModel>>()

// @ts-expect-error the judge answers with the number of an answer
Agent.bestOf(writer, { n: 3, judge: writer })

// @ts-expect-error there is no agent of this name
Agent.route("r", (_: string) => "x", { w: writer })

// @ts-expect-error it begins with one of its agents
Agent.handoff("support", { start: "gone", agents: { triage } })

// @ts-expect-error it has to take a conversation
Agent.handoff("support", { start: "writer", agents: { writer } })
