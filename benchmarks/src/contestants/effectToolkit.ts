/**
 * A hand-written loop around `Toolkit.handle` alone: the cost of running the tools by `effect/ai`, without its model
 * calls.
 */
import { Effect, Stream } from "effect"
import { Prompt, Tool } from "effect/ai"
import type { Contestant } from "../Contestant.ts"
import { instructions, question, script } from "../Task.ts"
import { toolkitWithHandlers } from "./effectHandlers.ts"

export const contestant: Contestant = {
  prepare: async (task) => {
    const toolkit = await toolkitWithHandlers(task)
    const ask = script(task, 2, () => 2, (turn) => turn)
    const loop = Effect.gen(function*() {
      const messages: Array<Prompt.Message> = [
        Prompt.systemMessage({ content: instructions }),
        Prompt.userMessage({ content: [Prompt.textPart({ text: question })] })
      ]
      while (true) {
        const answer = ask(messages.length)
        const turn = answer instanceof Promise ? yield* Effect.promise(() => answer) : answer
        if (turn.calls.length === 0) return turn.text.join("")
        const calls = turn.calls.map(({ arguments: json, id, name }) => ({
          id,
          name,
          params: Tool.unsafeSecureJsonParse(json)
        }))
        messages.push(Prompt.assistantMessage({
          content: calls.map(({ id, name, params }) =>
            Prompt.toolCallPart({ id, name, params, providerExecuted: false })
          )
        }))
        const results = yield* Effect.forEach(
          calls,
          ({ id, params }) => Stream.runCollect(Stream.unwrap(toolkit.handle("double", params as { n: number }, id))),
          { concurrency: "unbounded" }
        )
        messages.push(Prompt.toolMessage({
          content: calls.map(({ id, name }, index) => {
            const { encodedResult, isFailure } = results[index]!.at(-1)!
            return Prompt.toolResultPart({ id, name, isFailure, result: encodedResult, providerExecuted: false })
          })
        }))
      }
    })
    return () => Effect.runPromise(loop)
  }
}
