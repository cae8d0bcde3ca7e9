/** Deadlines and claims of runs whose wall clock is set: they count the time that has passed. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Conversation, IdempotencyLedger, Recovery, Tool, ToolCall } from "@recourse/core"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Duration, Effect, Schema } from "effect"

const hour = 3_600_000

/** A run of at most a minute whose wall clock is set after half of it, while a tool waits for so long. */
const run = (by: number, waits: string) => {
  const wait = Tool.make("wait", {
    effects: "read",
    execute: () => Effect.sleep(waits as "1 second")
  })
  const agent = Agent.make("clerk", {
    tools: [wait],
    budget: { duration: "1 minute" },
    defaults: { onError: Recovery.keepGoing }
  })
  const model = ScriptedModel.layer([ScriptedModel.call("wait", {}), ScriptedModel.text("done")])
  return VirtualTime.run(Effect.provide(agent.run("go"), model), { wall: (now) => now + (now >= 30_000 ? by : 0) })
}

describe("the deadline of a run", () => {
  for (const [name, by] of [["back", -hour], ["forward", hour]] as const) {
    it.live(`comes in time if the wall clock is set ${name}`, () =>
      Effect.gen(function*() {
        const { elapsed, exit } = yield* run(by, "2 hours")
        const error = yield* Effect.flip(exit)
        assert.strictEqual(error._tag, "BudgetExceeded")
        assert.strictEqual(elapsed, 60_000)
      }))
  }
})

const forward = { wall: (now: number) => now + (now >= 3000 ? 1000 * hour : 0) }

describe("a wall clock that is set forward", () => {
  it.live("forgets no outcome of the ledger in memory", () =>
    Effect.gen(function*() {
      let executed = 0
      const pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        idempotency: { key: () => "order 7" },
        execute: () => Effect.sync(() => `paid ${++executed}`)
      })
      const call = (id: string) =>
        Effect.provideService(pay.call, ToolCall.ToolCall, ToolCall.make({ id, arguments: {} }))
      const { exit } = yield* VirtualTime.run(
        Effect.all([call("c1"), Effect.delay(call("c2"), "4 seconds")]).pipe(
          Effect.provide(IdempotencyLedger.layerMemory)
        ),
        forward
      )
      assert.deepStrictEqual(yield* exit, ["paid 1", "paid 1"])
    }))

  it.live("ends no claim of a thread in memory", () =>
    Effect.gen(function*() {
      const { exit } = yield* VirtualTime.run(
        Effect.gen(function*() {
          const store = yield* Conversation.Conversations
          const thread = "t1"
          yield* store.create({ owner: "ada", thread })
          const claim = { id: "c", lease: Duration.seconds(30) }
          yield* store.append({ owner: "ada", thread, version: 0, events: [], claim })
          yield* Effect.sleep("4 seconds")
          return (yield* store.read({ owner: "ada", thread })).thread.isRunning
        }).pipe(Effect.provide(Conversation.layerMemory)),
        forward
      )
      assert.isTrue(yield* exit)
    }))
})
