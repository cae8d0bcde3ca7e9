/** The agent of the comparison: its model answers with so many deltas at the pace, as the user requests. */
import { Agent, ModelProvider } from "@recourse/core"
import { Cause, Effect, Layer, type Pull, Stream } from "effect"
import { LanguageModel, Prompt, type Response } from "effect/ai"
import { deltaText, shape } from "./shape.ts"

const { rate } = shape()

const tokens = { uncached: undefined, total: 10, cacheRead: undefined, cacheWrite: undefined }

const finish = {
  type: "finish",
  reason: "stop",
  usage: { inputTokens: tokens, outputTokens: { total: 10, text: undefined, reasoning: undefined } },
  response: undefined
} as unknown as Response.StreamPartEncoded

/** Number of deltas that the user requests. */
const countOf = ({ content }: Prompt.Prompt): number => {
  const last = content.at(-1)
  return last?.role === "user" && last.content[0]?.type === "text" ? Number(last.content[0].text) : 0
}

type Parts = readonly [Response.StreamPartEncoded, ...ReadonlyArray<Response.StreamPartEncoded>]

/** A delta at its time: one timer, like the other servers. */
const delta = Effect.callback<Parts>((resume) => {
  const timer = setTimeout(
    () => resume(Effect.succeed([{ type: "text-delta", id: "0", delta: deltaText() }])),
    1000 / rate
  )
  return Effect.sync(() => clearTimeout(timer))
})

export const model = Layer.effect(
  LanguageModel.LanguageModel,
  ModelProvider.make({
    generateText: () => Effect.die(new Error("streams only")),
    streamText: ({ prompt }) =>
      Stream.fromPull(Effect.sync(() => {
        const count = countOf(prompt)
        let said = -1
        return Effect.suspend((): Pull.Pull<Parts> => {
          if (++said === 0) return Effect.succeed([{ type: "text-start", id: "0" }])
          if (said <= count) return delta
          return said === count + 1 ? Effect.succeed([{ type: "text-end", id: "0" }, finish]) : Cause.done()
        })
      }))
  })
)

export const clerk = Agent.make("clerk", { input: Prompt.Prompt, prompt: (conversation) => conversation })

/** Request of a page. */
interface Body {
  readonly messages: ReadonlyArray<{ readonly parts: ReadonlyArray<{ readonly text: string }> }>
}

/** Text of the page's last message, as a conversation. */
export const inputOf = ({ messages }: Body): Prompt.Prompt =>
  Prompt.make(messages.at(-1)!.parts.map(({ text }) => text).join(""))
