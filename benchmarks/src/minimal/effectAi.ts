import * as LanguageModel from "effect/ai/LanguageModel"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

const Double = Tool.make("double", {
  description: "Doubles a number",
  parameters: Schema.Struct({ n: Schema.Number }),
  success: Schema.Number
})

const toolkit = Toolkit.make(Double)

export const double = (model: LanguageModel.LanguageModel, question: string): Promise<string> =>
  Effect.gen(function*() {
    let prompt = Prompt.make(question)
    while (true) {
      const response = yield* LanguageModel.generateText({ prompt, toolkit })
      if (response.toolCalls.length === 0) return response.text
      prompt = Prompt.concat(prompt, Prompt.fromResponseParts(response.content))
    }
  }).pipe(
    Effect.provide(toolkit.toLayer({ double: ({ n }) => Effect.succeed(n * 2) })),
    Effect.provideService(LanguageModel.LanguageModel, model),
    Effect.runPromise
  )
