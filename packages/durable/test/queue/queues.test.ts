/** Queues over all runners, starts with a delay or by cron, runs that start runs, signals. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Cron, Effect, Exit, Layer, Schema } from "effect"
import { Agent, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore, Signal } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { localStores } from "../support/localStores.ts"

const memory = () => Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory)))))

/** An agent that takes a while, and notes when it runs. */
const working = (millis: number, queue?: Durable.Queue) => {
  const spans: Array<{ readonly from: number; readonly to: number }> = []
  const agent = Durable.make(
    Agent.fromFunction("worker", (n: number) =>
      Effect.gen(function*() {
        const from = yield* Clock.currentTimeMillis
        yield* Effect.sleep(millis)
        spans.push({ from, to: yield* Clock.currentTimeMillis })
        return n
      })),
    { input: Schema.Int, output: Schema.Int, queue }
  )
  return { agent, spans }
}

const all = <A, E, R>(ids: ReadonlyArray<A>, each: (id: A) => Effect.Effect<unknown, E, R>) =>
  Effect.forEach(ids, each, { concurrency: "unbounded", discard: true })

const numbers = (count: number) => Array.from({ length: count }, (_, n) => n)

const most = (spans: ReadonlyArray<{ readonly from: number; readonly to: number }>): number =>
  Math.max(...spans.map(({ from }) => spans.filter((other) => other.from <= from && other.to > from).length))

describe("a queue", () => {
  it.live("limits an agent's concurrent runs over all runners, one killed", () =>
    Effect.gen(function*() {
      const { agent, spans } = working(10_000, { concurrency: 3 })
      const store = memory()
      const process = all(numbers(12), (n) => agent.run(`r${n}`, n)).pipe(
        Effect.provide(Durable.layer([agent]).pipe(Layer.provide(store)))
      )
      const ended = yield* VirtualTime.runAll<unknown, unknown, never>([
        { effect: process },
        { effect: process, identity: 1, killAt: 1500 },
        { effect: process, identity: 2 }
      ], { steps: 2_000_000 })
      assert.strictEqual(ended[1]?.stopped, "killed")
      assert.isTrue(Exit.isSuccess(ended[0]!.exit) && Exit.isSuccess(ended[2]!.exit))
      assert.strictEqual(most(spans), 3)
    }))

  for (
    const [name, store] of [
      ["memory", memory()],
      ["sqlite", localStores.sqlite]
    ] as const
  ) {
    it.live(`lets so many runs begin in a time: ${name}`, () => {
      const { agent, spans } = working(1, { rate: { limit: 5, per: name === "memory" ? "10 seconds" : "500 millis" } })
      const per = name === "memory" ? 10_000 : 500
      const process = all(numbers(18), (n) => agent.run(`r${n}`, n)).pipe(
        Effect.provide(Durable.layer([agent], { poll: per / 20 }).pipe(Layer.provide(store)))
      )
      const timed = name === "memory" ? Effect.flatMap(VirtualTime.run(process), ({ exit }) => exit) : process
      return Effect.map(timed, () => {
        assert.strictEqual(spans.length, 18)
        const starts = spans.map(({ from }) => from).toSorted((a, b) => a - b)
        // A bucket of five, that is filled in the time: twice as many at most begin in any such time.
        for (const at of starts) {
          assert.isAtMost(starts.filter((other) => other >= at && other < at + per).length, 10)
        }
        assert.isAtLeast(starts.at(-1)! - starts[0]!, per * 2.4)
      })
    })
  }

  it("refuses a queue that would let no run continue", () => {
    assert.throws(() => working(1, { concurrency: 0 }), /at least one/)
    assert.throws(() => working(1, { rate: { limit: 3, per: 0 } }), /at least one/)
  })
})

describe("a start", () => {
  it.live("is delayed, over the processes that asked for it", () =>
    Effect.gen(function*() {
      const { agent, spans } = working(1)
      const store = memory()
      yield* Effect.provide(
        agent.start("r1", 1, { delay: "10 minutes" }),
        Durable.layerClient([agent]).pipe(Layer.provide(store))
      )
      const { exit } = yield* VirtualTime.run(
        agent.await("r1").pipe(Effect.provide(Durable.layer([agent]).pipe(Layer.provide(store)))),
        { steps: 1_000_000 }
      )
      assert.deepEqual(exit, Exit.succeed(1))
      assert.isAtLeast(spans[0]!.from, 590_000)
    }))

  it.live("happens by cron, once for all processes, also late", () =>
    Effect.gen(function*() {
      const days: Array<string> = []
      const report = Durable.make(
        Agent.fromFunction("report", (day: string) => Effect.sync(() => (days.push(day), day)))
      )
      const store = memory()
      const process = (limit: Parameters<typeof Effect.sleep>[0]) =>
        Effect.sleep(limit).pipe(
          Effect.provide(
            Durable.layerCron(report, {
              name: "report",
              cron: Cron.parseUnsafe("0 6 * * *", "UTC"),
              input: (at) => at.toISOString().slice(0, 10),
              catchUp: "12 hours"
            }).pipe(Layer.provide(Durable.layer([report], { poll: "1 hour" })), Layer.provide(store))
          )
        )
      const options = { steps: 2_000_000, limit: "30 days" } as const
      yield* VirtualTime.runAll<unknown, unknown, never>([
        { effect: process("3 days") },
        { effect: process("3 days"), identity: 1 }
      ], options)
      assert.deepEqual(days, ["1970-01-01", "1970-01-02", "1970-01-03"])
      // No process is live at six; at ten one is. The day before is too long ago.
      yield* VirtualTime.run(process("2 hours"), { ...options, startAt: (4 * 24 + 10) * 3_600_000 })
      assert.deepEqual(days.slice(3), ["1970-01-05"])
    }))
})

describe("a run that starts runs", () => {
  const leaf = (done: Array<number>) =>
    Durable.make(
      Agent.fromFunction("leaf", (n: number) =>
        Effect.andThen(Effect.sleep("5 seconds"), Effect.sync(() => (done.push(n), n)))),
      { input: Schema.Int, output: Schema.Int }
    )
  const family = (count: number) => {
    const done: Array<number> = []
    const Leaf = leaf(done)
    const Fan = Tool.make("fan", {
      success: Schema.Int,
      effects: "idempotent",
      execute: () =>
        Effect.map(
          Effect.forEach(
            numbers(count),
            (n) => Effect.flatMap(Durable.childId(String(n)), (id) => Leaf.run(id, n)),
            { concurrency: "unbounded" }
          ),
          (answers) => answers.reduce((sum, n) => sum + n, 0)
        )
    })
    const Root = Durable.make(Agent.make("root", { tools: [Fan], defaults: { onError: Recovery.keepGoing } }))
    const model = ScriptedModel.layer(({ prompt }) =>
      prompt.content.some(({ role }) => role === "tool")
        ? ScriptedModel.text("done")
        : ScriptedModel.call("fan", {}, { id: "c1" })
    )
    const store = memory()
    const layer = Durable.layer([Root, Leaf], { concurrency: 100 }).pipe(Layer.provide([store, model]))
    const client = Durable.layerClient([Root, Leaf]).pipe(Layer.provide(store))
    return { Root, Leaf, client, done, layer, store }
  }

  it.live("waits for a thousand of them without a slot", () =>
    Effect.gen(function*() {
      const { Root, done, layer } = family(1000)
      const { exit } = yield* VirtualTime.run(Root.run("r1", "go").pipe(Effect.provide(layer)), { steps: 20_000_000 })
      assert.deepEqual(exit, Exit.succeed("done"))
      assert.strictEqual(done.length, 1000)
    }), 60_000)

  it.live("joins them after a kill, and cancels them with itself", () =>
    Effect.gen(function*() {
      const killed = family(10)
      const first = yield* VirtualTime.run(killed.Root.run("r1", "go").pipe(Effect.provide(killed.layer)), {
        killAt: 1500
      })
      assert.strictEqual(first.stopped, "killed")
      const { exit } = yield* VirtualTime.run(killed.Root.run("r1", "go").pipe(Effect.provide(killed.layer)), {
        startAt: 60_000
      })
      assert.deepEqual(exit, Exit.succeed("done"))
      assert.deepEqual(new Set(killed.done), new Set(numbers(10)))
      const { Leaf, Root, client, done, layer } = family(10)
      const ended = yield* VirtualTime.run(
        Effect.gen(function*() {
          yield* Root.start("r1", "go")
          yield* Effect.sleep("2 seconds")
          yield* Root.cancel("r1")
          yield* Effect.sleep("20 seconds")
          return (yield* Leaf.poll("r1/c1/3")).status
        }).pipe(Effect.provide(layer))
      )
      assert.deepEqual(ended.exit, Exit.succeed("cancelled"))
      assert.deepEqual(done, [])
      const [info] = yield* Effect.provide(Effect.flatMap(Runs.Runs, (runs) => runs.list({ agent: "root" })), client)
      assert.strictEqual(info?.status, "cancelled")
    }))

  it.live("waits for a signal in any execution, first value per name", () =>
    Effect.gen(function*() {
      const Parcel = Tool.make("parcel", {
        success: Schema.String,
        effects: "read",
        execute: () => Effect.orDie(Signal.receive("parcel", Schema.String))
      })
      const clerk = Durable.make(Agent.make("clerk", { tools: [Parcel], defaults: { onError: Recovery.keepGoing } }))
      const store = memory()
      const told: Array<string> = []
      const model = ScriptedModel.layer(({ prompt }) => {
        told.push(JSON.stringify(prompt.content.at(-1)))
        return prompt.content.some(({ role }) => role === "tool")
          ? ScriptedModel.text("done")
          : ScriptedModel.call("parcel", {})
      })
      const process = clerk.run("r1", "go").pipe(
        Effect.provide(Durable.layer([clerk]).pipe(Layer.provide([store, model])))
      )
      const first = yield* VirtualTime.run(process, { killAt: 3000 })
      assert.strictEqual(first.stopped, "killed")
      assert.isTrue(yield* Effect.provide(Signal.send("r1", "parcel", "at the door"), store))
      assert.isFalse(yield* Effect.provide(Signal.send("r1", "parcel", "lost"), store))
      const unknown = yield* Effect.flip(Effect.provide(Signal.send("r2", "parcel", "x"), store))
      assert.strictEqual(unknown._tag, "UnknownRun")
      const { exit } = yield* VirtualTime.run(process, { startAt: 3_600_000 })
      assert.deepEqual(exit, Exit.succeed("done"))
      assert.include(told.at(-1)!, "at the door")
      // It has ended, and receives no value.
      assert.isFalse(yield* Effect.provide(Signal.send("r1", "letter", "late"), store))
    }))
})
