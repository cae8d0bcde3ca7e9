/** Models with given answers, and the internal functions that read answers. */

import { Effect, Layer, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import type { Agent } from "@recourse/core"
import { ModelProvider } from "@recourse/core"
import { type Parts } from "./parts.ts"

export const room = new URL("../../src/internal/model/", import.meta.url)

/** A model that gives one answer after another, streamed or not; the last again and again. */
export const answering = (
  ...answers: ReadonlyArray<ReadonlyArray<unknown>>
): Layer.Layer<LanguageModel.LanguageModel> => {
  let index = 0
  const next = () => answers[Math.min(index++, answers.length - 1)] as Parts
  return Layer.effect(
    LanguageModel.LanguageModel,
    ModelProvider.make({
      generateText: () => Effect.sync(() => [...next()]),
      streamText: () => Stream.suspend(() => Stream.fromIterable(next() as ReadonlyArray<never>))
    })
  )
}

export const text = (said: string) => ({ type: "text", text: said })

export const streamedText = (said: string, id = "t") => [
  { type: "text-start", id },
  { type: "text-delta", id, delta: said },
  { type: "text-end", id }
]

/** Exit of a run; streamed or not. */
export const exitOf = (agent: Agent.Agent<string, string, unknown, LanguageModel.LanguageModel>, streamed: boolean) =>
  streamed
    ? Effect.exit(
      Effect.map(
        Stream.runCollect(agent.stream("x")),
        (events) => events.flatMap((event) => event._tag === "TextDelta" ? [event.delta] : []).join("")
      )
    )
    : Effect.exit(agent.run("x"))
