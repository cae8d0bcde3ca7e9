/** `@recourse/server`: a run of an agent for each stream, kept so that any reader can join it, with its thread stored. */
import { NodeHttpServer } from "@effect/platform-node"
import { Agent, Conversation, ModelProvider } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { Cause, Context, Effect, Layer, type Pull, Stream } from "effect"
import { LanguageModel, Prompt, type Response } from "effect/ai"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { deltaText, reports, shape } from "./shape.ts"

const { rate } = shape()

const tokens = { uncached: undefined, total: 10, cacheRead: undefined, cacheWrite: undefined }

const finish = {
  type: "finish",
  reason: "stop",
  usage: { inputTokens: tokens, outputTokens: { total: 10, text: undefined, reasoning: undefined } },
  response: undefined
} as unknown as Response.StreamPartEncoded

/** How many deltas the user asks for. */
const countOf = ({ content }: Prompt.Prompt): number => {
  const last = content.at(-1)
  return last?.role === "user" && last.content[0]?.type === "text" ? Number(last.content[0].text) : 0
}

type Parts = readonly [Response.StreamPartEncoded, ...ReadonlyArray<Response.StreamPartEncoded>]

/** A delta when it is time for it: one timer, as the other servers have. */
const delta = Effect.callback<Parts>((resume) => {
  const timer = setTimeout(
    () => resume(Effect.succeed([{ type: "text-delta", id: "0", delta: deltaText() }])),
    1000 / rate
  )
  return Effect.sync(() => clearTimeout(timer))
})

/** A model that says so many deltas at that pace. */
const model = Layer.effect(
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

const clerk = Agent.make("clerk", { input: Prompt.Prompt, prompt: (conversation) => conversation })

const app = HttpRouter.serve(Server.layer({ agents: [{ name: "clerk", tools: [] }], rateLimit: false }), {
  disableListenLog: true,
  disableLogger: true
}).pipe(
  Layer.provideMerge(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
  Layer.provide(MemoryRuns.layer({ agents: [clerk], capacity: 100_000 })),
  Layer.provide([model, Conversation.layerMemory, Authentication.layerAnonymous()])
)

Effect.runFork(Effect.scoped(Effect.gen(function*() {
  const { address } = Context.get(yield* Layer.build(app), HttpServer.HttpServer)
  reports("port" in address ? address.port : 0)
  return yield* Effect.never
})))
