import * as LanguageModel from "effect/ai/LanguageModel"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Agent from "@recourse/core/Agent"
import * as Recovery from "@recourse/core/Recovery"
import * as Tool from "@recourse/core/Tool"

const Double = Tool.make("double", {
  description: "Doubles a number",
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number,
  execute: ({ n }) => Effect.succeed(n * 2)
})

const agent = Agent.make("doubler", { tools: [Double], defaults: { onError: Recovery.standard } })

export const double = (model: LanguageModel.LanguageModel, question: string): Promise<string> =>
  Effect.runPromise(Effect.provideService(agent.run(question), LanguageModel.LanguageModel, model))
