/** Invariants of a world are tested too: for each there is a program that breaks it, and one that keeps them all. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel, World } from "@recourse/testing"
import { Effect, Schema } from "effect"
import { Agent, Recovery, Tool } from "@recourse/core"

interface Bank {
  readonly from: number
  readonly to: number
  readonly closed: boolean
  readonly transfers: ReadonlyArray<string>
}

const invariants = {
  "the balance is never negative": ({ from }: Bank) => from >= 0,
  "money is neither made nor lost": ({ from, to }: Bank) => from + to === 20,
  "a transfer is made at most once": ({ transfers }: Bank) => new Set(transfers).size === transfers.length,
  "a closed account is empty": ({ closed, from }: Bank) => !closed || from === 0
}

const bank = World.make({
  initial: { from: 20, to: 0, closed: false, transfers: [] } as Bank,
  operations: {
    transfer: (state: Bank, { amount, id }: { readonly amount: number; readonly id: string }) => [
      { ...state, from: state.from - amount, to: state.to + amount, transfers: [...state.transfers, id] },
      "sent"
    ],
    take: (state: Bank, amount: number) => [{ ...state, from: state.from - amount }, "taken"],
    put: (state: Bank, amount: number) => [{ ...state, to: state.to + amount }, "put"],
    close: (state: Bank) => [{ ...state, closed: true }, "closed"]
  },
  invariants
})

/** A clerk with one tool that does this to the bank. */
const clerk = (execute: Effect.Effect<unknown, never, World.CurrentWorld>) => ({
  agent: Agent.make("clerk", {
    tools: [Tool.make("act", { success: Schema.String, effects: "write", execute: () => Effect.as(execute, "done") })],
    defaults: { onError: Recovery.standard },
    budget: { turns: 3, toolCalls: 4, duration: "60 seconds" }
  }),
  tools: ["act"],
  scenarios: {
    act: { input: "Do it", model: ScriptedModel.steps([ScriptedModel.call("act", {}), ScriptedModel.text("Done.")]) }
  }
})

const once = bank.perform("transfer", { amount: 5, id: "A" }, { key: "A" })

const broken: Readonly<Record<keyof typeof invariants, Effect.Effect<unknown, never, World.CurrentWorld>>> = {
  "the balance is never negative": bank.perform("transfer", { amount: 30, id: "A" }, { key: "A" }),
  // It holds again when the tool has answered: an invariant is checked behind each operation.
  "money is neither made nor lost": Effect.andThen(
    bank.perform("take", 5, { key: "A" }),
    bank.perform("put", 5, { key: "A" })
  ),
  "a transfer is made at most once": Effect.andThen(once, bank.perform("transfer", { amount: 5, id: "A" })),
  "a closed account is empty": bank.perform("close", undefined as never)
}

describe("invariants of a world", () => {
  it("have each a program that breaks it", () => assert.deepStrictEqual(Object.keys(broken), [...bank.invariants]))

  it.effect("hold in a program that keeps them", () =>
    Effect.gen(function*() {
      const report = yield* World.check(bank, clerk(once), { runs: 20 })
      assert.isAbove(report.sideEffects, 10)
    }))

  for (const [invariant, act] of Object.entries(broken)) {
    it.effect(invariant, () =>
      Effect.gen(function*() {
        const error = yield* Effect.flip(World.check(bank, clerk(act), { runs: 20 }))
        assert.strictEqual(error.invariant, invariant)
        assert.strictEqual(error.commands.length, 1, error.printed)
      }))
  }
})
