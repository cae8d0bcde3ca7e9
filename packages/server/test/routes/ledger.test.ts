/** Entries of the idempotency ledger without a run: operators find them, and their answer reaches the next call with the key. */
import { assert, describe, it } from "@effect/vitest"
import { Audit, IdempotencyLedger, Tool, ToolCall } from "@recourse/core"
import { RunIndex } from "@recourse/server"
import { Context, Effect, Layer, Schema } from "effect"
import { serve, type Who } from "../support/kit.ts"

const paid: Array<number> = []

const Pay = Tool.make("pay", {
  parameters: Schema.Struct({ order: Schema.Int }),
  success: Schema.String,
  effects: "write",
  timeout: "10 millis",
  idempotency: { key: ({ order }) => `order ${order}` },
  execute: ({ order }) => Effect.andThen(Effect.sync(() => void paid.push(order)), Effect.never)
})

const pay = (order: number) =>
  Effect.provideService(Pay.call, ToolCall.ToolCall, ToolCall.make({ id: `c${order}`, arguments: { order } }))

interface Entries {
  readonly entries: ReadonlyArray<{ readonly id: string; readonly tool: string; readonly callId: string }>
}

describe("entries of the ledger that no run names", () => {
  it.live("are listed for operators of all agents, and answered once for the next call with the key", () =>
    Effect.gen(function*() {
      const records: Array<Audit.AuditRecord> = []
      const context = yield* Layer.build(Layer.mergeAll(
        IdempotencyLedger.layerMemory,
        RunIndex.layerMemory,
        Audit.layer((record) => Effect.sync(() => records.push(record)))
      ))
      const server = yield* serve([], { around: (app) => Layer.provide(app, Layer.succeedContext(context)) })
      const before = yield* Effect.provideContext(Effect.flip(pay(1)), context)
      assert.strictEqual(before._tag, "OutcomeUnknown")
      yield* Effect.provideContext(Effect.flip(pay(2)), context)
      const list = (who: Who) =>
        Effect.map(server.get("/operator/ledger", who), (answer) => (answer.json() as Entries).entries)
      assert.strictEqual((yield* server.get("/operator/ledger", "ada")).status, 403)
      assert.deepStrictEqual(yield* list("else"), [])
      const entries = yield* list("otto")
      assert.deepStrictEqual(entries.map(({ callId, tool }) => `${tool} ${callId}`).toSorted(), ["pay c1", "pay c2"])
      const first = entries.find(({ callId }) => callId === "c1")!
      const check = (who: Who, answer = "happened") =>
        server.post(`/operator/ledger/${first.id}`, { answer, result: "payment 1", note: "in the bank" }, { who })
      for (const [who, status] of [["ada", 403], ["otto", 403], ["else", 403]] as const) {
        assert.strictEqual((yield* check(who)).status, status)
      }
      assert.strictEqual((yield* check("olga", "perhaps")).status, 400)
      assert.strictEqual((yield* check("olga")).status, 200)
      assert.strictEqual((yield* check("olga")).status, 422)
      assert.deepStrictEqual((yield* list("otto")).map(({ callId }) => callId), ["c2"])
      assert.strictEqual(yield* Effect.provideContext(pay(1), context), "payment 1")
      assert.deepStrictEqual(paid, [1, 2])
      assert.deepInclude(records.find(({ decision }) => decision === "outcome_checked"), {
        by: "olga",
        tool: "pay",
        callId: "c1",
        reason: "happened: in the bank"
      })
      assert.isDefined(Context.get(context, RunIndex.RunIndex))
    }).pipe(Effect.scoped))
})
