/** Intents and results in the ledger: their order, failed records, and deletions. */

import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Logger, Redacted, References, Schedule, Schema } from "effect"
import { Agent, Approval, IdempotencyLedger, Recovery, Redaction, Tool } from "@recourse/core"
import { by, lastResults } from "../support/kit.ts"
import { code, Declined, everything, parameters, Pay, play, recording, service } from "../support/keyedPayments.ts"

const { call, calls, text } = ScriptedModel

describe("the ledger", () => {
  it.effect("has the intent before the tool, the result after, no arguments", () =>
    Effect.gen(function*() {
      const { entries, layer, log } = recording()
      const tool = Tool.make("pay", {
        parameters,
        success: Schema.String,
        effects: "write",
        idempotency: true,
        execute: () => Effect.sync(() => (log.push("execute"), "paid"))
      })
      yield* tool.call.pipe(by({ order: 4711 }), Effect.provide(layer))
      assert.deepStrictEqual(log, ["begin", "execute", "complete"])
      const [entry] = [...entries.values()]
      assert.strictEqual(entry?.tool, "pay")
      assert.deepStrictEqual(entry?.outcome, { _tag: "Result", value: "paid" })
      assert.notInclude(JSON.stringify(entry), "4711")
    }))

  it.effect("that cannot record the intent prevents execution, and informs the model", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const { layer, log } = recording(new Set(["begin"]))
      const agent = Agent.make("a", { tools: [Pay(pay)], defaults: { onError: Recovery.standard } })
      const { last } = yield* play(agent, [call("pay", { order: 7 }), text("ok")]).pipe(Effect.provide(layer))
      const result = last[0]?.result as { readonly code: string; readonly safe_to_retry: boolean }
      assert.strictEqual(result.code, "ledger_unavailable")
      assert.isTrue(result.safe_to_retry)
      // The store may have recorded it before it failed.
      assert.deepStrictEqual(log, ["begin", "release"])
      assert.deepStrictEqual(keys, [])
    }))

  it.effect("that cannot record a result keeps it, and is unknown later", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const { layer } = recording(new Set(["complete"]))
      const agent = Agent.make("a", { tools: [Pay(pay)], defaults: { onError: Recovery.standard } })
      const { results } = yield* play(agent, [call("pay", { order: 7 }), call("pay", { order: 7 }), text("ok")]).pipe(
        Effect.provide(layer)
      )
      assert.strictEqual(results[1]?.[0]?.result, "payment 1")
      assert.strictEqual(code(results[2]?.[0]?.result), "outcome_unknown")
      assert.strictEqual(keys.length, 1)
    }))

  it.effect("logs failed records for operators, without secrets of the cause", () =>
    Effect.gen(function*() {
      const url = "redis://worker:hunter2hunter2@10.0.0.7:6379"
      const logged: Array<{ readonly message: unknown; readonly fields: Readonly<Record<string, unknown>> }> = []
      const logger = Logger.layer([
        Logger.make(({ fiber, message }) =>
          logged.push({ message, fields: { ...fiber.getRef(References.CurrentLogAnnotations) } })
        )
      ])
      const failing = (reason: unknown) =>
        IdempotencyLedger.layer({
          begin: () => Effect.undefined,
          renew: () => Effect.succeed(true),
          take: () => Effect.succeed(true),
          complete: () => Effect.fail(new IdempotencyLedger.LedgerError({ operation: "complete", reason })),
          release: () => Effect.die(new Error(`defect at ${url}`))
        })
      const { pay } = service()
      const reason = new Error("C-123456 is not connected", { cause: new Error(`ECONNREFUSED ${url}`) })
      const agent = Agent.make("a", {
        tools: [
          Pay(pay),
          Tool.make("decline", {
            parameters,
            success: Schema.String,
            effects: "write",
            idempotency: { key: () => "declined", rejected: ["Declined"] },
            execute: () => Effect.fail(new Declined())
          })
        ],
        defaults: { onError: everything }
      })
      const { last } = yield* play(agent, [
        calls([{ name: "pay", params: { order: 7 } }, { name: "decline", params: { order: 7 } }]),
        text("ok")
      ]).pipe(
        Effect.provide(failing(reason)),
        Effect.provide(Redaction.layer(
          Redaction.make({ rules: [...Redaction.secrets, { kind: "customer", pattern: /\bC-\d{6}\b/g }] })
        )),
        Effect.provide(logger)
      )
      assert.strictEqual(last[0]?.result, "payment 1")
      assert.strictEqual(logged.length, 2)
      const [complete, release] = ["complete", "release"].map((operation) =>
        logged.map(({ fields }) => fields).find((fields) => fields["operation"] === operation)
      )
      assert.deepInclude(complete, { operation: "complete", tool: "pay", error: "LedgerError" })
      assert.deepInclude(release, { operation: "release", tool: "decline", error: "LedgerError" })
      assert.match(String(complete?.["trace_id"]), /^run_/)
      const all = JSON.stringify(logged)
      for (const secret of ["hunter2", "C-123456", "10.0.0.7"]) assert.notInclude(all, secret)
      // The remaining text names the fault.
      assert.include(String(complete?.["cause"]), "[redacted: customer] is not connected")
      assert.include(String(complete?.["cause"]), "ECONNREFUSED [redacted: credentials]")
      assert.include(String(release?.["cause"]), "defect at [redacted: credentials]")
    }))

  it.effect("deletes an intent if an exhausted budget prevented the call", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const { entries, layer, log } = recording()
      const agent = Agent.make("a", { tools: [Pay(pay)], budget: { toolCalls: 0 } })
      const { report } = yield* play(agent, [call("pay", { order: 7 })]).pipe(Effect.provide(layer))
      assert.isTrue(Exit.isFailure(report.exit))
      assert.deepStrictEqual(log, ["begin", "release"])
      assert.strictEqual(entries.size, 0)
      assert.deepStrictEqual(keys, [])
    }))

  it.effect("deletes it for an unexecuted second try after a rejected first", () =>
    Effect.gen(function*() {
      const { keys, pay } = service()
      const { entries, layer, log } = recording()
      const tool = Pay(pay, () => Effect.fail(new Declined())).pipe(
        Tool.onError(Recovery.retry({ times: 1, schedule: Schedule.forever }))
      )
      const agent = Agent.make("a", { tools: [tool], budget: { toolCalls: 1 } })
      const { report } = yield* play(agent, [call("pay", { order: 7 })]).pipe(Effect.provide(layer))
      assert.isTrue(Exit.isFailure(report.exit))
      assert.strictEqual(keys.length, 1)
      assert.deepStrictEqual(log, ["begin", "release", "begin", "release"])
      assert.strictEqual(entries.size, 0)
    }))

  it.effect("is not asked about arguments that do not fit", () =>
    Effect.gen(function*() {
      const { pay } = service()
      const { layer, log } = recording()
      yield* Effect.flip(Pay(pay).call.pipe(by({ order: "seven" }), Effect.provide(layer)))
      assert.deepStrictEqual(log, [])
    }))
})

describe("a fixer's arguments that wait for an approval", () => {
  /** Pays 500 only after an approval, under the key of the first arguments. */
  const paying = (tag: "InvalidArgs" | "ExecutionError", ownKey: boolean) => {
    const paid: Array<number> = []
    const execute = ({ amount }: { readonly amount: number }): Effect.Effect<string, Declined> =>
      Effect.suspend(() => {
        if (amount < 100) return Effect.fail(new Declined())
        paid.push(amount)
        return Effect.succeed(`paid ${amount}`)
      })
    const tool = Tool.make("pay", {
      parameters: Schema.Struct({ amount: Schema.Int }),
      success: Schema.String,
      effects: "write",
      needsApproval: ({ amount }) => amount > 100,
      idempotency: { key: ownKey ? () => "order-7" : undefined, rejected: ["Declined"] },
      execute
    })
    const fixer = Agent.fromFunction("fixer", () => Effect.succeed(`{"amount":500}`))
    return {
      paid,
      agent: Agent.make("a", {
        tools: [tool.pipe(Tool.onError(Recovery.fix(tag, fixer)))],
        defaults: { onError: Recovery.standard }
      })
    }
  }

  for (const tag of ["InvalidArgs", "ExecutionError"] as const) {
    for (const ownKey of [true, false]) {
      it.effect(`are paid once when approved (${tag}, ${ownKey ? "a key of the arguments" : "the default key"})`, () =>
        Effect.gen(function*() {
          const { agent, paid } = paying(tag, ownKey)
          const { entries, layer, log } = recording()
          const ledger = Effect.provide(Layer.fresh(layer))
          const paused = yield* agent.start("go").pipe(
            Effect.provide(ScriptedModel.layer([call("pay", { amount: tag === "InvalidArgs" ? "seven" : 7 })])),
            ledger
          )
          if (paused._tag !== "Paused") return assert.fail("did not pause")
          // The key is free while a person thinks about it.
          assert.strictEqual(entries.size, 0)
          assert.deepStrictEqual(log, tag === "InvalidArgs" ? [] : ["begin", "release"])
          assert.deepStrictEqual(paused.pending[0]?.arguments, { amount: 500 })

          // Approved twice, by processes that do not know of each other: the ledger does.
          const elsewhere = Effect.provideService(Approval.Resumptions, { claim: () => Effect.succeed(true) })
          for (let process = 1; process <= 2; process++) {
            const results = yield* Effect.gen(function*() {
              yield* agent.resume(JSON.parse(JSON.stringify(paused.snapshot)), [Approval.approve(paused.pending[0]!)])
              return lastResults((yield* (yield* ScriptedModel.ScriptedModel).lastRequest).prompt)
            }).pipe(elsewhere, Effect.provide(ScriptedModel.layer([text("ok")])), ledger)
            assert.deepStrictEqual(results.map(({ isFailure, result }) => [isFailure, result]), [[false, "paid 500"]])
          }
          assert.deepStrictEqual(paid, [500])
        }).pipe(Effect.provide(Approval.layerKey(Redacted.make("0123456789abcdef0123456789abcdef")))))
    }
  }
})
