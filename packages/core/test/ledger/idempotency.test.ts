import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Agent, IdempotencyLedger, Reconciliation, Recovery, Tool, ToolCall } from "@recourse/core"
import { by } from "../support/kit.ts"
import { key, Lost, parameters, PayByCall, play, service } from "../support/keyedPayments.ts"

const { call, text } = ScriptedModel

describe("attempts of an idempotent write", () => {
  it.effect("that timed out repeat one key, and the service executes once", () =>
    Effect.gen(function*() {
      const { done, keys, pay } = service()
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        timeout: "5 seconds",
        idempotency: true,
        execute: () => pay((request) => request === 1 ? Effect.never : Effect.void)
      })
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
      const { last } = yield* Drive.drive(play(agent, [call("pay", { order: 7 }), text("ok")]))
      assert.deepStrictEqual(last.map((part) => part.result), ["payment 1"])
      assert.strictEqual(keys.length, 2)
      assert.strictEqual(keys[0], keys[1])
      assert.match(keys[0]!, /^[0-9a-f]{64}$/)
      assert.strictEqual(done.size, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("that all timed out have an unknown outcome for code and model", () =>
    Effect.gen(function*() {
      const { done, keys, pay } = service()
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        timeout: "1 second",
        idempotency: true,
        execute: () => pay(() => Effect.never)
      })
      const error = yield* Drive.drive(Effect.flip(tool.call.pipe(by({ order: 6 }))))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
      const { last } = yield* Drive.drive(play(agent, [call("pay", { order: 7 }), text("ok")]))
      // A new call of the model would have a new key.
      assert.deepInclude(last[0]?.result, {
        code: "outcome_unknown",
        message_for_model: "No answer came back. The requested action may have happened.",
        safe_to_retry: false,
        instruction: "Do not call again. Check first whether it happened."
      })
      assert.strictEqual(keys.length, 4)
      assert.strictEqual(done.size, 2)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("that timed out under a key of arguments may repeat safely", () =>
    Effect.gen(function*() {
      for (const effects of ["write", undefined] as const) {
        const { done, keys, pay } = service()
        const tool = Tool.make("pay", {
          parameters,
          success: Schema.String,
          effects,
          timeout: "1 second",
          idempotency: {
            key,
            reconcile: (_, { order }) =>
              Effect.sync(() =>
                done.has(`order-${order}`) ? Reconciliation.completed(`found ${order}`) : Reconciliation.notStarted
              )
          },
          execute: () => pay(() => Effect.never)
        })
        const agent = Agent.make("a", { tools: [tool], defaults: { onError: Recovery.standard } })
        const { results } = yield* Drive.drive(
          play(agent, [call("pay", { order: 7 }), call("pay", { order: 7 }), text("ok")])
        ).pipe(Effect.provide(IdempotencyLedger.layerMemory))
        assert.deepInclude(results[1]?.[0]?.result, {
          code: "outcome_unknown",
          message_for_model: "No answer came back. The requested action may have happened.",
          safe_to_retry: true,
          instruction: "The same call with the same arguments is never done twice: it is safe to make it again. " +
            "Do not change the arguments before you know whether it happened."
        })
        assert.strictEqual(results[2]?.[0]?.result, "found 7")
        assert.deepStrictEqual([...new Set(keys)], ["order-7"])
        assert.strictEqual(done.size, 1)
      }
    }))

  it.effect("that all timed out leave their key unknown for the next call", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        timeout: "1 second",
        idempotency: { key },
        execute: () => pay(() => Effect.never)
      })
      const first = yield* Drive.drive(Effect.flip(tool.call.pipe(by({ order: 7 }))))
      const second = yield* Drive.drive(Effect.flip(tool.call.pipe(by({ order: 7 }, "c2"))))
      assert.deepStrictEqual([first._tag, second._tag], ["OutcomeUnknown", "OutcomeUnknown"])
      assert.deepStrictEqual(keys, ["order-7"])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("that failed are not repeated with a fixer's arguments", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      let asked = 0
      const tool = PayByCall(pay, () => Effect.fail(new Lost())).pipe(
        Tool.onError(
          Recovery.fix(
            "ExecutionError",
            Agent.fromFunction("fixer", () => Effect.sync(() => `{"order":${++asked}}`))
          )
        )
      )
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 7 })))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      assert.strictEqual(asked, 0)
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("a recovery that runs an executed call again with other arguments", () => {
  it.effect("does not run it, and the first may have happened", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const tool = PayByCall(pay, () => Effect.fail(new Lost())).pipe(
        Tool.onError((call) =>
          Effect.catchTag(
            call,
            "OutcomeUnknown",
            () => Effect.updateService(call, ToolCall.ToolCall, (now) => ({ ...now, arguments: { order: 8 } }))
          )
        )
      )
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 7 })))
      assert.strictEqual(error._tag, "OutcomeUnknown")
      if (error._tag === "OutcomeUnknown") assert.strictEqual(error.causes.at(-1)?.error, "IdempotencyConflict")
      assert.strictEqual(keys.length, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("Recovery.idempotent", () => {
  const written = (execute: () => Effect.Effect<string, Lost>) =>
    Tool.make("pay", { parameters, success: Schema.String, effects: "write", execute })

  it.effect("runs once for each key, and does not make writes repeatable", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = written(() => Effect.suspend(() => ++runs === 1 ? Effect.fail(new Lost()) : Effect.succeed("paid")))
        .pipe(
          Tool.onError((call) => call.pipe(Effect.retry({ times: 3 }), Recovery.idempotent({ key: () => "k" })))
        )
      const first = yield* Effect.flip(tool.call.pipe(by({ order: 1 })))
      assert.strictEqual(first._tag, "OutcomeUnknown")
      const second = yield* Effect.flip(tool.call.pipe(by({ order: 1 }, "c2")))
      assert.strictEqual(second._tag, "OutcomeUnknown")
      assert.strictEqual(runs, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("speaks around the recovery within it", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = written(() => Effect.sync(() => `run ${++runs}`)).pipe(
        Tool.onError((call) =>
          call.pipe(
            Effect.catch(() => Effect.succeed("swallowed")),
            Recovery.idempotent({ key: () => "k" })
          )
        )
      )
      assert.strictEqual(yield* tool.call.pipe(by({ order: 1 })), "run 1")
      const error = yield* Effect.flip(tool.call.pipe(by({ order: 2 }, "c2")))
      assert.strictEqual(error._tag, "IdempotencyConflict")
      assert.strictEqual(runs, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))

  it.effect("can be declared by the agent", () =>
    Effect.gen(function*() {
      let runs = 0
      const agent = Agent.make("a", {
        tools: [written(() => Effect.sync(() => `run ${++runs}`))],
        onToolError: { pay: Recovery.idempotent({ key: ({ order }) => `${String(order)}` }) }
      })
      const { results } = yield* play(agent, [call("pay", { order: 1 }), call("pay", { order: 1 }), text("ok")])
      assert.deepStrictEqual(results.slice(1).map(([part]) => part?.result), ["run 1", "run 1"])
      assert.strictEqual(runs, 1)
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})

describe("arguments that a call made by hand gives", () => {
  const tool = (runs: Array<unknown>, parameters: Schema.Codec<unknown, unknown>) =>
    Tool.make("note", {
      parameters: Schema.Struct({ value: parameters }),
      success: Schema.Int,
      effects: "write",
      idempotency: { key: () => "k" },
      execute: ({ value }) => Effect.sync(() => runs.push(value))
    })

  const pairs: ReadonlyArray<readonly [string, Schema.Codec<any, any>, unknown, unknown]> = [
    ["dates", Schema.Date, new Date(1), new Date(2)],
    ["bigints", Schema.BigInt, 1n, 2n],
    ["bytes", Schema.Uint8Array, new Uint8Array([1]), new Uint8Array([2])],
    ["maps", Schema.ReadonlyMap(Schema.String, Schema.Int), new Map([["a", 1]]), new Map([["a", 2]])],
    ["numbers that JSON does not have", Schema.Number, Infinity, -Infinity]
  ]
  for (const [name, parameters, one, other] of pairs) {
    it.effect(`have distinct and stable hashes: ${name}`, () =>
      Effect.gen(function*() {
        const runs: Array<unknown> = []
        const { call } = tool(runs, parameters)
        yield* call.pipe(by({ value: one }))
        yield* call.pipe(by({ value: one }, "c2"))
        const conflict = yield* Effect.flip(call.pipe(by({ value: other }, "c3")))
        assert.strictEqual(conflict._tag, "IdempotencyConflict")
        assert.strictEqual(runs.length, 1)
      }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
  }

  it.effect("are invalid without a JSON form, and the call does not run", () =>
    Effect.gen(function*() {
      const runs: Array<unknown> = []
      const { call } = tool(runs, Schema.Unknown)
      const within: Record<string, unknown> = {}
      within["itself"] = within
      for (const value of [within, () => 1]) {
        const error = yield* Effect.flip(call.pipe(by({ value })))
        assert.strictEqual(error._tag, "InvalidArgs")
      }
      assert.deepStrictEqual(runs, [])
    }).pipe(Effect.provide(IdempotencyLedger.layerMemory)))
})
