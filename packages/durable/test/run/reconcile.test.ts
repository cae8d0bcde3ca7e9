/** A keyed write whose process was killed in it, with a tool that can reconcile: that runs before a repetition. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Schema } from "effect"
import { Agent, IdempotencyLedger, Reconciliation, Recovery, Tool, ToolCall } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { ledgerStore } from "../../../core/test/fixtures/sharedStore.ts"

/** A bank that does not know keys, and a tool that looks whether a payment is there. */
const office = () => {
  const paid: Array<string> = []
  const log: Array<string> = []
  const prompts: Array<string> = []
  const Pay = Tool.make("pay", {
    success: Schema.String,
    effects: "write",
    idempotency: {
      reconcile: () =>
        Effect.sync(() => {
          log.push("looks")
          return paid.length === 0 ? Reconciliation.notStarted : Reconciliation.completed("paid before")
        })
    },
    execute: () =>
      Effect.gen(function*() {
        const { idempotencyKey = "" } = yield* ToolCall.ToolCall
        log.push("begins")
        yield* Effect.sleep("10 seconds")
        paid.push(idempotencyKey)
        yield* Effect.sleep("10 seconds")
        return "paid now"
      })
  })
  const agent = Durable.make(Agent.make("office", { tools: [Pay], defaults: { onError: Recovery.keepGoing } }))
  const model = ScriptedModel.layer(({ prompt }) => {
    prompts.push(JSON.stringify(prompt.content.at(-1)))
    return prompt.content.some(({ role }) => role === "tool")
      ? ScriptedModel.text("done")
      : ScriptedModel.call("pay", {}, { id: "c1" })
  })
  const store = Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory)))))
  const kept = ledgerStore()
  const ledger = Layer.suspend(() => IdempotencyLedger.layer(kept))
  const life = (options: VirtualTime.Options) =>
    VirtualTime.run(
      agent.run("r1", "go").pipe(
        Effect.provide(Durable.layer([agent]).pipe(Layer.provide(Layer.mergeAll(store, ledger, model))))
      ),
      { ...options, steps: 1_000_000 }
    )
  return { life, log, paid, prompts }
}

describe("a keyed write whose process was killed in it", () => {
  it.live("is repeated only if `reconcile` reports that it did not happen", () =>
    Effect.gen(function*() {
      const { operations } = yield* office().life({})
      let before = 0
      let behind = 0
      for (let at = 1; at <= 20; at++) {
        const world = office()
        const first = yield* world.life({ killAt: Math.ceil((operations * at) / 21) })
        assert.strictEqual(first.stopped, "killed")
        const begun = world.log.length
        const wasPaid = world.paid.length
        const last = yield* world.life({ startAt: first.elapsed + 120_000, identity: 1 })
        const about = `killed after ${first.elapsed} ms`
        assert.deepEqual(last.exit, Exit.succeed("done"), about)
        assert.strictEqual(world.paid.length, 1, about)
        const later = world.log.slice(begun)
        if (begun > 0 && wasPaid === 0) {
          before++
          assert.deepEqual(later, ["looks", "begins"], about)
        } else if (wasPaid > 0 && later.length > 0) {
          behind++
          assert.deepEqual(later, ["looks"], about)
          assert.include(world.prompts.at(-1)!, "paid before", about)
        }
      }
      assert.isAbove(before, 1)
      assert.isAbove(behind, 1)
    }))
})
