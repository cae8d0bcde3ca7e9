/** Recourse over `@recourse/openai-compatible` and effect's client for `fetch`. */
import { Effect, Layer, ManagedRuntime, Redacted, Schema, Stream } from "effect"
import type { LanguageModel } from "effect/ai"
import { FetchHttpClient } from "effect/http"
import { Agent, Budget, Tool } from "@recourse/core"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { instructions, question, tool } from "../Task.ts"
import { baseUrl, model } from "./http.ts"
import type { ProviderContestant } from "./Provider.ts"
import { searchDescription, searchFields, toolName } from "./tools.ts"

const search = (name: string) =>
  Tool.make(name, {
    description: searchDescription,
    parameters: Schema.Struct({
      customer: Schema.String.annotate({ description: searchFields.customer }),
      states: Schema.Array(Schema.Literals(searchFields.states)),
      limit: Schema.optional(Schema.Int.annotate({ description: searchFields.limit })),
      between: Schema.optional(Schema.Struct({ from: Schema.String, to: Schema.String })),
      note: Schema.NullOr(Schema.String).annotate({ description: searchFields.note })
    }),
    success: Schema.Array(Schema.String),
    effects: "read",
    execute: () => Effect.succeed([])
  })

const runtimeOver = (fetch: typeof globalThis.fetch) =>
  ManagedRuntime.make(
    OpenAiCompatible.layer({ baseUrl, model, apiKey: Redacted.make("key") }).pipe(
      Layer.provide(FetchHttpClient.layer),
      Layer.provideMerge(Layer.succeed(FetchHttpClient.Fetch, fetch))
    )
  )

/** The contestant over a model of any package. */
export const contestantOver = (
  runtimeOver: (fetch: typeof globalThis.fetch) => {
    readonly runPromise: <A, E>(effect: Effect.Effect<A, E, LanguageModel.LanguageModel>) => Promise<A>
  }
): ProviderContestant => ({
  prepare: async ({ execute, fetch, onDelta, streamed, tools }) => {
    const double = Tool.make(tool.name, {
      description: tool.description,
      parameters: Schema.Struct({ n: Schema.Number }),
      success: Schema.Number,
      effects: "read",
      execute: ({ n }) => Effect.sync(() => execute(n))
    })
    const others = Array.from({ length: tools - 1 }, (_, index) => search(toolName(index + 1)))
    const agent = Agent.make("doubler", { instructions, tools: [double, ...others], budget: Budget.unlimited })
    const runtime = runtimeOver(fetch)
    if (!streamed) return () => runtime.runPromise(agent.run(question))
    return async () => {
      let output: unknown
      await runtime.runPromise(Stream.runForEach(agent.stream(question), (event) =>
        Effect.sync(() => {
          if (event._tag === "TextDelta") onDelta(event.delta)
          else if (event._tag === "RunFinished") output = event.output
        })))
      return String(output)
    }
  },
  prepareObject: async (fetch) => {
    const agent = Agent.make("counter", { instructions, output: Schema.Struct({ total: Schema.Number }) })
    const runtime = runtimeOver(fetch)
    return async () => String((await runtime.runPromise(agent.run(question))).total)
  }
})

export const contestant = contestantOver(runtimeOver)
