/**
 * A program that serves an agent that writes a word each 20 milliseconds, as many as requested. Tests start it in a
 * process.
 */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Agent, Conversation, ModelProvider } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { Effect, Layer, Stream } from "effect"
import { LanguageModel, Prompt, type Response } from "effect/ai"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"

const usage = { inputTokens: { total: 1 }, outputTokens: { total: 1 } }
const finish = { type: "finish", reason: "stop", usage, response: undefined } as Response.StreamPartEncoded

const wordsOf = ({ content }: Prompt.Prompt): number => {
  const last = content.at(-1)
  return last?.role === "user" && last.content[0]?.type === "text" ? Number(last.content[0].text) : 1
}

const Slowly = Layer.effect(
  LanguageModel.LanguageModel,
  ModelProvider.make({
    generateText: () => Effect.die("asked for no stream"),
    streamText: ({ prompt }) =>
      Stream.range(1, wordsOf(prompt)).pipe(
        Stream.mapEffect((n) =>
          Effect.as(Effect.sleep("20 millis"), { type: "text-delta", id: "t", delta: `word${n} ` } as const)
        ),
        Stream.concat(Stream.make(finish))
      )
  })
)

const clerk = Agent.make("clerk", { input: Prompt.Prompt, prompt: (conversation) => conversation })

HttpRouter.serve(Server.layer({ agents: [{ name: "clerk", tools: [] }] }), {
  disableListenLog: true,
  disableLogger: true
}).pipe(
  Server.drained({ within: process.argv[2] as "1 second" }),
  Layer.merge(Layer.effectDiscard(HttpServer.addressFormattedWith((url) => Effect.sync(() => process.send!(url))))),
  Layer.provide(NodeHttpServer.layer(() => createServer(), { port: 0, host: "127.0.0.1" })),
  Layer.provide(MemoryRuns.layer({ agents: [clerk] })),
  Layer.provide([Slowly, Conversation.layerMemory, Authentication.layerAnonymous()]),
  Layer.launch,
  NodeRuntime.runMain
)
