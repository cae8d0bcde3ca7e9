/** Circuits of writes with a key, and of replayed results. */

import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Layer, Schedule, Schema } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { TestClock } from "effect/testing"
import { Agent, IdempotencyLedger, Recovery, Tool } from "@recourse/core"
import { by, collect, Down } from "../support/kit.ts"
import { breaker, play } from "../support/circuitService.ts"

const { call, text } = ScriptedModel

describe("a write whose circuit opens between two attempts", () => {
  it.effect("may still have happened", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("pay", {
        effects: "write",
        timeout: "1 second",
        idempotency: true,
        execute: () => Effect.suspend(() => (runs++, Effect.never))
      }).pipe(
        Tool.onError((call) =>
          call.pipe(Recovery.circuitBreaker(), Recovery.retry({ times: 5, schedule: Schedule.forever }))
        )
      )
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
      const { results } = yield* Drive.drive(play(agent, [call("pay", {}), call("pay", {}), text("ok")]))
      assert.deepStrictEqual(results.flat().map((result) => result.code), ["outcome_unknown", "circuit_open"])
      assert.strictEqual(runs, 2)
    }).pipe(Effect.provide(Layer.merge(breaker, IdempotencyLedger.layerMemory))))
})

describe("a key that has a result", () => {
  /** Pays order 1, and is down from then on. */
  const bank = () => {
    const state = { runs: 0 }
    const tool = Tool.make("pay", {
      parameters: Schema.Struct({ order: Schema.Int }),
      success: Schema.String,
      effects: "write",
      idempotency: { key: ({ order }) => `${order}` },
      execute: ({ order }) =>
        Effect.suspend(() => ++state.runs === 1 ? Effect.succeed(`paid ${order}`) : Effect.fail(new Down()))
    })
    return { state, tool }
  }

  const pay = (order: number) => call("pay", { order })
  const stateOf = (circuit: string) =>
    Effect.flatMap(CircuitBreaker.CircuitBreaker, (breaker) => Effect.map(breaker.state(circuit), ({ _tag }) => _tag))

  const keyed = Recovery.policy({
    ExecutionError: "escalate",
    OutcomeUnknown: "escalate",
    IdempotencyConflict: "escalate",
    LedgerUnavailable: "escalate",
    CircuitOpen: "escalate"
  })

  const recoveries = {
    "the tool's": (tool: ReturnType<typeof bank>["tool"]) =>
      Agent.make("a", {
        tools: [tool.pipe(Tool.onError(Recovery.circuitBreaker()))],
        defaults: { onError: keyed }
      }),
    "the agent's": (tool: ReturnType<typeof bank>["tool"]) =>
      Agent.make("a", { tools: [tool], onToolError: { pay: Recovery.circuitBreaker() }, defaults: { onError: keyed } })
  }

  for (const [whose, make] of Object.entries(recoveries)) {
    it.effect(`is answered with an open circuit in ${whose} recovery; others do not run`, () =>
      Effect.gen(function*() {
        const { state, tool } = bank()
        const agent = make(tool)
        const { events, layer } = collect()
        const { results } = yield* Drive.drive(
          play(agent, [pay(1), pay(2), pay(3), pay(1), pay(4), pay(2), pay(1), text("ok")]).pipe(Effect.provide(layer))
        )
        assert.deepStrictEqual(results.flat().map((result) => result.code ?? result), [
          "paid 1",
          "outcome_unknown",
          "outcome_unknown",
          // The circuit is open from here.
          "paid 1",
          "circuit_open",
          // Started, with an unknown outcome: this is true in any state of the circuit.
          "outcome_unknown",
          "paid 1"
        ] as ReadonlyArray<unknown>)
        assert.strictEqual(state.runs, 3)
        assert.strictEqual(events.filter((event) => event._tag === "ToolReplayed").length, 2)
        assert.strictEqual(events.filter((event) => event._tag === "ToolCircuitOpen").length, 1)
        assert.strictEqual(yield* stateOf("pay"), "Open")

        // A replay has neither closed nor opened anything, and a key that was refused is free.
        yield* TestClock.adjust("30 seconds")
        state.runs = 0
        const { results: later } = yield* play(agent, [pay(4), text("ok")])
        assert.deepStrictEqual(later.flat(), ["paid 4"] as ReadonlyArray<unknown>)
        assert.strictEqual(yield* stateOf("pay"), "Closed")
      }).pipe(Effect.provide(Layer.merge(breaker, IdempotencyLedger.layerMemory))))
  }

  it.effect("is answered if `Recovery.idempotent` is around the circuit", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("book", {
        parameters: Schema.Struct({ seat: Schema.String }),
        success: Schema.Int,
        effects: "write",
        execute: () => Effect.suspend(() => ++runs === 1 ? Effect.succeed(1) : Effect.fail(new Down()))
      }).pipe(
        Tool.onError((call) =>
          call.pipe(Recovery.circuitBreaker(), Recovery.idempotent({ key: ({ seat }) => String(seat) }))
        )
      )
      const book = (seat: string) => Effect.exit(tool.call.pipe(by({ seat }, seat)))
      const tags = (yield* Effect.forEach(["a", "b", "c", "d", "a"], book)).map((exit) =>
        exit._tag === "Success" ? exit.value : (Cause.squash(exit.cause) as { readonly _tag: string })._tag
      )
      assert.deepStrictEqual(tags, [1, "OutcomeUnknown", "OutcomeUnknown", "CircuitOpen", 1])
      assert.strictEqual(runs, 3)
    }).pipe(Effect.provide(Layer.merge(breaker, IdempotencyLedger.layerMemory))))
})

describe("a replayed result", () => {
  it.effect("does not close a circuit that is tried", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("pay", {
        parameters: Schema.Struct({ order: Schema.Int }),
        success: Schema.Int,
        effects: "write",
        idempotency: { key: ({ order }) => `${order}` },
        execute: () => Effect.suspend(() => ++runs === 1 ? Effect.succeed(1) : Effect.fail(new Down()))
      }).pipe(Tool.onError(Recovery.circuitBreaker()))
      const pay = (order: number) => tool.call.pipe(by({ order }, `c${order}`))
      yield* pay(1)
      yield* Effect.flip(pay(2))
      yield* Effect.flip(pay(3))
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(yield* pay(1), 1)
      const state = yield* Effect.flatMap(CircuitBreaker.CircuitBreaker, (breaker) => breaker.state("pay"))
      assert.strictEqual(state._tag, "HalfOpen")
      assert.strictEqual(runs, 3)
    }).pipe(Effect.provide(Layer.merge(breaker, IdempotencyLedger.layerMemory))))
})
