/** Compensated writes under keys: no call that a ledger entry answered is reported as done after the write was compensated. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Fiber, Layer, Schema } from "effect"
import { KeyValueStore } from "effect/persistence"
import { Agent, History, IdempotencyLedger, Journal, Reconciliation, Recovery, Tool } from "@recourse/core"
import { type CutAt, journalOf } from "../support/interruptedRuns.ts"

const Order = Schema.Struct({ order: Schema.String })

const paying = (millis = 0, fails = false, idempotency: object = {}) => {
  const world: Array<string> = []
  const tool = Tool.make("pay", {
    parameters: Order,
    success: Schema.String,
    effects: "write",
    idempotency: { key: ({ order }) => order, ...idempotency },
    execute: ({ order }) => Effect.sync(() => (world.push(`paid ${order}`), "paid")),
    compensate: ({ order }) =>
      Effect.gen(function*() {
        world.push("compensation starts")
        yield* Effect.sleep(millis)
        if (fails) return yield* Effect.fail("down")
        world.push(`compensated ${order}`)
      })
  })
  return { tool, world }
}

type AnyAgent = Agent.Agent<string, string, unknown, never>

const agentOf = (name: string, tools: ReadonlyArray<unknown>, turns: unknown, options: object = {}): AnyAgent =>
  Agent.make(name, { tools, defaults: { onError: Recovery.keepGoing }, ...options } as never).pipe(
    Agent.provide(ScriptedModel.layer(turns as never))
  ) as unknown as AnyAgent

const pay = (id: string) => ScriptedModel.call("pay", { order: "7" }, { id })
const fails = ScriptedModel.failure("InvalidRequestError")

const claimsOf = (agent: AnyAgent) =>
  Effect.map(
    agent.report("go"),
    ({ transcript }) => History.claims(transcript).map(({ id, state }) => `${id} ${state}`)
  )

/** Ledgers of one process, and of processes that share a store. */
const ledgers = {
  memory: IdempotencyLedger.layerMemory,
  "key-value store": IdempotencyLedger.layerKeyValueStore().pipe(Layer.provide(KeyValueStore.layerMemory))
}

describe("a write that a run compensates", () => {
  it.effect("marks each call of the run that its entry answered", () =>
    Effect.gen(function*() {
      const { tool, world } = paying()
      const agent = agentOf("a", [tool], ScriptedModel.steps([pay("c1"), pay("c2"), fails]), { compensation: {} })
      assert.deepStrictEqual(yield* claimsOf(agent), ["c1 undone", "c2 undone"])
      assert.deepStrictEqual(world, ["paid 7", "compensation starts", "compensated 7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("marks the call of a nested agent that its entry answered", () =>
    Effect.gen(function*() {
      const { tool } = paying()
      const inner = agentOf("inner", [tool], ScriptedModel.steps([pay("i"), ScriptedModel.text("paid")])).pipe(
        Agent.asTool("ask", { description: "Asks", effects: "write" } as never) as never
      )
      const agent = agentOf(
        "a",
        [tool, inner],
        ScriptedModel.steps([pay("c1"), ScriptedModel.call("ask", { input: "x" }, { id: "c2" }), fails]),
        { compensation: {} }
      )
      assert.deepStrictEqual(yield* claimsOf(agent), ["c1 undone", "c2 undone"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("stays if a live outer call received it", () =>
    Effect.gen(function*() {
      const { tool, world } = paying()
      const inner = agentOf(
        "inner",
        [tool],
        ScriptedModel.steps([pay("i"), ScriptedModel.delay("50 millis", fails)]),
        { compensation: {} }
      ).pipe(Agent.asTool("ask", { description: "Asks", effects: "write" } as never) as never)
      const agent = agentOf(
        "a",
        [tool, inner],
        ScriptedModel.steps([
          ScriptedModel.calls([
            { name: "ask", params: { input: "x" }, id: "b" },
            { name: "pay", params: { order: "7" }, id: "a" }
          ]),
          ScriptedModel.text("end")
        ])
      )
      const states = yield* Drive.drive(claimsOf(agent))
      assert.deepStrictEqual(world, ["paid 7"])
      assert.include(states, "a done")
      assert.notInclude(states, "b done")
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("is compensated by the failing run whose live call received it", () =>
    Effect.gen(function*() {
      const { tool, world } = paying()
      const inner = agentOf(
        "inner",
        [tool],
        ScriptedModel.steps([pay("i"), ScriptedModel.delay("50 millis", fails)]),
        { compensation: {} }
      ).pipe(Agent.asTool("ask", { description: "Asks", effects: "write" } as never) as never)
      const agent = agentOf(
        "a",
        [tool, inner],
        ScriptedModel.steps([
          ScriptedModel.calls([
            { name: "ask", params: { input: "x" }, id: "b" },
            { name: "pay", params: { order: "7" }, id: "a" }
          ]),
          fails
        ]),
        { compensation: {} }
      )
      const states = yield* Drive.drive(claimsOf(agent))
      assert.deepStrictEqual(world, ["paid 7", "compensation starts", "compensated 7"])
      assert.include(states, "a undone")
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("stays if the winner of firstOf received it", () =>
    Effect.gen(function*() {
      const { tool, world } = paying()
      const loser = agentOf("loser", [tool], ScriptedModel.steps([pay("l"), ScriptedModel.hang]), { compensation: {} })
      const winner = agentOf(
        "winner",
        [tool],
        ScriptedModel.steps([ScriptedModel.delay("50 millis", pay("w")), ScriptedModel.text("paid")]),
        { compensation: {} }
      )
      const answer = yield* Drive.drive(
        Agent.firstOf("first", [loser, winner] as never).run("go" as never) as Effect.Effect<unknown>
      )
      assert.include(JSON.stringify(answer), "paid")
      assert.deepStrictEqual(world, ["paid 7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  for (const [name, ledger] of Object.entries(ledgers)) {
    for (const hasFailed of [false, true]) {
      it.effect(`answers no other run meanwhile, ${name}, ${hasFailed ? "compensation fails" : "compensation succeeds"}`, () =>
        Effect.gen(function*() {
          const { tool, world } = paying(100, hasFailed)
          const first = agentOf("a", [tool], ScriptedModel.steps([pay("c1"), fails]), { compensation: {} })
          const second = agentOf("b", [tool], ScriptedModel.steps([pay("c2"), ScriptedModel.text("end")]))
          const states = yield* Drive.drive(
            Effect.gen(function*() {
              const fiber = yield* Effect.forkChild(claimsOf(first))
              while (world.length < 2) yield* Effect.sleep(10)
              const states = yield* claimsOf(second)
              yield* Fiber.join(fiber)
              return states
            })
          )
          const balance = world.filter((line) => line.startsWith("paid")).length -
            world.filter((line) => line.startsWith("compensated")).length
          assert.deepStrictEqual(states, [hasFailed ? "c2 unknown" : "c2 done"])
          assert.strictEqual(balance, 1)
          if (!hasFailed) assert.deepStrictEqual(world, ["paid 7", "compensation starts", "compensated 7", "paid 7"])
        }).pipe(Effect.provide(ledger)))
    }
  }
})

/** Two calls with one key: in two answers, in one, and within one call. */
const twice: Readonly<Record<string, ReadonlyArray<ScriptedModel.Turn>>> = {
  "in two answers": [pay("c1"), pay("c2"), fails],
  "in one answer": [
    ScriptedModel.calls([
      { name: "pay", params: { order: "7" }, id: "c1" },
      { name: "pay", params: { order: "7" }, id: "c2" }
    ]),
    fails
  ]
}

describe("a write of a journaled run that answered two calls", () => {
  for (const [calls, turns] of Object.entries(twice)) {
    for (const idempotency of [{}, { reconcile: () => Effect.succeed(Reconciliation.unknown) }]) {
      const how = "reconcile" in idempotency ? "with reconcile" : "without reconcile"
      it.effect(`is compensated once by a later execution, ${calls}, ${how}`, () =>
        Effect.gen(function*() {
          const { life } = journalOf()
          const { tool, world } = paying(0, false, idempotency)
          const execution = (cut?: CutAt) => {
            const agent = agentOf("a", [tool], ScriptedModel.steps(turns as never), { compensation: {} })
            return Effect.map(
              agent.report("go", { runId: "run_1" }).pipe(
                Effect.provideService(Journal.CurrentJournal, life(cut).journal)
              ),
              ({ transcript }) => History.claims(transcript).map(({ id, state }) => `${id} ${state}`)
            )
          }
          yield* Effect.exit(execution({ at: 1, behind: false }))
          assert.deepStrictEqual(yield* execution(), ["c1 undone", "c2 undone"])
          assert.deepStrictEqual(world, ["paid 7", "compensation starts", "compensated 7"])
        }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
    }
  }
})
