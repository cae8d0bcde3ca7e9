/** The loop of `effect/ai`'s documentation: `generateText` or `streamText` with a toolkit, until no tool is called. */
import { Effect, Stream } from "effect"
import { LanguageModel, Prompt, type Response } from "effect/ai"
import type { Contestant } from "../Contestant.ts"
import { instructions, question } from "../Task.ts"
import { toolkitWithHandlers } from "./effectHandlers.ts"
import { scriptedModel } from "./effectModel.ts"

const start = () =>
  Prompt.make([
    { role: "system", content: instructions },
    { role: "user", content: [{ type: "text", text: question }] }
  ])

export const contestant: Contestant = {
  prepare: async (task) => {
    const model = await scriptedModel(task)
    const toolkit = await toolkitWithHandlers(task)
    const loop = Effect.gen(function*() {
      let prompt = start()
      while (true) {
        const response = yield* LanguageModel.generateText({ prompt, toolkit })
        if (response.toolCalls.length === 0) return response.text
        prompt = Prompt.concat(prompt, Prompt.fromResponseParts(response.content))
      }
    })
    return () => Effect.runPromise(Effect.provideService(loop, LanguageModel.LanguageModel, model))
  },
  prepareStream: async (task, onDelta) => {
    const model = await scriptedModel(task)
    const toolkit = await toolkitWithHandlers(task)
    const loop = Effect.gen(function*() {
      let prompt = start()
      while (true) {
        const parts: Array<Response.AnyPart> = []
        let text = ""
        let called = false
        yield* Stream.runForEach(LanguageModel.streamText({ prompt, toolkit }), (part) =>
          Effect.sync(() => {
            parts.push(part)
            if (part.type === "tool-call") called = true
            if (part.type === "text-delta") {
              text += part.delta
              onDelta(part.delta)
            }
          }))
        if (!called) return text
        prompt = Prompt.concat(prompt, Prompt.fromResponseParts(parts))
      }
    })
    return () => Effect.runPromise(Effect.provideService(loop, LanguageModel.LanguageModel, model))
  }
}
