/** Writes that are committed with the record of their outcome. */

import { assert, describe, it } from "@effect/vitest"
import { Drive, ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Schema } from "effect"
import type { Tool } from "@recourse/core"
import { Agent, Journal, ToolCall } from "@recourse/core"
import { cuts } from "../support/interruptedRuns.ts"
import {
  answerOf,
  type Inner,
  retried,
  timesOf,
  tool,
  within,
  type World,
  worldOf
} from "../support/interruptedExecutions.ts"

/** Takes a seat, unless this attempt of it does something else. */
const booking = (
  world: World,
  instead: Readonly<Record<number, Effect.Effect<never, unknown>>> = {},
  options?: object
) =>
  retried(
    world,
    tool(world, "book", () =>
      Effect.flatMap(ToolCall.ToolCall, ({ attempt }) =>
        Effect.suspend(() => {
          world.rows.push(`seat ${attempt}`)
          return instead[attempt] ?? Effect.succeed("booked")
        })), { effects: "write", transaction: true, ...options })
  )

describe("writes committed with the record of their outcome", () => {
  /** The final rows of the database, the number of the tool's executions, and the model's result. */
  const cases: Readonly<
    Record<
      string,
      readonly [make: (world: World) => Tool.Any, rows: ReadonlyArray<string>, ran: number, told: unknown]
    >
  > = {
    "an answer": [(world) => booking(world), ["seat 1"], 1, "booked"],
    "an answer that is nothing": [
      (world) => booking(world, { 1: Effect.void as never }, { success: Schema.Void }),
      ["seat 1"],
      1,
      null
    ],
    "is nothing of an attempt that fails": [
      (world) => booking(world, { 1: Effect.fail("sold out") }),
      ["seat 2"],
      2,
      "booked"
    ],
    "is nothing of an attempt that gives no answer in time": [
      (world) => booking(world, { 1: Effect.never }, { timeout: "1 second" }),
      ["seat 2"],
      2,
      "booked"
    ],
    "is nothing where it cannot be committed": [
      (world) => (world.commits.push("refused"), booking(world)),
      ["seat 2"],
      2,
      "booked"
    ],
    "is nothing of an attempt that is not committed in time": [
      (world) => (world.commits.push("stuck"), booking(world, {}, { timeout: "1 second" })),
      ["seat 2"],
      2,
      "booked"
    ],
    "is done though the time ran out behind the commit": [
      (world) => (world.commits.push("slow"), booking(world, {}, { timeout: "1 second" })),
      ["seat 1"],
      1,
      "booked"
    ],
    "is unknown where the commit gave no answer": [
      (world) => (world.commits.push("lost"), booking(world)),
      ["seat 1"],
      1,
      "outcome_unknown"
    ]
  }
  for (const [name, [make, rows, ran, told]] of Object.entries(cases)) {
    it.effect(`${name}: in any execution`, () =>
      Effect.gen(function*() {
        const whole = yield* within(make, ({ live, world }) => Effect.map(live(), (report) => ({ report, world })))
        assert.deepStrictEqual(whole.report.exit, Exit.succeed("done"))
        assert.deepStrictEqual([whole.world.rows, timesOf(whole.world)], [rows, { book: ran }])
        assert.strictEqual(answerOf(whole.world), told)
        for (const { about, ...cut } of cuts(whole.world.kept.size)) {
          yield* within(make, ({ live, world }) =>
            Effect.gen(function*() {
              yield* live(cut)
              const last = yield* live()
              assert.deepStrictEqual(last.exit, whole.report.exit, about)
              // An unknown commit leaves no record: its call is repeated in another execution.
              if (told === "outcome_unknown") return
              assert.strictEqual(world.rows.length, 1, about)
              assert.strictEqual(answerOf(world), told, about)
              assert.isFalse([...world.kept.keys()].some((key) => key.startsWith("write")), about)
            }))
        }
      }))
  }
})

describe("writes meant to be committed with a record", () => {
  it.effect("run without a journal in a database, or without a run", () =>
    Effect.gen(function*() {
      const { life, world } = worldOf()
      const book = booking(world)
      const byHand = (book as never as { readonly call: Inner }).call.pipe(
        Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c", arguments: {} }))
      )
      assert.strictEqual(yield* Drive.drive(byHand), "booked")
      const { transaction: _, ...plain } = life()
      for (const journal of [undefined, plain]) {
        const agent = Agent.make("clerk", { tools: [book] } as never) as never as Agent.Agent<
          string,
          string,
          unknown,
          never
        >
        const model = ScriptedModel.layer(
          ScriptedModel.steps([ScriptedModel.call("book", {}), ScriptedModel.text("done")])
        )
        const run = agent.run("go", { runId: "run_1" }).pipe(
          Effect.provideService(Journal.CurrentJournal, journal),
          Effect.provide(model)
        )
        assert.strictEqual(yield* Drive.drive(run), "done")
      }
      assert.deepStrictEqual(world.rows, ["seat 1", "seat 1", "seat 1"])
    }))
})
