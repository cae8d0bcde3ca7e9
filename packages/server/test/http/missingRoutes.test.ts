/** Requests that no route takes. */
import { NodeHttpServer } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Agent, Conversation } from "@recourse/core"
import { Authentication, MemoryRuns, Server } from "@recourse/server"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { serve } from "../support/kit.ts"

const requests: ReadonlyArray<readonly [method: string, path: string]> = [
  ["GET", "/nope"],
  ["GET", "/agents/clerk/chat"],
  ["DELETE", "/agents"],
  ["PUT", "/runs"],
  ["POST", "/agents/clerk"],
  ["GET", "/"],
  ["GET", "/threads/t1/none"]
]

const served = Server.layer({ agents: [{ name: "clerk", description: "Helps", tools: [] }] }).pipe(
  Layer.provide(MemoryRuns.layer({ agents: [Agent.make("clerk", {})] })),
  Layer.provide([Conversation.layerMemory, Authentication.layerAnonymous({ id: "ada" }), ScriptedModel.layer([])])
)

const answerOf = async (app: typeof served, path: string) => {
  const { dispose, handler } = HttpRouter.toWebHandler(
    app.pipe(Layer.provideMerge(NodeHttpServer.layerHttpServices)),
    { disableLogger: true }
  )
  const response = await handler(new Request(`http://localhost${path}`))
  const answer = [response.status, await response.text()]
  await dispose()
  return answer
}

describe("a request without a route", () => {
  for (const origins of [[], ["https://app.example.com"]]) {
    it.live(`is answered with a problem, with ${origins.length} origins`, () =>
      Effect.gen(function*() {
        const server = yield* serve([], { server: { origins } })
        for (const [method, path] of requests) {
          const response = yield* Effect.promise(() => fetch(`${server.url}${path}?key=secret`, { method }))
          assert.strictEqual(response.headers.get("content-type"), "application/problem+json", path)
          assert.strictEqual(response.headers.get("x-content-type-options"), "nosniff")
          const { trace_id, ...problem } = (yield* Effect.promise(() => response.json())) as {
            readonly trace_id: string
          }
          assert.strictEqual(response.headers.get("x-trace-id"), trace_id)
          assert.deepStrictEqual(problem as object, {
            type: "about:blank",
            status: 404,
            title: "RouteNotFound",
            detail: `There is no route ${method} ${path}: GET /openapi.json lists the routes`
          })
        }
      }))
  }

  it.live("of OpenAI's clients is answered in their form", () =>
    Effect.gen(function*() {
      const server = yield* serve([])
      const response = yield* server.post("/v1/embeddings", {})
      const { error } = response.json() as { readonly error: { readonly message: string; readonly code: string } }
      assert.strictEqual(response.status, 404)
      assert.strictEqual(error.code, "RouteNotFound")
      assert.include(error.message, "POST /v1/embeddings")
    }))

  it.live("has no body for HEAD", () =>
    Effect.gen(function*() {
      const server = yield* serve([])
      const response = yield* Effect.promise(() => fetch(`${server.url}/nope`, { method: "HEAD" }))
      assert.deepStrictEqual([response.status, yield* Effect.promise(() => response.text())], [404, ""])
    }))

  it("may be answered by another middleware of the same router, before or behind the server's", async () => {
    const page = HttpRouter.middleware(
      (respond) => Effect.catch(respond, () => Effect.succeed(HttpServerResponse.text("the page"))) as typeof respond,
      { global: true }
    )
    for (const app of [Layer.mergeAll(page, served), Layer.mergeAll(served, page)]) {
      assert.deepStrictEqual(await answerOf(app, "/nope"), [200, "the page"])
    }
  })

  it("keeps the empty answer of another route", async () => {
    const bare = HttpRouter.add("GET", "/bare", HttpServerResponse.empty({ status: 404 }))
    assert.deepStrictEqual(await answerOf(Layer.mergeAll(served, bare), "/bare"), [404, ""])
  })
})
