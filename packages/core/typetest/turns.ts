/** What the options that shape turns add to the types of an agent. */
import { Context, Data, Effect, Schema, type Stream } from "effect"
import type { AiError, LanguageModel, Prompt } from "effect/ai"
import { Agent, type Budget, Conversation, History, Tool } from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

/** What any agent can fail with. */
type Own = AiError.AiError | Budget.BudgetExceeded

class NoPlan extends Data.TaggedError("NoPlan") {}
class NoName extends Data.TaggedError("NoName") {}
class TooOld extends Data.TaggedError("TooOld") {}
class Plans extends Context.Service<Plans, { readonly tools: ReadonlyArray<"find"> }>()("typetest/Plans") {}
class Names extends Context.Service<Names, { readonly of: (id: string) => string }>()("typetest/Names") {}

const Find = Tool.make("find", { execute: () => Effect.void }).pipe(
  Tool.onError((call) => call.pipe(Effect.catchTags({ InvalidArgs: () => Effect.void })))
)
type OfFind = Agent.Error<typeof plain>
const plain = Agent.make("plain", { tools: [Find] })

// --- errors and services of each option are the agent's

const instructed = Agent.make("instructed", {
  instructions: (name: string) =>
    name === "" ? Effect.fail(new NoName()) : Effect.map(Names, ({ of }) => `Greet ${of(name)}`)
})
holds<Equals<Agent.Error<typeof instructed>, Own | NoName>>()
holds<Equals<Agent.Services<typeof instructed>, LanguageModel.LanguageModel | Names>>()

const planned = Agent.make("planned", {
  tools: [Find],
  prepareTurn: ({ turn }) =>
    turn > 3
      ? Effect.fail(new NoPlan())
      : Effect.map(Plans, ({ tools }) => ({ tools, toolChoice: "required" as const }))
})
holds<Equals<Agent.Error<typeof planned>, OfFind | NoPlan>>()
holds<Equals<Agent.Services<typeof planned>, LanguageModel.LanguageModel | Plans>>()

const summariser = Agent.fromFunction(
  "sum",
  (text: string) => text === "" ? Effect.fail(new TooOld()) : Effect.succeed(text)
)
const compacted = Agent.make("compacted", { compact: { maxTokens: 1000, by: History.summarised(summariser) } })
holds<Equals<Agent.Error<typeof compacted>, Own | TooOld>>()

const quiet = Agent.make("quiet", {
  instructions: "Be kind.",
  tools: [Find],
  prepareTurn: () => ({ tools: ["find"] }),
  compact: { by: History.keepLast(4) }
})
holds<Equals<Agent.Error<typeof quiet>, OfFind>>()
holds<Equals<Agent.Services<typeof quiet>, LanguageModel.LanguageModel>>()

// --- wrong use

// @ts-expect-error there is no tool of this name
Agent.make("typo", { tools: [Find], prepareTurn: () => ({ tools: ["fnid"] }) })

// @ts-expect-error it does not answer a conversation
Agent.make("compact", { compact: { by: () => "short" } })

// @ts-expect-error there is no such option
Agent.make("prepare", { prepareTurns: () => undefined })

// --- partial outputs

const Ticket = Schema.Struct({ title: Schema.String, tags: Schema.Array(Schema.Struct({ name: Schema.String })) })
const partial = Agent.make("triage", { output: Ticket }).stream("x").pipe(Agent.partialOutput(Ticket))
holds<
  Equals<
    Stream.Success<typeof partial>,
    { readonly title?: string; readonly tags?: ReadonlyArray<{ readonly name?: string }> }
  >
>()

// --- conversations: an agent's own errors are in the exit, not in the turn's

declare const chatting: Agent.Agent<Prompt.Prompt, string, NoPlan, Plans>
const sent = Conversation.send(chatting, { owner: "o", thread: "t", message: "x" })
holds<Equals<Effect.Error<typeof sent>, Conversation.BeginError>>()
holds<Equals<Effect.Services<typeof sent>, Plans | Conversation.Conversations>>()
holds<Equals<Effect.Success<typeof sent>, Conversation.Sent<string, NoPlan>>>()

// @ts-expect-error it takes text, not a conversation
Conversation.send(Agent.make("text", {}), { owner: "o", thread: "t", message: "x" })

// @ts-expect-error every operation names the owner
Conversation.send(chatting, { thread: "t", message: "x" })
