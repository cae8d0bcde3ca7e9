import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, World } from "@recourse/testing"
import { Effect, Schedule, Schema } from "effect"
import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"

interface Shop {
  readonly charges: ReadonlyArray<string>
  readonly balance: number
}

const shop = World.make({
  initial: { charges: [], balance: 20 } as Shop,
  operations: {
    charge: ({ balance, charges }: Shop, { order }: { readonly order: string }) => [
      { charges: [...charges, order], balance: balance - 10 },
      `charged ${order}`
    ]
  },
  invariants: {
    "an order is charged at most once": ({ charges }) => new Set(charges).size === charges.length,
    "the balance is never negative": ({ balance }) => balance >= 0
  }
})

/** A clerk that charges orders; `keyOf` is the key that the bank is given. */
const clerk = (options: {
  readonly key?: (params: { readonly order: string }) => string
  readonly passesOn?: boolean
  readonly approval?: boolean
  readonly retry?: boolean
}) => {
  const Charge = Tool.make("charge", {
    parameters: Schema.Struct({ order: Schema.String }),
    success: Schema.String,
    effects: "write",
    timeout: "5 seconds",
    needsApproval: options.approval ?? false,
    idempotency: options.key === undefined ? true : { key: options.key },
    execute: ({ order }) =>
      Effect.gen(function*() {
        const { idempotencyKey } = yield* ToolCall.ToolCall
        yield* Effect.sleep("100 millis")
        return yield* shop.perform(
          "charge",
          { order },
          options.passesOn === false ? undefined : { key: idempotencyKey }
        )
      })
  })
  const tool = options.retry === true
    ? Charge.pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever })))
    : Charge
  return {
    agent: Agent.make("clerk", {
      tools: [tool],
      defaults: { onError: Recovery.standard },
      approval: { timeToLive: "24 hours" },
      budget: { turns: 6, toolCalls: 8, duration: "60 seconds" }
    }),
    tools: ["charge"],
    scenarios: {
      "charge A": {
        input: "Charge A",
        model: ScriptedModel.steps([ScriptedModel.call("charge", { order: "A" }), ScriptedModel.text("Charged.")])
      },
      "charge B": {
        input: "Charge B",
        model: ScriptedModel.steps([ScriptedModel.call("charge", { order: "B" }), ScriptedModel.text("Charged.")])
      }
    }
  }
}

const ofOrder = ({ order }: { readonly order: string }) => order

describe("a world", () => {
  it.effect(
    "stays true where the key is the order's: over retries, users who ask again, kills and bad stores",
    () =>
      Effect.gen(function*() {
        const report = yield* World.check(shop, clerk({ key: ofOrder, retry: true }), { runs: 300 })
        assert.strictEqual(report.sequences, 300)
        assert.isAbove(report.deeds, 150)
        assert.isAbove(report.killed, 60)
        assert.isAbove(report.cancelled, 60)
      }),
    60_000
  )

  it.effect("stays true over approvals that come late, twice and to other processes", () =>
    Effect.gen(function*() {
      const report = yield* World.check(shop, clerk({ key: ofOrder, approval: true }), { runs: 200, seed: 3 })
      assert.isAbove(report.paused, 100)
      assert.isAbove(report.deeds, 25)
    }), 60_000)

  it.effect(
    "is broken by a user who asks again where the key is the call's: two commands",
    () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(World.check(shop, clerk({})))
        assert.strictEqual(error.invariant, "an order is charged at most once")
        assert.match(error.message, /^1\. ask "charge [AB]"(, by two processes at once|\n2\. ask "charge [AB]")$/m)
        assert.match(error.message, /BREAKS: an order is charged at most once/)
        const again = yield* Effect.flip(World.check(shop, clerk({}), { replay: error.replay }))
        assert.deepStrictEqual(again.commands, error.commands)
      }),
    60_000
  )

  it.effect("is broken by a key that the service is not given, once an answer is lost", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        World.check(shop, clerk({ key: ofOrder, passesOn: false, retry: true }), { runs: 1000 })
      )
      assert.strictEqual(error.invariant, "an order is charged at most once")
      assert.match(error.printed, /after_commit|killed|cancelled|store|ledger/)
    }), 60_000)
})
