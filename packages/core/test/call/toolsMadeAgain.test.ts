/** Executors that make their tools: a repeated attempt has new tool objects, and repeats no write of theirs. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, ErrorProjection, Recovery, Tool, type ToolCall } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Schedule, Schema } from "effect"
import { Down } from "../support/kit.ts"
import { type AnyTool, toolOf } from "../support/looseTools.ts"

class Declined extends Schema.TaggedError<Declined>()(
  "Declined",
  {},
  ErrorProjection.declare({ model: "Declined.", outcome: "not_done" })
) {}

const { call, text } = ScriptedModel

/** Runs a tool that fails once after its calls, and is retried. */
const played = (effects: Tool.Effects, calls: () => Effect.Effect<unknown, unknown, ToolCall.ToolCall>) =>
  Effect.gen(function*() {
    let attempts = 0
    const outer = toolOf("outer", {
      effects,
      execute: () =>
        Effect.andThen(
          Effect.ignore(calls()),
          Effect.suspend(() => ++attempts === 1 ? Effect.fail(new Down()) : Effect.succeed("fine"))
        )
    }).pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever }) as never)) as AnyTool
    yield* Agent.make("clerk", { tools: [outer], defaults: { onError: Recovery.keepGoing } }).run("x")
    return attempts
  }).pipe(Effect.provide(ScriptedModel.layer([call("outer", {}), text("k")])))

const ends: Readonly<Record<string, readonly [end: Effect.Effect<string, unknown>, executions: number]>> = {
  "that was done": [Effect.succeed("paid"), 1],
  "with an unknown outcome": [Effect.fail(new Down()), 1],
  "that was declined": [Effect.fail(new Declined()), 2]
}

describe.each(["read", "idempotent"] as const)("an attempt of a tool that is %s", (effects) => {
  it.effect.each(Object.entries(ends))(
    "that makes its tools repeats no write %s",
    ([_, [end, executions]]) =>
      Effect.gen(function*() {
        const paid: Array<string> = []
        const execute = () => Effect.andThen(Effect.sync(() => paid.push("paid")), end)
        const attempts = yield* played(
          effects,
          () => toolOf("pay", { effects: "write", failure: Declined, execute }).call
        )
        assert.strictEqual(attempts, 2)
        assert.lengthOf(paid, executions)
      })
  )

  it.effect("executes the writes of two tools of one name once each", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const bank = (name: string) =>
        toolOf("pay", { effects: "write", execute: () => Effect.sync(() => (paid.push(name), name)) })
      const banks = [bank("A"), bank("B")]
      yield* played(effects, () => Effect.forEach(banks, ({ call }) => call))
      assert.deepStrictEqual(paid, ["A", "B"])
    }))
})

describe("an executor that makes a tool again after its failure", () => {
  const ways: Readonly<Record<string, (pay: Effect.Effect<unknown, unknown, ToolCall.ToolCall>) => typeof pay>> = {
    "Effect.retry": Effect.retry({ times: 2 }),
    "Effect.catch": (pay) => Effect.catch(pay, () => pay),
    "Effect.ignore": (pay) => Effect.andThen(Effect.ignore(pay), pay)
  }
  it.effect.each(
    Object.entries(ways).flatMap(([name, way]) =>
      (["read", "idempotent", "write"] as const).map((effects) => [name, effects, way] as const)
    )
  )("by %s, in a tool that is %s, repeats no unknown write", ([, effects, way]) =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const execute = () => Effect.andThen(Effect.sync(() => paid.push("paid")), Effect.fail(new Down()))
      const pay = Effect.suspend(() => toolOf("pay", { effects: "write", execute }).call)
      const outer = toolOf("outer", { effects, execute: () => way(pay) })
      yield* Agent.make("clerk", { tools: [outer], defaults: { onError: Recovery.keepGoing } }).run("x").pipe(
        Effect.provide(ScriptedModel.layer([call("outer", {}), text("k")]))
      )
      assert.lengthOf(paid, 1)
    }))
})
