/** Keyed calls that a crash interrupted: their outcome is unknown unless `reconcile` finds it. */

import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Schema } from "effect"
import { TestClock } from "effect/testing"
import type { IdempotencyLedger } from "@recourse/core"
import { Agent, Reconciliation, Recovery, Tool, type ToolError } from "@recourse/core"
import { by } from "../support/kit.ts"
import { code, Declined, key, Lost, parameters, Pay, play, recording, service } from "../support/keyedPayments.ts"

const { call, text } = ScriptedModel

describe("a call that was cut off", () => {
  /** A ledger in which the call of order 7 was started ten minutes ago, without an outcome. */
  const cutOff = Effect.gen(function*() {
    const { entries, layer, log } = recording()
    const { pay } = service()
    const first = yield* Effect.forkChild(
      Pay(pay, () => Effect.never).call.pipe(by({ order: 7 }), Effect.provide(layer)),
      { startImmediately: true }
    )
    while (entries.size === 0) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    yield* Fiber.interrupt(first)
    log.length = 0
    yield* TestClock.adjust("10 minutes")
    // Another layer of the same store, like in another process.
    return { entries, layer: Layer.fresh(layer), log }
  })

  const after = <E, R>(reconcile?: Effect.Effect<Reconciliation.Reconciliation<string>, E, R>) =>
    Effect.gen(function*() {
      const { layer, log } = yield* cutOff
      const { keys, pay } = service()
      const asked: Array<string> = []
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        idempotency: reconcile === undefined ? { key } : {
          key,
          reconcile: (entry, { order }) => {
            asked.push(`${entry.callId} ${order}`)
            return reconcile
          }
        },
        execute: () => pay()
      })
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
      const { last } = yield* (play(agent, [call("pay", { order: 7 }), text("ok")]) as Effect.Effect<
        Effect.Success<ReturnType<typeof play>>,
        never,
        IdempotencyLedger.IdempotencyLedger
      >).pipe(Effect.provide(layer))
      return { result: last[0]?.result, asked, keys, log }
    })

  it.effect("is an unknown outcome, and is not run again", () =>
    Effect.gen(function*() {
      const { keys, log, result } = yield* after()
      assert.strictEqual(code(result), "outcome_unknown")
      assert.deepStrictEqual(keys, [])
      assert.deepStrictEqual(log, ["begin"])
    }))

  it.effect("is answered with the finding of `reconcile`, which is recorded", () =>
    Effect.gen(function*() {
      const found = yield* after(Effect.succeed(Reconciliation.completed("payment 1")))
      assert.strictEqual(found.result, "payment 1")
      assert.deepStrictEqual(found.asked, ["c1 7"])
      assert.deepStrictEqual(found.keys, [])
      assert.deepStrictEqual(found.log, ["begin", "take", "complete"])
    }))

  it.effect("runs if `reconcile` found that it was not done", () =>
    Effect.gen(function*() {
      const found = yield* after(Effect.succeed(Reconciliation.notStarted))
      assert.strictEqual(found.result, "payment 1")
      assert.deepStrictEqual(found.keys, ["order-7"])
      assert.deepStrictEqual(found.log, ["begin", "take", "renew", "complete"])
    }))

  it.effect("lists only its own failure if `reconcile` found no effect", () =>
    Effect.gen(function*() {
      const { layer } = yield* cutOff
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        failure: Schema.Never,
        effects: "write",
        idempotency: { key, reconcile: () => Effect.succeed(Reconciliation.notStarted) },
        execute: () => Effect.fail(new Declined())
      })
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 7 }, "c2"), Effect.provide(layer)))
      assert.deepStrictEqual(
        (error as ToolError.OutcomeUnknown).causes.map(({ error, reason }) => [error, (reason as Declined)._tag]),
        [["ExecutionError", "Declined"]]
      )
    }))

  it.effect("stays unknown if `reconcile` cannot decide, or fails", () =>
    Effect.gen(function*() {
      for (const reconcile of [Effect.succeed(Reconciliation.unknown), Effect.fail(new Lost())]) {
        const found = yield* after(reconcile)
        assert.strictEqual(code(found.result), "outcome_unknown")
        assert.deepStrictEqual(found.keys, [])
      }
    }))

  it.effect("does not wait for itself when it is retried", () =>
    Effect.gen(function*() {
      const { layer, log } = yield* cutOff
      const { keys, pay } = service()
      const tool = Pay(pay).pipe(Tool.onError((call) => Effect.retry(call, { times: 2 })))
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 7 }, "c2"), Effect.provide(layer)))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      assert.deepStrictEqual(log, ["begin", "begin", "begin"])
      assert.deepStrictEqual(keys, [])
    }))

  it.effect("says how long ago it began", () =>
    Effect.gen(function*() {
      const { layer } = yield* cutOff
      const { pay } = service()
      const error = yield* Effect.flip(Pay(pay).call.pipe(by({ order: 7 }, "c2"), Effect.provide(layer)))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      if (error._tag === "OutcomeUnknown") assert.include(error.message, "10m")
    }))
})
