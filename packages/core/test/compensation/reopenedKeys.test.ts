/** Keys of compensated writes over a ledger that is away: no later call reads that a compensated write is done. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, IdempotencyLedger, Recovery, Tool } from "@recourse/core"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Exit, Schema } from "effect"

const { memoryStore } = await import(
  new URL("../../src/internal/idempotency/ledgerMemoryStore.ts", import.meta.url).href
) as { readonly memoryStore: () => IdempotencyLedger.Store }

type Operation = "reopen" | "complete"

/** A store whose operation fails so many times once a compensation starts. */
const failing = (operation: Operation, times: number): IdempotencyLedger.Store => {
  const store = memoryStore()
  let left = times
  let isCompensating = false
  const fails = (name: Operation): boolean => isCompensating && name === operation && left-- > 0
  const away = (name: Operation) => Effect.fail(new IdempotencyLedger.LedgerError({ operation: name, reason: "away" }))
  return {
    ...store,
    reopen: (...args) =>
      Effect.suspend(() => {
        isCompensating = true
        return fails("reopen") ? away("reopen") : store.reopen!(...args)
      }),
    complete: (...args) => Effect.suspend(() => fails("complete") ? away("complete") : store.complete(...args))
  }
}

/** A run that pays and fails, an hour, and a run that pays under the same key. */
const twoRuns = (store: IdempotencyLedger.Store) =>
  VirtualTime.run(
    Effect.gen(function*() {
      const world: Array<string> = []
      const Pay = Tool.make("pay", {
        parameters: Schema.Struct({ order: Schema.String }),
        success: Schema.String,
        effects: "write",
        idempotency: { key: ({ order }) => order },
        execute: () => Effect.sync(() => (world.push("paid"), "paid")),
        compensate: () => Effect.sync(() => void world.push("refunded"))
      })
      const left: Array<string> = []
      const report = (writes: ReadonlyArray<Readonly<Record<"because", string>>>) =>
        Effect.sync(() => void left.push(...writes.map(({ because }) => because)))
      const clerk = Agent.make("clerk", {
        tools: [Pay],
        defaults: { onError: Recovery.keepGoing },
        compensation: { report }
      })
      const call = ScriptedModel.call("pay", { order: "7" })
      yield* Effect.exit(
        Effect.provide(clerk.run("go"), ScriptedModel.layer([call, ScriptedModel.failure("InvalidRequestError")]))
      )
      yield* Effect.sleep("1 hour")
      let answer = ""
      const later = ({ prompt }: ScriptedModel.Request) => {
        if (prompt.content.at(-1)!.role !== "tool") return call
        answer = JSON.stringify(prompt.content.at(-1)!.content)
        return ScriptedModel.text("Done.")
      }
      yield* Effect.exit(Effect.provide(clerk.run("go"), ScriptedModel.layer(later)))
      return {
        world,
        left,
        answer: /outcome_unknown/.test(answer) ? "unknown" : /"paid"/.test(answer) ? "paid" : answer
      }
    }).pipe(Effect.provide(IdempotencyLedger.layer(store)))
  )

interface Outcome {
  readonly world: ReadonlyArray<string>
  readonly left: ReadonlyArray<string>
  readonly answer: string
}

const cases: ReadonlyArray<readonly [about: string, operation: Operation, times: number, expected: Outcome]> = [
  ["the ledger answers", "reopen", 0, { world: ["paid", "refunded", "paid"], left: [], answer: "paid" }],
  ["it is away for a moment", "reopen", 3, { world: ["paid", "refunded", "paid"], left: [], answer: "paid" }],
  ["it stays away", "reopen", Infinity, { world: ["paid"], left: ["failed"], answer: "paid" }],
  ["it is away behind the compensation", "complete", Infinity, {
    world: ["paid", "refunded"],
    left: [],
    answer: "unknown"
  }]
] as const

describe("the key of a compensated write", () => {
  for (const [about, operation, times, expected] of cases) {
    it.live(`is true for later calls: ${about}`, () =>
      Effect.gen(function*() {
        const { exit } = yield* twoRuns(failing(operation, times))
        assert.deepStrictEqual(exit, Exit.succeed(expected))
      }))
  }
})
