/** Runs that a run starts while another process cancels it: none of them makes a write after the cancellation. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Clock, Context, Effect, Layer, Schema } from "effect"
import { localStores } from "../support/localStores.ts"

const keepGoing = { defaults: { onError: Recovery.keepGoing } } as const

/** A parent whose tool works, and starts a child, which pays. */
const family = () => {
  const paidAt: Array<number> = []
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    execute: () => Effect.map(Clock.currentTimeMillis, (now) => `paid ${paidAt.push(now)}`)
  })
  const child = Durable.make(Agent.make("child", { tools: [Pay], ...keepGoing }))
  const Order = Tool.make("order", {
    success: Schema.String,
    effects: "idempotent",
    execute: () =>
      Effect.orDie(Effect.delay(Effect.flatMap(Durable.childId(), (id) => child.run(id, "pay")), "400 millis"))
  })
  const parent = Durable.make(Agent.make("parent", { tools: [Order], ...keepGoing }))
  const model = ScriptedModel.layer(({ prompt }) =>
    prompt.content.at(-1)!.role === "tool"
      ? ScriptedModel.text("done")
      : ScriptedModel.delay(
        "50 millis",
        ScriptedModel.call(JSON.stringify(prompt).includes("pay") ? "pay" : "order", {})
      )
  )
  return { agents: [parent, child] as const, model, paidAt, parent }
}

describe("a run that is cancelled by another process", () => {
  for (const [name, layer] of Object.entries(localStores)) {
    it.live(`starts no child that makes a write: ${name}`, () =>
      Effect.gen(function*() {
        for (const cancelAt of [30, 100, 300, 440, 449, 450, 451, 460, 500]) {
          const { agents, model, paidAt, parent } = family()
          const built = yield* Layer.build(Layer.fresh(layer))
          // Like PostgreSQL behind a pooler: no process learns of the changes of another before its poll.
          const silent = Layer.succeed(RunStore.RunStore, {
            ...Context.get(built, RunStore.RunStore),
            listen: () => Effect.void
          })
          const runner = Durable.layer(agents, { poll: "5 seconds" }).pipe(Layer.provide([model, silent]))
          const client = Durable.layerClient(agents).pipe(Layer.provide(silent))
          const program = Effect.gen(function*() {
            const runs = yield* Layer.build(runner)
            yield* Effect.provide(parent.start("p1", "go"), runs)
            yield* Effect.sleep(cancelAt)
            assert.isTrue(yield* Effect.provide(parent.cancel("p1"), yield* Layer.build(client)))
            const cancelledAt = yield* Clock.currentTimeMillis
            yield* Effect.sleep("30 seconds")
            const statuses = (yield* Context.get(built, RunStore.RunStore).list({})).map(({ status }) => status)
            return { cancelledAt, statuses }
          })
          const { exit } = yield* VirtualTime.run(Effect.scoped(program))
          const { cancelledAt, statuses } = yield* exit!
          assert.deepEqual(new Set(statuses), new Set(["cancelled"]), `cancelled at ${cancelAt}`)
          assert.deepEqual(paidAt.filter((at) => at > cancelledAt), [], `cancelled at ${cancelAt}`)
        }
      }).pipe(Effect.scoped))
  }
})

describe("a run whose child is cancelled with it", () => {
  const success = Schema.String
  for (const [name, layer] of Object.entries(localStores)) {
    it.live(`stops in place of reading that its child was cancelled: ${name}`, () =>
      Effect.gen(function*() {
        const child = Durable.make(
          Agent.fromFunction("child", (_: string) => Effect.as(Effect.sleep("1 minute"), "done")),
          { queue: { concurrency: 1 } }
        )
        const Order = Tool.make("order", {
          success,
          effects: "idempotent",
          execute: () => Effect.orDie(Effect.flatMap(Durable.childId(), (id) => child.run(id, "go")))
        })
        const parents = [
          Durable.make(Agent.make("asks its model again", { tools: [Order], ...keepGoing })),
          Durable.make(Agent.make("ends with its error", { tools: [Order] })),
          Durable.make(Agent.fromFunction("starts it itself", (_: string) => Effect.orDie(child.run("own", "go"))))
        ]
        for (const parent of parents) {
          for (let cancelAt = 500; cancelAt < 11_000; cancelAt += 500) {
            const built = yield* Layer.build(Layer.fresh(layer))
            const silent = Layer.succeed(RunStore.RunStore, {
              ...Context.get(built, RunStore.RunStore),
              listen: () => Effect.void
            })
            let asked = 0
            const model = ScriptedModel.layer(() => (asked++, ScriptedModel.call("order", {})))
            const agents = [parent, child] as const
            const program = Effect.gen(function*() {
              const runs = yield* Layer.build(
                Durable.layer(agents, { poll: "5 seconds" }).pipe(Layer.provide([model, silent]))
              )
              // It has the place of the queue: the other child waits, and ends as soon as it is cancelled.
              yield* Effect.provide(child.start("first", "go"), runs)
              yield* Effect.sleep("4750 millis")
              yield* Effect.provide(parent.start("p1", "go"), runs)
              yield* Effect.sleep(cancelAt)
              const client = Durable.layerClient(agents).pipe(Layer.provide(silent))
              assert.isTrue(yield* Effect.provide(parent.cancel("p1"), yield* Layer.build(client)))
              yield* Effect.sleep("30 seconds")
              return yield* Effect.provide(parent.poll("p1"), runs)
            })
            const { exit } = yield* VirtualTime.run(Effect.scoped(program))
            const { status } = yield* exit!
            assert.strictEqual(status, "cancelled", `${parent.name}, at ${cancelAt}`)
            assert.isAtMost(asked, 1, `${parent.name}, at ${cancelAt}`)
          }
        }
      }).pipe(Effect.scoped))
  }
})

describe("a child whose process was killed before it read its cancelled parent", () => {
  it.live("makes no write in another process", () =>
    Effect.gen(function*() {
      const { agents, model, paidAt, parent } = family()
      const store = Context.get(yield* Layer.build(Layer.fresh(RunStore.layerMemory)), RunStore.RunStore)
      const runs = Durable.layer(agents, { poll: "5 seconds" })
      /** The first process receives no wake-ups, and reads neither parent nor children behind the cancellation. */
      let isCancelled = false
      const killed = Layer.succeed(RunStore.RunStore, {
        ...store,
        listen: () => Effect.void,
        get: (runId: string) => isCancelled && runId === "p1" ? Effect.never : store.get(runId),
        children: () => Effect.never
      })
      const first = Effect.gen(function*() {
        yield* parent.start("p1", "go")
        yield* Effect.sleep("300 millis")
        assert.isTrue(yield* store.cancel("p1"))
        isCancelled = true
        yield* Effect.never
      }).pipe(Effect.provide(runs.pipe(Layer.provide([model, killed]))))
      assert.strictEqual((yield* VirtualTime.run(first, { killAt: 1000 })).stopped, "killed")
      const before = yield* store.list({})
      assert.deepEqual(before.map(({ agent, isCancelled }) => `${agent} ${isCancelled}`).toSorted(), [
        "child false",
        "parent true"
      ])
      const second = Effect.sleep("1 minute").pipe(
        Effect.provide(runs.pipe(Layer.provide([model, Layer.succeed(RunStore.RunStore, store)])))
      )
      yield* VirtualTime.run(second, { startAt: 3_600_000 })
      assert.deepEqual((yield* store.list({})).map(({ status }) => status), ["cancelled", "cancelled"])
      assert.deepEqual(paidAt, [])
    }).pipe(Effect.scoped))
})

describe("a run that was purged while its process was frozen", () => {
  it.live("starts no child that makes a write", () =>
    Effect.gen(function*() {
      const { agents, model, paidAt, parent } = family()
      const store = Context.get(yield* Layer.build(Layer.fresh(RunStore.layerMemory)), RunStore.RunStore)
      const silent = Layer.succeed(RunStore.RunStore, { ...store, listen: () => Effect.void })
      // The process renews no lease before its tool starts a child.
      const runner = Durable.layer(agents, { poll: "5 seconds", lease: "100 millis" }).pipe(
        Layer.provide([model, silent])
      )
      const program = Effect.gen(function*() {
        yield* Effect.provide(parent.start("p1", "go"), yield* Layer.build(runner))
        yield* Effect.sleep("200 millis")
        const { taken: [other] } = yield* store.take({
          agents: [{ agent: "parent", versions: ["1"] }],
          limit: 1,
          leaseMillis: 60_000
        })
        const { events, positions } = yield* store.load(other!)
        const { epoch, runId, startedAt } = other!
        const end = { runId, epoch, startedAt, segment: 0, kind: "end", key: "0", value: null, elapsed: 1, events: [] }
        const last = { ...end, position: positions, firstEvent: events }
        assert.isTrue(yield* store.settle(other!, { status: "completed", pending: [], last }))
        assert.strictEqual(yield* store.purge(0), 1)
        yield* Effect.sleep("30 seconds")
        return (yield* store.list({})).map(({ agent, status }) => `${agent} ${status}`)
      })
      const { exit } = yield* VirtualTime.run(Effect.scoped(program))
      assert.deepEqual(yield* exit!, ["child cancelled"])
      assert.deepEqual(paidAt, [])
    }).pipe(Effect.scoped))
})
