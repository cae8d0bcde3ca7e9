/** People who are asked one after another, by any live process, and approvals that expire. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Layer, Schema } from "effect"
import { Agent, Approval, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"

const hour = 3_600_000

const worldOf = (onExpired: "wait" | "reject") => {
  const asked: Array<{ readonly to: string; readonly at: number }> = []
  const deeds: Array<string> = []
  const prompts: Array<string> = []
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => (deeds.push("pay"), "paid"))
  })
  const agent = Durable.make(
    Agent.make("clerk", {
      tools: [Pay],
      defaults: { onError: Recovery.keepGoing },
      approval: { timeToLive: "24 hours" }
    }),
    {
      approvals: {
        people: [{ to: "desk" }, { to: "lead", after: "2 hours" }, { to: "head", after: "6 hours" }],
        notify: ({ before, pending, runId, to }) =>
          Effect.map(Clock.currentTimeMillis, (at) => {
            assert.deepEqual([runId, pending.map(({ tool }) => tool)], ["r1", ["pay"]])
            assert.strictEqual(before, ["desk", "lead", "head"].indexOf(to))
            asked.push({ to, at })
          }),
        onExpired
      }
    }
  )
  const model = ScriptedModel.layer(({ prompt }) => {
    prompts.push(JSON.stringify(prompt.content.at(-1)))
    return prompt.content.some(({ role }) => role === "tool")
      ? ScriptedModel.text("done")
      : ScriptedModel.call("pay", {})
  })
  const store = Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory)))))
  const process = (limit: number) =>
    Effect.never.pipe(
      Effect.provide(Durable.layer([agent], { poll: "1 minute" }).pipe(Layer.provide([store, model]))),
      Effect.timeoutOption(limit)
    )
  const client = <A, E>(effect: Effect.Effect<A, E, Runs.Runs>) =>
    Effect.provide(effect, Durable.layerClient([agent], { poll: "1 minute" }).pipe(Layer.provide(store)))
  return { agent, asked, client, deeds, process, prompts, store }
}

const options = { steps: 2_000_000, limit: "3 days" } as const

describe("a call that waits for a person", () => {
  it.live("reaches the next person, also after all processes were gone", () =>
    Effect.gen(function*() {
      const { agent, asked, client, deeds, process } = worldOf("wait")
      yield* client(agent.start("r1", "go"))
      yield* VirtualTime.run(process(hour), options)
      assert.deepEqual(asked.map(({ to }) => to), ["desk"])
      const first = yield* client(agent.poll("r1"))
      assert.deepEqual([first.status, first.askedOf], ["waiting", "desk"])
      // No process is live when the second hour ends.
      yield* VirtualTime.run(process(hour), { ...options, startAt: 4 * hour })
      assert.deepEqual(asked.map(({ to }) => to), ["desk", "lead"])
      const two = yield* VirtualTime.runAll<unknown, unknown, never>([
        { effect: process(60 * hour) },
        { effect: process(60 * hour), identity: 1 }
      ], { ...options, startAt: 5 * hour })
      assert.strictEqual(two.length, 2)
      assert.deepEqual(asked.map(({ to }) => to), ["desk", "lead", "head"])
      assert.isAtMost(asked[2]!.at, 6 * hour + 2 * 60_000)
      const mine = (askedOf: string) => client(Effect.flatMap(Runs.Runs, (runs) => runs.list({ askedOf })))
      assert.deepEqual((yield* mine("head")).map(({ runId }) => runId), ["r1"])
      assert.deepEqual(yield* mine("desk"), [])
      const info = yield* client(agent.poll("r1"))
      assert.strictEqual(info.status, "waiting")
      // An approval that comes too late asks again, from the beginning.
      yield* client(agent.decide("r1", [Approval.approve(info.pending[0]!)]))
      assert.deepEqual(yield* mine("head"), [])
      yield* VirtualTime.run(process(hour), { ...options, startAt: 70 * hour })
      const again = yield* client(agent.poll("r1"))
      assert.deepEqual([again.status, again.askedOf, again.pending[0]?.code], ["waiting", "desk", "approval_expired"])
      yield* client(agent.decide("r1", [Approval.approve(again.pending[0]!)]))
      yield* VirtualTime.run(process(hour), { ...options, startAt: 71 * hour })
      assert.strictEqual((yield* client(agent.poll("r1"))).status, "completed")
      assert.deepEqual(deeds, ["pay"])
    }))

  it.live("is rejected at its expiry, if configured, and the run continues", () =>
    Effect.gen(function*() {
      const { agent, asked, client, deeds, process, prompts } = worldOf("reject")
      yield* client(agent.start("r1", "go"))
      yield* VirtualTime.run(process(hour), options)
      // No process is live when it expires: the next one handles it.
      yield* VirtualTime.run(process(hour), { ...options, startAt: 30 * hour })
      const info = yield* client(agent.poll("r1"))
      assert.deepEqual([info.status, info.output], ["completed", "done"])
      assert.deepEqual(deeds, [])
      assert.deepEqual(asked.map(({ to }) => to), ["desk"])
      assert.include(prompts[1]!, "No person decided in time")
    }))
})
