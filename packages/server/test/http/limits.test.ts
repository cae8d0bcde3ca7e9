/** Limits of a server: streams of a principal, wrong credentials of an address, readiness checks. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer } from "effect"
import { headersOf, serve } from "../support/kit.ts"

describe("streams of a principal", () => {
  it.live("are limited; refused ones start no run, ended ones free slots", () =>
    Effect.gen(function*() {
      const server = yield* serve([ScriptedModel.call("slow", {}), ScriptedModel.text("Done.")], {
        server: { maxStreams: 2 }
      })
      const { runId } = (yield* server.post("/runs", { agent: "clerk", message: "Do it", key: "k" })).json() as {
        runId: string
      }
      const open = (path: string, who: "ada" | "bob" = "ada") =>
        Effect.promise(async () => {
          const cut = new AbortController()
          const response = await fetch(server.url + path, { headers: headersOf(who), signal: cut.signal })
          return { status: response.status, retryAfter: response.headers.get("retry-after"), cut }
        })
      const events = `/runs/${runId}/events`
      const first = yield* open(events)
      yield* open(events)
      const refused = yield* open(events)
      assert.deepStrictEqual([refused.status, refused.retryAfter], [429, "1"])
      const sent = [
        ["/agents/clerk/chat", {
          id: "t1",
          trigger: "submit-message",
          messages: [{ id: "m", role: "user", parts: [] }]
        }],
        ["/agents/clerk/ag-ui", { threadId: "t1", runId: "r", messages: [{ id: "m", role: "user", content: "Hi" }] }],
        ["/v1/chat/completions", { model: "clerk", stream: true, messages: [{ role: "user", content: "Hi" }] }]
      ] as const
      for (const [path, body] of sent) assert.strictEqual((yield* server.post(path, body)).status, 429, path)
      assert.strictEqual((yield* server.runs.list()).length, 1)
      // Other requests, and other principals, have their own limits.
      assert.strictEqual((yield* server.get("/runs")).status, 200)
      assert.strictEqual((yield* open(events, "bob")).status, 404)
      first.cut.abort()
      const reopened = Effect.map(open(events), ({ status }) => status)
      yield* Effect.repeat(reopened, { until: (status) => status === 200, times: 100 })
      yield* server.open
    }))

  it.live("that were refused or have ended do not count", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => ScriptedModel.text("Hi."), { server: { maxStreams: 1 } })
      for (let n = 0; n < 5; n++) {
        const wrong = yield* server.post("/agents/clerk/ag-ui", { threadId: "t1" })
        assert.strictEqual(wrong.status, 400)
        const whole = yield* server.post("/v1/chat/completions", {
          model: "clerk",
          stream: true,
          messages: [{ role: "user", content: "Hi" }]
        })
        assert.strictEqual(whole.status, 200)
      }
    }))

  it.live("are limited to a number that is one", () =>
    Effect.gen(function*() {
      for (const maxStreams of [0, -1, 1.5, Number.NaN]) {
        assert.include(JSON.stringify(yield* Effect.exit(serve([], { server: { maxStreams } }))), "maxStreams")
      }
    }))
})

describe("wrong credentials", () => {
  it.live("beyond the limit are refused with 429 before they are looked up", () =>
    Effect.gen(function*() {
      const server = yield* serve([], { server: { wrongCredentials: { limit: 3, window: "1 minute" } } })
      const status = (authorization: string) =>
        Effect.promise(async () => {
          const response = await fetch(`${server.url}/agents`, { headers: { authorization } })
          return [response.status, Number(response.headers.get("retry-after")) > 0] as const
        })
      assert.strictEqual((yield* server.get("/agents")).status, 200)
      for (let n = 0; n < 3; n++) assert.deepStrictEqual(yield* status(`Bearer guess-${n}`), [401, false])
      yield* status("Bearer guess-3")
      assert.deepStrictEqual(yield* status("Bearer guess-4"), [429, true])
      // A right guess behind the limit is no hint.
      assert.deepStrictEqual(yield* status("Bearer token-of-ada"), [429, true])
    }))
})

describe("readiness", () => {
  it.live("is looked up once a second, however many ask", () =>
    Effect.gen(function*() {
      let asked = 0
      const conversations = Layer.effect(
        Conversation.Conversations,
        Effect.map(Layer.build(Conversation.layerMemory), (context) => {
          const store = context.mapUnsafe.get(Conversation.Conversations.key) as Conversation.Conversations["Service"]
          return { ...store, list: (options) => Effect.suspend(() => (asked++, store.list(options))) }
        })
      ) as Layer.Layer<Conversation.Conversations>
      const server = yield* serve([], { conversations })
      const statuses = yield* Effect.all(Array.from({ length: 50 }, () => server.get("/ready")), { concurrency: 50 })
      assert.isTrue(statuses.every(({ status }) => status === 200))
      assert.isAtMost(asked, 2)
    }))
})
