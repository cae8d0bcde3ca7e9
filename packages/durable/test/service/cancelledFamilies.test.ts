/** Cancellations whose caller is killed behind the first run: the runs that it has started, and theirs, are cancelled too. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Context, Effect, Layer, Schema, type Scope } from "effect"
import { localStores } from "../support/localStores.ts"

const keepGoing = { defaults: { onError: Recovery.keepGoing } } as const

/** A run that starts a child, which orders a grandchild and does not wait for it. It pays after a minute. */
const family = () => {
  let paid = 0
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    execute: () => Effect.sync(() => `paid ${++paid}`)
  })
  const grandchild = Durable.make(Agent.make("grandchild", { tools: [Pay], ...keepGoing }))
  const Order = Tool.make("order", {
    success: Schema.String,
    effects: "idempotent",
    execute: () =>
      Effect.orDie(Effect.flatMap(Durable.childId("pay"), (id) => Effect.as(grandchild.start(id, "pay"), "ordered")))
  })
  const child = Durable.make(Agent.make("child", { tools: [Order], ...keepGoing }))
  const parent = Durable.make(
    Agent.fromFunction("parent", (id: string) => Effect.orDie(child.run(`${id} child`, "order")))
  )
  const model = ScriptedModel.layer(({ prompt }) => {
    const slowly = ScriptedModel.delay("1 minute", ScriptedModel.call("pay", {}))
    if (JSON.stringify(prompt.content[0]).includes("pay")) {
      return prompt.content.length === 1 ? slowly : ScriptedModel.text("paid")
    }
    return prompt.content.length === 1
      ? ScriptedModel.call("order", {}, { id: "o" })
      : ScriptedModel.delay("1 minute", ScriptedModel.text("done"))
  })
  return { parent, child, grandchild, model, paid: () => paid }
}

const statuses = Effect.flatMap(RunStore.RunStore, (store) =>
  Effect.map(
    store.list({}),
    (runs) => runs.map(({ agent, status }) => `${agent} ${status}`).toSorted()
  ))

const allCancelled = ["child cancelled", "grandchild cancelled", "parent cancelled"]

describe("a cancellation whose caller is killed behind the first run", () => {
  const each = (
    title: string,
    test: (store: Layer.Layer<RunStore.RunStore>) => Effect.Effect<void, unknown, Scope.Scope>
  ) => {
    for (const [name, layer] of Object.entries(localStores)) {
      it.live(`${title}: ${name}`, () =>
        Effect.scoped(
          Effect.flatMap(Layer.build(Layer.fresh(layer)), (built) => test(Layer.succeedContext(built)))
        ))
    }
  }

  each("cancels the children of an executing run", (store) =>
    Effect.gen(function*() {
      const { child, grandchild, model, paid, parent } = family()
      const program = Effect.gen(function*() {
        yield* parent.start("p", "p")
        yield* Effect.sleep("1 second")
        yield* (yield* RunStore.RunStore).cancel("p")
        yield* Effect.sleep("3 minutes")
        return yield* statuses
      })
      const runners = Durable.layer([parent, child, grandchild]).pipe(Layer.provide(model), Layer.provideMerge(store))
      const { exit } = yield* VirtualTime.run(Effect.provide(program, runners))
      assert.deepEqual(yield* exit!, allCancelled)
      assert.strictEqual(paid(), 0)
    }))

  each("cancels the grandchildren when another process takes the child", (store) =>
    Effect.gen(function*() {
      const { child, grandchild, model, paid, parent } = family()
      const { cancel, get } = Context.get(yield* Layer.build(store), RunStore.RunStore)
      const all = Durable.layer([parent, child, grandchild]).pipe(Layer.provide([model, store]))
      const program = Effect.gen(function*() {
        yield* Effect.scoped(Effect.gen(function*() {
          yield* Effect.provide(parent.start("p", "p"), yield* Layer.build(all))
          yield* Effect.sleep("1 second")
        }))
        // The grandchild has a process of its own, which still runs.
        yield* Layer.build(Durable.layer([grandchild]).pipe(Layer.provide([model, store])))
        yield* Effect.sleep("1 second")
        assert.strictEqual((yield* get("p child/o/pay"))?.status, "running")
        yield* cancel("p")
        yield* Layer.build(all)
        yield* Effect.sleep("3 minutes")
        return yield* Effect.provide(statuses, store)
      })
      const { exit } = yield* VirtualTime.run(Effect.scoped(program))
      assert.deepEqual(yield* exit!, allCancelled)
      assert.strictEqual(paid(), 0)
    }))
})

describe("a run with the id of a purged one that started its parent", () => {
  it.live("is cancelled once with its parent", () =>
    Effect.gen(function*() {
      const store = Context.get(yield* Layer.build(Layer.fresh(RunStore.layerMemory)), RunStore.RunStore)
      const agent = Durable.make(Agent.fromFunction("agent", (_: string) => Effect.succeed("done")))
      const run = { agent: "agent", version: "1", owner: undefined, input: "go", leaseMillis: 60_000 }
      yield* store.insert({ ...run, runId: "first", parent: "second" })
      yield* store.insert({ ...run, runId: "second", parent: "first" })
      const runs = Durable.layerClient([agent]).pipe(
        Layer.provide(Layer.succeed(RunStore.RunStore, store))
      )
      assert.isTrue(yield* Effect.flatMap(Runs.Runs, ({ cancel }) => cancel("first")).pipe(Effect.provide(runs)))
      assert.deepEqual((yield* store.list({})).map(({ isCancelled }) => isCancelled), [true, true])
    }).pipe(Effect.scoped))
})
