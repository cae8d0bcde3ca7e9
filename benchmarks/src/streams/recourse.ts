/** `@recourse/server`: a run of an agent for each stream, kept so that any reader can join it, with its thread stored. */
import { NodeHttpServer } from "@effect/platform-node"
import { Conversation } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { Context, Effect, Layer } from "effect"
import { HttpRouter, HttpServer } from "effect/http"
import { createServer } from "node:http"
import { clerk, model } from "./clerk.ts"
import { reports } from "./shape.ts"

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
