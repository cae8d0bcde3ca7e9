import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Exit, Layer, Redacted, Schedule, Schema, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { Agent, AgentEvent, Approval, type Budget, ModelError, Recovery, Tool } from "@recourse/core"
import * as Server from "./support/server.ts"

const modelAt = (baseUrl: string) =>
  OpenAiCompatible.layer({ baseUrl, model: "m", retry: { schedule: Schedule.spaced("1 millis") } }).pipe(
    Layer.provide(FetchHttpClient.layer)
  )

const overloaded: Server.Reply = { status: 503, headers: { "content-type": "application/json" }, chunks: ["{}"] }

describe("an agent's run over HTTP", () => {
  it.live("sees requests that are sent again, and counts them for its budget", () =>
    Effect.gen(function*() {
      const { requests, url } = yield* Server.make(overloaded, overloaded, Server.completion({ content: "fine" }))
      const events: Array<AgentEvent.AgentEvent> = []
      const report = yield* Agent.make("a", {}).report("x").pipe(
        Effect.provide(modelAt(url)),
        Effect.provide(AgentEvent.listen((event) => Effect.sync(() => events.push(event))))
      )
      assert.deepStrictEqual(report.exit, Exit.succeed("fine"))
      assert.deepStrictEqual([report.usage.turns, report.usage.transportRetries, requests.length], [1, 2, 3])
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "TransportRetry" ? [[event.turn, event.retry, event.error]] : []),
        [[1, 1, "503"], [1, 2, "503"]]
      )
    }))

  it.live("ends at the cap of its transport retries, within a request", () =>
    Effect.gen(function*() {
      const { requests, url } = yield* Server.make(overloaded)
      const agent = Agent.make("a", {
        budget: { transportRetries: 1 },
        onModelError: () => ModelError.retry({ times: 5, schedule: Schedule.forever })
      })
      const error = yield* Effect.flip(agent.run("x")).pipe(Effect.provide(modelAt(url)))
      assert.strictEqual(error._tag, "BudgetExceeded")
      assert.strictEqual((error as Budget.BudgetExceeded).reason, "transportRetries")
      assert.strictEqual(requests.length, 2)
    }))

  it.live("continues to count its transport retries when resumed", () =>
    Effect.gen(function*() {
      const { url } = yield* Server.make(
        overloaded,
        Server.completion({
          content: null,
          tool_calls: [{ id: "a", type: "function", function: { name: "pay", arguments: "{}" } }]
        }),
        overloaded
      )
      let runs = 0
      const pay = Tool.make("pay", {
        effects: "write",
        needsApproval: true,
        execute: () => Effect.sync(() => void runs++)
      })
      const fresh = () =>
        Agent.make("a", {
          tools: [pay],
          defaults: { onError: Recovery.standard },
          budget: { transportRetries: 1 }
        }).pipe(Agent.provide(Approval.layerKey(Redacted.make("k".repeat(32)))))
      const paused = yield* fresh().start("x").pipe(Effect.provide(modelAt(url)))
      assert.strictEqual(paused._tag, "Paused")
      const { pending, snapshot } = paused as Approval.Paused
      assert.deepStrictEqual([snapshot.usage.transportRetries, snapshot.budget.used.transportRetries], [1, 1])
      const error = yield* Effect.flip(
        fresh().resume(JSON.parse(JSON.stringify(snapshot)), pending.map((call) => Approval.approve(call)))
      ).pipe(Effect.provide(modelAt(url)))
      assert.strictEqual((error as Budget.BudgetExceeded).reason, "transportRetries")
      assert.strictEqual(runs, 1)
    }))

  it.live("executes no tool of a stream that was cut", () =>
    Effect.gen(function*() {
      let runs = 0
      const pay = Tool.make("pay", {
        parameters: Schema.Struct({}),
        effects: "write",
        execute: () => Effect.sync(() => void runs++)
      })
      const call = Server.chunk({
        tool_calls: [{ index: 0, id: "a", type: "function", function: { name: "pay", arguments: "{}" } }]
      })
      const { url } = yield* Server.make({ chunks: [call] })
      const exit = yield* Effect.exit(Stream.runDrain(Agent.make("a", { tools: [pay] }).stream("x"))).pipe(
        Effect.provide(modelAt(url))
      )
      assert.isTrue(Exit.isFailure(exit))
      assert.strictEqual(runs, 0)
    }))
})
