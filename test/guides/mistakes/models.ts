/** Mistakes in the set-up of a model. */
import type { Agent } from "@recourse/core"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Drive } from "@recourse/testing"
import { Effect, Layer } from "effect"
import type { LanguageModel } from "effect/ai"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import { type Evaluate, failureOf, type Mistake, shown } from "./mistake.ts"

/** A model server that is down, and the count of its requests. */
const down = () => {
  const state = { requests: 0 }
  const client = HttpClient.make((request) =>
    Effect.sync(() => {
      state.requests++
      return HttpClientResponse.fromWeb(request, new Response("{}", { status: 503 }))
    })
  )
  return { state, layer: Layer.succeed(HttpClient.HttpClient, client) }
}

type Model = Layer.Layer<LanguageModel.LanguageModel, Error, HttpClient.HttpClient>

const refused = (evaluate: Evaluate) =>
  Effect.scoped(
    Effect.map(Effect.flip(Layer.build(Layer.provide(evaluate<Model>(), down().layer))), shown)
  )

export const models: ReadonlyArray<Mistake> = [
  {
    wrote: "Effect.runPromise(Agent.make(\"a\", {}).run(\"Hi\"))",
    observe: (evaluate) => Effect.promise(() => evaluate<Promise<string>>().catch(shown)),
    remedy:
      "`agent.run(\"Hi\").pipe(Effect.provide(model))`: each service that is not found is the name of a missing layer. [Real models](real-models.md)"
  },
  {
    wrote: "OpenAiCompatible.layer({ preset: \"opnai\", model: \"m\" })",
    observe: refused,
    remedy: "A preset of the list, or `baseUrl`. [Real models](real-models.md)"
  },
  {
    wrote: "OpenAiCompatible.layer({ baseUrl: \"localhost\", model: \"m\" })",
    observe: refused,
    remedy: "`baseUrl: \"http://localhost:11434/v1\"`"
  },
  {
    wrote: "OpenAiCompatible.layer({ preset: \"openai\", model: \"m\" })",
    observe: refused,
    remedy: "Set the variable, and use `layerConfig`"
  },
  {
    when: "The model server answers 503",
    wrote: "Agent.make(\"a\", { onModelError: () => ModelError.retry({ times: 3 }) })",
    observe: (evaluate) =>
      Effect.gen(function*() {
        const { layer, state } = down()
        const agent = evaluate<Agent.Agent<string, string, Error, LanguageModel.LanguageModel>>()
        const model = OpenAiCompatible.layer({ baseUrl: "http://localhost:11434/v1", model: "m" })
        const exit = yield* Drive.drive(Effect.exit(agent.run("go").pipe(Effect.provide(model), Effect.provide(layer))))
        return `${state.requests} requests, then ${failureOf(exit)}`
      }).pipe(Effect.provide(TestClock.layer())),
    remedy: "Nothing: the transport has retried. `evenIfRetried: true` multiplies. [The layers of retry](retries.md)"
  }
]
