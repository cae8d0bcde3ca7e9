import { assert, describe } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { LanguageModel } from "effect/ai"
import { Agent, AgentEvent, Recovery } from "@recourse/core"
import { Mcp } from "@recourse/mcp"
import { ScriptedModel } from "@recourse/testing"
import { call, live, overStdio, versions } from "../support/helpers.ts"
import { overHttp } from "../servers/overHttp.ts"
import { overSse } from "../servers/overSse.ts"

/** A call of 600 ms that reports its progress every 100 ms. */
const reporting = { reports: 6, every: 100 }

const transports = {
  stdio: (options: { readonly version: string }) => Effect.succeed(overStdio(options)),
  HTTP: (options: { readonly version: string }) =>
    Effect.map(overHttp(options, { streams: true }), ({ url }) => Mcp.http(url)),
  SSE: (options: { readonly version: string }) => Effect.map(overSse(options), ({ url }) => Mcp.sse(url))
}

describe.each(versions)("progress of a call of %s", (version) => {
  for (const [transport, connect] of Object.entries(transports)) {
    live(`over ${transport} extends the timeout and is an event`, () =>
      Effect.gen(function*() {
        const tools = yield* Mcp.tools({
          name: "s",
          connect: yield* connect({ version, ...reporting }) as Effect.Effect<Mcp.Connect<any>>,
          trust: "trusted",
          options: { read: { timeout: "400 millis" } }
        })
        const { model } = yield* ScriptedModel.make([ScriptedModel.call("s_read", {}), ScriptedModel.text("done")])
        const told: Array<unknown> = []
        const listener = AgentEvent.listen((event) =>
          Effect.sync(() => {
            if (event._tag === "ToolProgress") told.push([event.progress, event.total, event.message])
          })
        )
        const agent = Agent.make("a", { tools, defaults: { onError: Recovery.standard } })
        const { executed } = yield* agent.report("go").pipe(
          Effect.provide(Layer.merge(listener, Layer.succeed(LanguageModel.LanguageModel, model)))
        )
        assert.deepStrictEqual(executed.map(({ outcome }) => outcome), ["success"])
        assert.deepStrictEqual(told, [1, 2, 3, 4, 5, 6].map((n) => [n, 6, `step ${n}`]))
      }))
  }
})

describe("a call that reports progress", () => {
  live("is ended at the maximum, and cancelled at the server", () =>
    Effect.gen(function*() {
      const { seen, url } = yield* overHttp({ version: "2025-11-25", reports: 100, every: 50 }, { streams: true })
      const tools = yield* Mcp.tools({
        name: "s",
        connect: Mcp.http(url),
        trust: "trusted",
        options: { read: { timeout: "300 millis", maxTimeout: "600 millis" } }
      })
      const error = yield* Effect.flip(call(tools, "read"))
      assert.strictEqual(error._tag, "Timeout")
      assert.include(JSON.stringify(error), "600")
      yield* Effect.sleep("50 millis")
      assert.strictEqual(seen.at(-1)!.method, "notifications/cancelled")
    }))

  live("does not extend the time of another call", () =>
    Effect.gen(function*() {
      const { url } = yield* overHttp({ version: "2025-11-25", ...reporting }, {
        streams: true,
        before: (message) => message.params?.name === "pay"
      })
      const tools = yield* Mcp.tools({
        name: "s",
        connect: Mcp.http(url),
        trust: "trusted",
        options: { read: { timeout: "400 millis" }, pay: { timeout: "400 millis" } }
      })
      const [read, pay] = yield* Effect.all([call(tools, "read"), Effect.flip(call(tools, "pay"))], {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual([read, pay._tag], ["did read for 2025-11-25", "OutcomeUnknown"])
    }))
})
