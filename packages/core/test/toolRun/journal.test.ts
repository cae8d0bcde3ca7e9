/** Runs for other loops with a journal: a loop that is restarted receives the results of its earlier execution. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Schema } from "effect"
import { Journal, Recovery, Tool, ToolRun } from "@recourse/core"
import { journalOf } from "../support/interruptedRuns.ts"

const payOf = (answer: "answers" | "hangs") => {
  const ran: Array<string> = []
  const Pay = Tool.make("pay", {
    parameters: Schema.Struct({ n: Schema.Int }),
    success: Schema.Date,
    effects: "write",
    execute: ({ n }) =>
      Effect.suspend(() => {
        ran.push(`pay ${n}`)
        return answer === "answers" ? Effect.succeed(new Date(n)) : Effect.never
      })
  })
  return { Pay, ran }
}

const open = (pay: ReturnType<typeof payOf>["Pay"]) =>
  ToolRun.make("loop", { tools: [pay], defaults: { onError: Recovery.standard }, runId: "run_1" })

const call = (id: string, n: number) => ({ id, name: "pay" as const, arguments: { n } })

describe("a tool run with a journal", () => {
  it.effect("returns the recorded result, decoded, to a restarted loop", () =>
    Effect.gen(function*() {
      const { life } = journalOf()
      const first = payOf("answers")
      yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* open(first.Pay)
        yield* run.call(call("c1", 1))
        yield* run.cancel
      })).pipe(Effect.provideService(Journal.CurrentJournal, life().journal))

      const second = payOf("answers")
      const outcomes = yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* open(second.Pay)
        return [yield* run.call(call("c1", 1)), yield* run.call(call("c2", 2))]
      })).pipe(Effect.provideService(Journal.CurrentJournal, life().journal))
      assert.deepStrictEqual(outcomes.map((one) => one._tag === "Success" && one.value), [new Date(1), new Date(2)])
      assert.deepStrictEqual(second.ran, ["pay 2"])
    }))

  it.effect("reports a write of the killed execution as unknown", () =>
    Effect.gen(function*() {
      const { life } = journalOf()
      const first = payOf("hangs")
      yield* Effect.scoped(Effect.gen(function*() {
        const run = yield* open(first.Pay)
        const fiber = yield* Effect.forkChild(run.call(call("c1", 1)), { startImmediately: true })
        yield* run.cancel
        const outcome = yield* Fiber.join(fiber)
        assert.strictEqual(outcome._tag === "Failure" && outcome.failure.code, "outcome_unknown")
      })).pipe(Effect.provideService(Journal.CurrentJournal, life().journal))

      const second = payOf("answers")
      const outcome = yield* Effect.scoped(Effect.flatMap(open(second.Pay), (run) => run.call(call("c1", 1)))).pipe(
        Effect.provideService(Journal.CurrentJournal, life().journal)
      )
      assert.strictEqual(outcome._tag === "Failure" && outcome.failure.code, "outcome_unknown")
      assert.deepStrictEqual([first.ran, second.ran], [["pay 1"], []])
    }))
})
