/** Callbacks of a program around a write that has started: whatever they do, the write is never reported as not run. */
import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Clock, Effect, Exit, Fiber, Layer, Option, Schema } from "effect"
import { Agent, History, IdempotencyLedger, Recovery, RunRecord, StoreTimeout, Tool } from "@recourse/core"

const Payment = Schema.Struct({ order: Schema.String })

const throws = (): never => {
  throw new TypeError("undefined is not a function")
}

/** Ways in which a callback does not answer. */
const failures: Readonly<Record<string, () => Effect.Effect<never, unknown>>> = {
  throws,
  dies: () => Effect.die("broken"),
  fails: () => Effect.fail("down"),
  hangs: () => Effect.never,
  "interrupts itself": () => Effect.interrupt,
  "cannot be interrupted": () => Effect.uninterruptible(Effect.never)
}

const agentOf = (paid: Array<string>, idempotency: unknown, ends: Effect.Effect<string>, options: object = {}) =>
  Agent.make("clerk", {
    tools: [
      Tool.make("pay", {
        parameters: Payment,
        success: Schema.String,
        effects: "write",
        idempotency,
        execute: ({ order }: typeof Payment.Type) => Effect.andThen(Effect.sync(() => void paid.push(order)), ends),
        ...options
      } as never)
    ],
    defaults: { onError: Recovery.keepGoing }
  } as never) as unknown as Agent.Agent<string, string, unknown, never>

const model = () =>
  ScriptedModel.layer([ScriptedModel.call("pay", { order: "7" }, { id: "c" }), ScriptedModel.text("end")])

const reported = (agent: Agent.Agent<string, string, unknown, never>) =>
  Effect.map(
    agent.report("go", { runId: "r" }).pipe(Effect.provide(model())),
    ({ exit, transcript }) => [exit._tag, ...History.claims(transcript).map(({ code, state }) => code ?? state)]
  )

/** Two executions of one run: the first is interrupted in the write, the second asks `reconcile`. */
const secondExecution = (reconcile: () => Effect.Effect<never, unknown>, options: object = {}) =>
  Effect.gen(function*() {
    const paid: Array<string> = []
    const first = yield* Effect.forkChild(
      agentOf(paid, { reconcile }, Effect.never).report("go", { runId: "r" }).pipe(Effect.provide(model())),
      { startImmediately: true }
    )
    for (let n = 0; n < 50 && paid.length === 0; n++) yield* Effect.yieldNow
    yield* Fiber.interrupt(first)
    const from = yield* Clock.currentTimeMillis
    const told = yield* Drive.drive(reported(agentOf(paid, { reconcile }, Effect.succeed("paid"), options)))
    return { paid, told, took: (yield* Clock.currentTimeMillis) - from }
  }).pipe(Effect.provide(IdempotencyLedger.layerMemory))

describe("a reconcile", () => {
  for (const [name, reconcile] of Object.entries(failures)) {
    it.effect(`that ${name} leaves the outcome unknown`, () =>
      Effect.gen(function*() {
        const { paid, told } = yield* secondExecution(reconcile)
        assert.deepStrictEqual(paid, ["7"])
        assert.deepStrictEqual(told, ["Success", "outcome_unknown"])
      }))
  }

  it.effect("has the time of an attempt of its tool", () =>
    Effect.gen(function*() {
      const { told, took } = yield* secondExecution(() => Effect.never, { timeout: "300 millis" })
      assert.deepStrictEqual(told, ["Success", "outcome_unknown"])
      assert.isAtMost(took, 500)
    }))

  it.effect("that is interrupted with its run leaves the outcome unknown", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const idempotency = { reconcile: () => Effect.never }
      const asked: Array<true> = []
      const asking = { reconcile: () => Effect.andThen(Effect.sync(() => void asked.push(true)), Effect.never) }
      const run = (given: unknown, ends: Effect.Effect<string>) =>
        agentOf(paid, given, ends).report("go", { runId: "r" }).pipe(Effect.provide(model()))
      const first = yield* Effect.forkChild(run(idempotency, Effect.never), { startImmediately: true })
      for (let n = 0; n < 50 && paid.length === 0; n++) yield* Effect.yieldNow
      yield* Fiber.interrupt(first)
      let told: unknown
      const second = yield* Effect.forkChild(
        Effect.onExit(
          agentOf(paid, asking, Effect.succeed("paid")).run("go", { runId: "r" }).pipe(Effect.provide(model())),
          (exit) =>
            Effect.sync(() => {
              if (Exit.isSuccess(exit)) return
              told = Option.map(
                RunRecord.fromCause(exit.cause),
                ({ transcript }) => History.claims(transcript).map(({ code, state }) => code ?? state)
              )
            })
        ),
        { startImmediately: true }
      )
      for (let n = 0; n < 50 && asked.length === 0; n++) yield* Effect.yieldNow
      assert.deepStrictEqual(asked, [true])
      yield* Fiber.interrupt(second)
      assert.deepStrictEqual(told, Option.some(["outcome_unknown"]))
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

/** Operations of a store of the program's own. */
const operations = ["begin", "renew", "complete", "release"] as const

const storeThat = (operation: typeof operations[number], fails: () => Effect.Effect<never, unknown>) => {
  const store = {
    begin: () => Effect.undefined,
    renew: () => Effect.succeed(true),
    take: () => Effect.succeed(true),
    complete: () => Effect.succeed("recorded" as const),
    release: () => Effect.void
  }
  return IdempotencyLedger.layer({ ...store, [operation]: fails } as never)
}

describe("a store of a program's own", () => {
  for (const operation of operations) {
    for (const [name, fails] of Object.entries(failures)) {
      it.effect(`whose ${operation} ${name} ends no run`, () =>
        Effect.gen(function*() {
          const paid: Array<string> = []
          const exit = yield* Effect.exit(Drive.drive(reported(agentOf(paid, true, Effect.succeed("paid")))))
          assert.isTrue(Exit.isSuccess(exit), String(exit))
          const [ended, told] = Exit.isSuccess(exit) ? exit.value : []
          assert.strictEqual(ended, "Success")
          if (operation === "begin") assert.deepStrictEqual(paid, [])
          else assert.strictEqual(told, "done")
        }).pipe(Effect.provide(Layer.merge(storeThat(operation, fails), StoreTimeout.layer("1 second")))))
    }
  }

  it.effect("that gives no answer holds a call for one limit", () =>
    Effect.gen(function*() {
      const from = yield* Clock.currentTimeMillis
      const told = yield* Drive.drive(reported(agentOf([], true, Effect.succeed("paid"))))
      assert.strictEqual(told[0], "Success")
      assert.isAtMost((yield* Clock.currentTimeMillis) - from, 10_500)
    }).pipe(Effect.provide(IdempotencyLedger.layer({
      begin: () => Effect.never,
      renew: () => Effect.never,
      take: () => Effect.never,
      complete: () => Effect.never,
      release: () => Effect.never
    }))))
})
