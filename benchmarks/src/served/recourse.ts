/** `@recourse/server`: a run that any reader can join, with its thread stored. */
import { NodeHttpServer } from "@effect/platform-node"
import { Agent, Conversation, ModelProvider } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { Effect, Layer, Stream } from "effect"
import { LanguageModel, Prompt, type Response } from "effect/ai"
import { HttpRouter } from "effect/http"
import { type Handler, words } from "./Handler.ts"

const parts: ReadonlyArray<Response.StreamPartEncoded> = [
  { type: "text-start", id: "t" },
  ...words.map((delta) => ({ type: "text-delta" as const, id: "t", delta })),
  { type: "text-end", id: "t" },
  { type: "finish", reason: "stop", usage: { inputTokens: { total: 10 }, outputTokens: { total: 5 } } }
]

export const handler = async (): Promise<Handler> => {
  const clerk = Agent.make("clerk", { input: Prompt.Prompt, prompt: (conversation) => conversation })
  const model = Layer.effect(
    LanguageModel.LanguageModel,
    ModelProvider.make({
      generateText: () => Effect.die(new Error("streams only")),
      streamText: () => Stream.fromIterable(parts, { chunkSize: 1 })
    })
  )
  const app = Server.layer({ agents: [{ name: "clerk", tools: [] }], rateLimit: false }).pipe(
    Layer.provide(MemoryRuns.layer({ agents: [clerk] })),
    Layer.provide([model, Conversation.layerMemory, Authentication.layerAnonymous()])
  )
  return HttpRouter.toWebHandler(app.pipe(Layer.provideMerge(NodeHttpServer.layerHttpServices)), {
    disableLogger: true
  }).handler
}
