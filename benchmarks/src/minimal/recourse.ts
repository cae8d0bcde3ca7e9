import { Effect, Schema } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, Recovery, Tool } from "recourse"

const Double = Tool.make("double", {
  description: "Doubles a number",
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  execute: ({ n }) => Effect.succeed(n * 2)
})

const agent = Agent.make("doubler", { tools: [Double], defaults: { onError: Recovery.standard } })

export const double = (model: LanguageModel.LanguageModel, question: string): Promise<string> =>
  Effect.runPromise(Effect.provideService(agent.run(question), LanguageModel.LanguageModel, model))
