/** Run ids: requirements of a restarted run. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Fiber, Layer, Random, Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import {
  Agent,
  type AgentEvent,
  AgentEvent as Events,
  IdempotencyLedger,
  Recovery,
  Tool,
  ToolCall
} from "@recourse/core"
import { collect, lastResults } from "../support/kit.ts"

const payments = () => {
  const keys: Array<string> = []
  let hangs = false
  const Pay = Tool.make("pay", {
    parameters: Schema.Struct({ order: Schema.Int }),
    success: Schema.String,
    effects: "write",
    idempotency: true,
    execute: () =>
      Effect.flatMap(ToolCall.ToolCall, ({ idempotencyKey }) => {
        keys.push(idempotencyKey ?? "")
        return hangs ? Effect.never : Effect.succeed(`paid ${keys.length}`)
      })
  })
  const agent = Agent.make("clerk", { tools: [Pay], defaults: { onError: Recovery.standard } })
  return { agent, keys, hang: (does: boolean) => hangs = does }
}

const script = ScriptedModel.layer([
  ScriptedModel.call("pay", { order: 7 }),
  ScriptedModel.text("done"),
  ScriptedModel.call("pay", { order: 7 }, { id: "call_1" }),
  ScriptedModel.text("done")
])

describe("a run id", () => {
  it.effect("is used in events, record and nested runs, for any start", () =>
    Effect.gen(function*() {
      const { agent } = payments()
      const outer = Agent.fromFunction("outer", (input: string) => agent.run(input, { runId: "ignored" }))
      const { events, layer } = collect()
      const report = yield* outer.report("go", { runId: "order-7" }).pipe(
        Effect.provide(Layer.mergeAll(script, layer, IdempotencyLedger.layerMemory))
      )
      assert.strictEqual(report.runId, "order-7")
      assert.deepStrictEqual([...new Set(events.map((event: AgentEvent.AgentEvent) => event.runId))], ["order-7"])
      const ran: Array<string> = []
      const heard = Events.listen((event) => Effect.sync(() => event._tag === "RunStarted" && ran.push(event.runId)))
      yield* agent.start("go", { runId: "started" }).pipe(
        Effect.provide(Layer.mergeAll(script, heard, IdempotencyLedger.layerMemory))
      )
      yield* agent.run("go", { runId: "run" }).pipe(
        Effect.provide(Layer.mergeAll(script, heard, IdempotencyLedger.layerMemory))
      )
      assert.deepStrictEqual(ran, ["started", "run"])
    }))

  it.effect("makes the same call of a restarted run the same write", () =>
    Effect.gen(function*() {
      const { agent, keys } = payments()
      const again = Effect.flatMap(
        agent.run("go", { runId: "order-7" }),
        () => Effect.flatMap(ScriptedModel.ScriptedModel, (model) => model.lastRequest)
      ).pipe(Effect.map(({ prompt }) => lastResults(prompt)[0]?.result), Effect.provide(script))
      const results = yield* Effect.all([again, again]).pipe(Effect.provide(IdempotencyLedger.layerMemory))
      assert.deepStrictEqual(results, ["paid 1", "paid 1"])
      assert.strictEqual(keys.length, 1)
    }))

  it.live("after a crash the write is unknown and not repeated", () =>
    Effect.gen(function*() {
      const { agent, hang, keys } = payments()
      /** Processes with one store. */
      const process = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        effect.pipe(
          Effect.provide(Layer.fresh(IdempotencyLedger.layerKeyValueStore())),
          Effect.provide(Layer.fresh(script))
        )
      const told = yield* Effect.gen(function*() {
        hang(true)
        const first = yield* Effect.forkChild(process(agent.run("go", { runId: "order-7" })))
        while (keys.length === 0) yield* Effect.sleep("1 millis")
        yield* Fiber.interrupt(first)
        hang(false)
        return yield* process(Effect.andThen(
          agent.run("go", { runId: "order-7" }),
          Effect.flatMap(ScriptedModel.ScriptedModel, (model) => model.lastRequest)
        ))
      }).pipe(Effect.provide(KeyValueStore.layerMemory))
      assert.deepInclude(lastResults(told.prompt)[0]?.result, { code: "outcome_unknown" })
      assert.strictEqual(keys.length, 1)
    }))

  it.effect("is unique for each run by default, also under one seed", () =>
    Effect.gen(function*() {
      const { agent, keys } = payments()
      const run = agent.report("go").pipe(Random.withSeed("seed"), Effect.provide(script))
      const reports = yield* Effect.all([run, run]).pipe(Effect.provide(IdempotencyLedger.layerMemory))
      assert.notStrictEqual(reports[0].runId, reports[1].runId)
      assert.strictEqual(new Set(keys).size, 2)
      const virtual = yield* VirtualTime.run(
        Effect.map(run, ({ runId }) => runId).pipe(
          Effect.provide(IdempotencyLedger.layerMemory)
        )
      )
      assert.isTrue(Exit.isSuccess(virtual.exit))
    }))

  it.effect("is not empty", () =>
    Effect.gen(function*() {
      const { agent } = payments()
      const exit = yield* Effect.exit(agent.run("go", { runId: "" })).pipe(
        Effect.provide(Layer.merge(script, IdempotencyLedger.layerMemory))
      )
      assert.isTrue(Exit.hasDies(exit))
    }))
})
