/** Calls with one idempotency key: the first result, conflicts, and calls without a key of their own. */

import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Schema } from "effect"
import { LanguageModel } from "effect/ai"
import { TestClock } from "effect/testing"
import { Agent, AiToolkit, IdempotencyLedger, Recovery, Tool, ToolCall, type ToolError } from "@recourse/core"
import { by, collect, lastResults } from "../support/kit.ts"
import { code, Declined, everything, Lost, Pay, PayByCall, play, service } from "../support/keyedPayments.ts"

const { call, calls, text } = ScriptedModel

describe("calls with one key", () => {
  it.effect("with equal arguments get the first result, waiting while it runs", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const { events, layer } = collect()
      const agent = Agent.make("a", { tools: [Pay(pay, () => Effect.sleep("3 seconds"))] })
      const { last } = yield* Drive.drive(
        play(agent, [
          calls([{ name: "pay", params: { order: 7 } }, { name: "pay", params: { order: 7 } }]),
          text("ok")
        ]).pipe(Effect.provide(layer))
      )
      assert.deepStrictEqual(last.map((part) => part.result), ["payment 1", "payment 1"])
      assert.deepStrictEqual(keys, ["order-7"])
      const replayed = events.filter((event) => event._tag === "ToolReplayed")
      assert.deepStrictEqual(replayed.map((event) => event.waited), [true])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("get the first result in another run, until it expires", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const agent = Agent.make("a", { tools: [Pay(pay)] })
      const turns = [call("pay", { order: 7 }), text("ok")]
      yield* play(agent, turns)
      const again = yield* play(agent, turns)
      assert.deepStrictEqual(again.last.map((part) => part.result), ["payment 1"])
      assert.strictEqual(keys.length, 1)
      assert.strictEqual(again.report.usage.toolCalls, 0)
      yield* TestClock.adjust("1 hour")
      yield* play(agent, turns)
      assert.strictEqual(keys.length, 2)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("with other arguments are a conflict that ends the run", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const agent = Agent.make("a", { tools: [Pay(pay)], defaults: { onError: Recovery.standard } })
      const { report } = yield* play(agent, [
        call("pay", { order: 7, amount: 10 }),
        call("pay", { order: 7, amount: 99 })
      ])
      const error = Exit.isFailure(report.exit) ? report.exit.cause.reasons.find((r) => r._tag === "Fail")?.error : null
      assert.strictEqual((error as ToolError.IdempotencyConflict)._tag, "IdempotencyConflict")
      assert.strictEqual(code(lastResults(report.transcript)[0]?.result), "idempotency_conflict")
      assert.deepStrictEqual(keys, ["order-7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("and other arguments at the same time are a conflict, too", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const agent = Agent.make("a", {
        tools: [Pay(pay, () => Effect.sleep("1 second"))],
        defaults: { onError: everything }
      })
      const { last } = yield* Drive.drive(
        play(agent, [
          calls([{ name: "pay", params: { order: 7, amount: 1 } }, { name: "pay", params: { order: 7, amount: 2 } }]),
          text("ok")
        ])
      )
      assert.strictEqual(last.filter((part) => part.result === "payment 1").length, 1)
      assert.strictEqual(last.filter((part) => code(part.result) === "idempotency_conflict").length, 1)
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("run again after a failure declared as not done", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const agent = Agent.make("a", {
        tools: [Pay(pay, (request) => request === 1 ? Effect.fail(new Declined()) : Effect.void)],
        defaults: { onError: everything }
      })
      const { results } = yield* play(agent, [call("pay", { order: 7 }), call("pay", { order: 7 }), text("ok")])
      assert.strictEqual(code(results[1]?.[0]?.result), "execution_error")
      assert.strictEqual(results[2]?.[0]?.result, "payment 1")
      assert.strictEqual(keys.length, 2)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("are unknown after other failures, also for waiting calls", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const agent = Agent.make("a", {
        tools: [Pay(pay, () => Effect.andThen(Effect.sleep("1 second"), Effect.fail(new Lost())))],
        defaults: { onError: everything }
      })
      const { last } = yield* Drive.drive(
        play(agent, [
          calls([{ name: "pay", params: { order: 7 } }, { name: "pay", params: { order: 7 } }]),
          text("ok")
        ])
      )
      assert.deepStrictEqual(last.map((part) => code(part.result)), ["outcome_unknown", "outcome_unknown"])
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("are unknown after the first was interrupted", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const tool = Pay(pay, () => Effect.never)
      const first = yield* Effect.forkChild(tool.call.pipe(by({ order: 7 })), { startImmediately: true })
      while (keys.length === 0) yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
      yield* Fiber.interrupt(first)
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 7 }, "c2")))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("replay a partial success and a pending task unchanged", () =>
    Effect.gen(function*() {
      let runs = 0
      const parts = Tool.make("parts", {
        effects: "write",
        idempotency: { key: () => "k" },
        execute: () =>
          Effect.suspend(() => {
            runs++
            return ToolCall.partial({ succeeded: ["a"], failed: [{ item: "b", code: "gone", reason: "It is gone" }] })
          })
      })
      const job = Tool.make("job", {
        success: Schema.String,
        effects: "write",
        idempotency: { key: () => "k" },
        execute: () =>
          Effect.suspend(() => {
            runs++
            return ToolCall.pending("task-1", { retryAfter: "1 minute" })
          })
      })
      const agent = Agent.make("a", { tools: [parts, job], defaults: { onError: everything } })
      const both = calls([{ name: "parts", params: {} }, { name: "job", params: {} }])
      const { results } = yield* play(agent, [both, both, text("ok")])
      const plain = (results: ReadonlyArray<{ readonly result: unknown }> | undefined) =>
        results?.map(({ result }) => ({ ...(result as object), trace_id: "" }))
      assert.deepStrictEqual(plain(results[2]), plain(results[1]))
      assert.strictEqual(code(results[2]?.[0]?.result), "partial_success")
      assert.strictEqual((results[2]?.[1]?.result as { task_id: string }).task_id, "task-1")
      assert.strictEqual(runs, 2)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("replay the value for code and its encoded form for the model", () =>
    Effect.gen(function*() {
      const tool = Tool.make("when", {
        success: Schema.DateFromString,
        effects: "write",
        idempotency: { key: () => "k" },
        execute: () => Effect.succeed(new Date(0))
      })
      const first = yield* tool.call.pipe(by({}))
      const second = yield* tool.call.pipe(by({}, "c2"))
      assert.deepStrictEqual([first, second], [new Date(0), new Date(0)])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("calls without a key of their own", () => {
  it.effect("are separated by ids, also in nested agents", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const tool = PayByCall(pay)
      const ask = Tool.make("ask", {
        parameters: Schema.Struct({ n: Schema.Int }),
        success: Schema.String,
        execute: () =>
          Agent.make("clerk", { tools: [tool] }).pipe(
            Agent.provide(
              ScriptedModel.layer([
                { _tag: "Answer", calls: [{ id: "x", name: "pay", params: { order: 1 } }] },
                text("done")
              ])
            )
          ).run("pay")
      })
      const agent = Agent.make("boss", { tools: [tool, ask] })
      yield* play(agent, [
        calls([
          { name: "pay", params: { order: 1 }, id: "x" },
          { name: "ask", params: { n: 1 } },
          { name: "ask", params: { n: 2 } }
        ]),
        text("ok")
      ])
      assert.strictEqual(keys.length, 3)
      assert.strictEqual(new Set(keys).size, 3)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("calls of `generateText` without a key of their own", () => {
  it.effect("are never taken for each other", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const tool = PayByCall(pay)
      const ask = LanguageModel.generateText({ prompt: "pay", toolkit: AiToolkit.toToolkit([tool]) }).pipe(
        Effect.map((response) => response.toolResults[0]?.encodedResult as unknown),
        Effect.provide(ScriptedModel.layer([call("pay", { order: 7 }, { id: "0" })]))
      )
      assert.deepStrictEqual([yield* ask, yield* ask], ["payment 1", "payment 2"])
      assert.strictEqual(keys.length, 2)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})
