/** Leases of a process whose clock is set, or whose store falls silent. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, IdempotencyLedger, Recovery, Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Clock, Effect, Layer, Schema } from "effect"

const lease = "15 seconds"

/** A clock whose wall clock can be set, like that of a machine. */
const adjustable = (clock: Clock.Clock) => {
  let shift = 0
  const millis = () => clock.currentTimeMillisUnsafe() + shift
  const nanos = () => clock.currentTimeNanosUnsafe() + BigInt(shift) * 1_000_000n
  const wall: Clock.Clock = {
    currentTimeMillisUnsafe: millis,
    currentTimeMillis: Effect.sync(millis),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
    monotonicTimeNanos: clock.monotonicTimeNanos,
    sleep: (duration) => clock.sleep(duration)
  }
  return { wall, set: (by: number) => void (shift += by) }
}

/** Two processes on one store: the wall clock of the first is set while it executes a write of a minute. */
const executed = (by: number) =>
  VirtualTime.run(Effect.scoped(Effect.gen(function*() {
    const clock = adjustable(yield* Clock.Clock)
    const shared = Layer.succeedContext(yield* Layer.build(RunStore.layerMemory))
    const processOf = (name: string) => {
      const work = Tool.make("work", {
        success: Schema.String,
        effects: "write",
        execute: () => Effect.delay(Effect.succeed(`by ${name}`), "1 minute")
      })
      const agent = Durable.make(Agent.make("clerk", { tools: [work], defaults: { onError: Recovery.keepGoing } }))
      const model = ScriptedModel.layer(({ prompt }) =>
        prompt.content.at(-1)?.role === "tool"
          ? ScriptedModel.text(JSON.stringify(prompt.content.at(-1)?.content))
          : ScriptedModel.call("work", {})
      )
      return {
        agent,
        layer: Layer.fresh(Durable.layer([agent], { lease })).pipe(Layer.provide([model, shared]))
      }
    }
    const first = processOf("first")
    const runs = yield* Effect.provideService(Layer.build(first.layer), Clock.Clock, clock.wall)
    yield* Effect.provide(first.agent.start("r1", "go"), runs)
    yield* Effect.sleep("3 seconds")
    clock.set(by)
    const second = processOf("second")
    return yield* Effect.provide(second.agent.await("r1"), yield* Layer.build(second.layer))
  })))

/** An agent that waits for a person after a write that it can compensate. */
const travelOf = (log: Array<string>) => {
  const book = Tool.make("book", {
    success: Schema.String,
    effects: "write",
    execute: () => Effect.sync(() => (log.push("booked"), "booked")),
    compensate: () => Effect.sync(() => void log.push("cancelled"))
  })
  const sign = Tool.make("sign", { effects: "read", needsApproval: true, execute: () => Effect.void })
  return Agent.make("travel", { tools: [book, sign], compensation: {}, defaults: { onError: Recovery.keepGoing } })
}

const travelModel = ScriptedModel.layer(({ prompt }) =>
  prompt.content.at(-1)?.role === "tool" ? ScriptedModel.call("sign", {}) : ScriptedModel.call("book", {})
)

describe("the leases of a process", () => {
  for (const [name, by] of [["back", -3_600_000], ["forward", 3_600_000]] as const) {
    it.live(`are renewed while its wall clock goes ${name} by an hour`, () =>
      Effect.gen(function*() {
        const { exit } = yield* executed(by)
        assert.include(yield* exit, "by first")
      }))
  }

  for (const [name, leaves] of [["are lost", "silent"], ["end with it", "stops"]] as const) {
    it.live(`that ${name} leave the compensation of a cancelled run to another`, () =>
      Effect.gen(function*() {
        const log: Array<string> = []
        const travel = travelOf(log)
        const agent = Durable.make(travel)
        const { exit } = yield* VirtualTime.run(Effect.scoped(Effect.gen(function*() {
          const shared = Layer.succeedContext(yield* Layer.build(RunStore.layerMemory))
          const processOf = (store: typeof shared, one = agent) =>
            Layer.build(
              Layer.fresh(Durable.layer([one], { lease, grace: 1 })).pipe(Layer.provide([travelModel, store]))
            )
          yield* Effect.scoped(Effect.gen(function*() {
            const runs = yield* processOf(shared)
            yield* Effect.provide(agent.start("r1", "go"), runs)
            yield* Effect.sleep("5 seconds")
          }))
          // The agent of this process begins late: its store falls silent, or it stops, before that.
          let renewals = 0
          const silent = Layer.effect(
            RunStore.RunStore,
            Effect.map(RunStore.RunStore, (store): RunStore.Store => ({
              ...store,
              take: (wanted) => {
                if (wanted.leases !== undefined) renewals++
                return leaves === "silent" && renewals > 3 ? Effect.never : store.take(wanted)
              }
            }))
          ).pipe(Layer.provide(shared))
          const late = Durable.make(travel.pipe(Agent.provide(Layer.effectDiscard(Effect.sleep("1 minute")))))
          yield* Effect.forkScoped(Effect.scoped(Effect.andThen(
            processOf(silent as typeof shared, late),
            Effect.sleep(leaves === "stops" ? "10 seconds" : "1 hour")
          )))
          const client = yield* Layer.build(Durable.layerClient([agent]).pipe(Layer.provide(shared)))
          yield* Effect.provide(agent.cancel("r1"), client)
          yield* Effect.sleep("40 seconds")
          yield* processOf(shared)
          return yield* Effect.provide(Effect.flatMap(Runs.Runs, (runs) => runs.wait("r1")), client)
        })))
        assert.strictEqual((yield* exit).status, "cancelled")
        assert.deepStrictEqual(log, ["booked", "cancelled"])
      }))
  }

  it.live("do not hold up its stop after it took its own run again", () =>
    Effect.gen(function*() {
      const gone = Effect.fail(new RunStore.RunStoreError({ operation: "host", reason: "gone" }))
      const tools = ["read", "write", "keyed"].map((name) =>
        Tool.make(name, {
          success: Schema.String,
          effects: name === "read" ? "read" : "write",
          ...(name === "keyed" ? { idempotency: true } : undefined),
          execute: () => Effect.delay(Effect.succeed("done"), "3 seconds")
        })
      )
      const agent = Durable.make(Agent.make("clerk", { tools, defaults: { onError: Recovery.keepGoing } }))
      let retaken = 0
      // From an operation on, all that the process writes fails, and its leases are not renewed.
      for (let at = 1; at <= 10; at++) {
        let operations = 0
        const store = Layer.effect(
          RunStore.RunStore,
          Effect.map(RunStore.RunStore, (store): RunStore.Store => ({
            ...store,
            load: () => gone,
            append: (steps) => Effect.suspend(() => ++operations < at ? store.append(steps) : gone),
            settle: () => gone,
            take: (wanted) =>
              wanted.leases === undefined
                ? Effect.tap(store.take(wanted), ({ taken }) => Effect.sync(() => void (retaken += taken.length)))
                : Effect.never
          }))
        ).pipe(Layer.provide(RunStore.layerMemory))
        const { stopped } = yield* VirtualTime.run(
          Effect.andThen(agent.start("r1", "go"), Effect.sleep("1 minute")).pipe(
            Effect.provide(
              Durable.layer([agent], { lease }).pipe(Layer.provide([
                ScriptedModel.layer([
                  ScriptedModel.calls([{ name: "read", params: {} }, { name: "write", params: {} }]),
                  ScriptedModel.call("keyed", {}),
                  ScriptedModel.text("done")
                ]),
                store,
                IdempotencyLedger.layerMemory
              ]))
            )
          ),
          { limit: "10 minutes" }
        )
        assert.isUndefined(stopped, `the stop behind operation ${at}`)
      }
      assert.isAbove(retaken, 5)
    }))
})
