/** A run with the id of a purged one: it is another run, and the purged one's unknown writes stay unknown. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Compensation, IdempotencyLedger, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore, Signal } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Layer, Schema } from "effect"
import { ledgerStore } from "../../../core/test/fixtures/sharedStore.ts"
import { localStores } from "../support/localStores.ts"

const parameters = Schema.Struct({ order: Schema.String })

const shop = (hasOwnKey: boolean) => {
  const paid: Array<string> = []
  const Pay = Tool.make("pay", {
    parameters,
    success: Schema.String,
    effects: "write",
    idempotency: hasOwnKey ? { key: ({ order }) => order } : true,
    execute: ({ order }) =>
      Effect.as(Effect.andThen(Effect.sync(() => paid.push(order)), Effect.sleep("1 minute")), "paid")
  })
  const results: Array<string> = []
  const Model = ScriptedModel.layer(({ prompt }) => {
    const last = prompt.content.at(-1)!
    if (last.role !== "tool") return ScriptedModel.call("pay", { order: "7" }, { id: "c1" })
    results.push(JSON.stringify(last.content))
    return ScriptedModel.text("done")
  })
  const agent = Durable.make(Agent.make("shop", { tools: [Pay], defaults: { onError: Recovery.keepGoing } }))
  return { agent, Model, paid, results }
}

describe("a run with the id of a purged one", () => {
  for (const hasOwnKey of [false, true]) {
    it.effect(`does not repeat its interrupted write, ${hasOwnKey ? "with an own key" : "by default"}`, () =>
      Effect.gen(function*() {
        const { agent, Model, paid, results } = shop(hasOwnKey)
        const program = Effect.gen(function*() {
          const runs = yield* Runs.Runs
          const store = yield* RunStore.RunStore
          yield* agent.start("order-7", "go")
          yield* Effect.sleep("10 seconds")
          yield* runs.cancel("order-7")
          yield* runs.wait("order-7")
          yield* Effect.sleep("1 minute")
          assert.strictEqual(yield* store.purge(0), 1)
          return yield* agent.run("order-7", "go")
        })
        const { exit } = yield* VirtualTime.run(program.pipe(
          Effect.provide(
            Durable.layer([agent]).pipe(
              Layer.provide([Model, IdempotencyLedger.layer(ledgerStore())]),
              Layer.provideMerge(RunStore.layerMemory)
            )
          )
        ))
        assert.strictEqual(exit?._tag, "Success")
        assert.deepStrictEqual(paid, ["7"])
        assert.include(results.at(-1)!, "outcome_unknown")
      }))
  }
})

/** A tool that books and cancels a seat, a model that calls it once, and what the tool did. */
const bookings = () => {
  const did: Array<string> = []
  const Book = Tool.make("book", {
    success: Schema.String,
    effects: "write",
    execute: () => Effect.sync(() => `seat ${did.push("book")}`),
    compensate: () => Effect.sync(() => void did.push("cancel"))
  })
  const Model = ScriptedModel.layer(({ prompt }) =>
    prompt.content.at(-1)!.role === "tool"
      ? ScriptedModel.text("done")
      : ScriptedModel.call("book", {}, { id: "c" })
  )
  return { Book, Model, did }
}

describe("a compensation of an ended run", () => {
  it.effect("is not answered by that of a purged run with its id", () =>
    Effect.gen(function*() {
      const { Book, Model, did } = bookings()
      const trip = Durable.make(Agent.make("trip", { tools: [Book], defaults: { onError: Recovery.keepGoing } }))
      const store = Layer.succeedContext(yield* Layer.build(RunStore.layerMemory))
      const at = (hours: number, effect: Effect.Effect<unknown, unknown, Runs.Runs | RunStore.RunStore>) =>
        Effect.map(
          VirtualTime.run(
            effect.pipe(Effect.provide(Durable.layer([trip]).pipe(Layer.provide(Model), Layer.provideMerge(store)))),
            { startAt: hours * 3_600_000 }
          ),
          ({ exit }) => assert.strictEqual(exit?._tag, "Success")
        )
      yield* at(0, trip.run("trip-7", "go"))
      yield* at(5, Compensation.compensate({ runId: "trip-7" }))
      yield* at(9, RunStore.purge({ keepFor: "6 hours" }))
      yield* at(10, trip.run("trip-7", "go"))
      yield* at(11, Compensation.compensate({ runId: "trip-7" }))
      yield* at(12, Compensation.compensate({ runId: "trip-7" }))
      assert.deepStrictEqual(did, ["book", "cancel", "book", "cancel"])
    }))
})

describe("a purge while a run has not ended", () => {
  it.effect("keeps its children, which a repeated call joins", () =>
    Effect.gen(function*() {
      let paid = 0
      const Pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        execute: () => Effect.sync(() => `paid ${++paid}`)
      })
      const child = Durable.make(Agent.make("child", { tools: [Pay], defaults: { onError: Recovery.keepGoing } }))
      const Order = Tool.make("order", {
        success: Schema.String,
        effects: "idempotent",
        execute: () =>
          Effect.orDie(
            Effect.tap(
              Effect.flatMap(Durable.childId(), (id) => child.run(id, "pay")),
              () => Signal.receive("parcel", Schema.String)
            )
          )
      })
      const parent = Durable.make(Agent.make("parent", { tools: [Order], defaults: { onError: Recovery.keepGoing } }))
      const Model = ScriptedModel.layer(({ prompt }) =>
        prompt.content.at(-1)!.role === "tool"
          ? ScriptedModel.text("done")
          : ScriptedModel.call(JSON.stringify(prompt.content).includes("pay") ? "pay" : "order", {})
      )
      const store = Layer.succeedContext(yield* Layer.build(RunStore.layerMemory))
      const process = parent.run("p1", "go").pipe(
        Effect.provide(Durable.layer([parent, child]).pipe(Layer.provide(Model), Layer.provideMerge(store)))
      )
      const first = yield* VirtualTime.run(process, { killAt: 3000 })
      assert.strictEqual(first.stopped, "killed")
      assert.strictEqual(paid, 1)
      const purge = (startAt: number) =>
        VirtualTime.run(Effect.provide(RunStore.purge({ keepFor: 0 }), store), { startAt })
      assert.deepStrictEqual((yield* purge(1_800_000)).exit, Exit.succeed(0))
      yield* Effect.provide(Signal.send("p1", "parcel", "here"), store)
      const { exit } = yield* VirtualTime.run(process, { startAt: 3_600_000 })
      assert.strictEqual(exit?._tag, "Success")
      assert.strictEqual(paid, 1)
      assert.deepStrictEqual((yield* purge(7_200_000)).exit, Exit.succeed(2))
    }))
})

describe("a purge while the parent of a compensated run has not ended", () => {
  for (const [name, layer] of Object.entries(localStores)) {
    it.live(`keeps the compensation, which is not repeated: ${name}`, () =>
      Effect.gen(function*() {
        const { Book, Model, did } = bookings()
        const child = Durable.make(Agent.make("child", { tools: [Book], defaults: { onError: Recovery.keepGoing } }))
        const parent = Durable.make(
          Agent.fromFunction("parent", (id: string) =>
            Effect.orDie(Effect.andThen(child.run(id, "book"), Signal.receive("parcel", Schema.String))))
        )
        const store = Layer.succeedContext(yield* Layer.build(Layer.fresh(layer)))
        const program = Effect.gen(function*() {
          yield* parent.start("p1", "c1")
          yield* Effect.sleep("1 second")
          yield* child.await("c1")
          yield* Compensation.compensate({ runId: "c1", by: "ada" })
          const purged = yield* RunStore.purge({ keepFor: 0 })
          const [write] = yield* Compensation.compensate({ runId: "c1", by: "bob" })
          yield* Signal.send("p1", "parcel", "here")
          yield* parent.await("p1")
          return { by: write?.by, purged, purgedAfterEnd: yield* RunStore.purge({ keepFor: 0 }) }
        })
        const { exit } = yield* VirtualTime.run(program.pipe(
          Effect.provide(Durable.layer([parent, child]).pipe(Layer.provide(Model), Layer.provideMerge(store)))
        ))
        assert.deepStrictEqual(yield* exit!, { by: "ada", purged: 0, purgedAfterEnd: 3 })
        assert.deepStrictEqual(did, ["book", "cancel"])
      }).pipe(Effect.scoped))
  }
})
