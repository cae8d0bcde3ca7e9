/** Calls that the end of a tool run interrupts: a started write is never reported as not started. */
import { assert, describe, it } from "@effect/vitest"
import { Tool, ToolRun } from "@recourse/core"
import { Effect, Fiber, Schema } from "effect"

const slow = (effects: Tool.Effects) =>
  Tool.make("slow", { success: Schema.String, effects, execute: () => Effect.as(Effect.sleep("1 minute"), "late") })

/** A run that ends while its call runs: the fiber of the call, and the call. */
const endingBy = (how: "end" | "cancel", effects: Tool.Effects) =>
  Effect.gen(function*() {
    const run = yield* ToolRun.make("loop", { tools: [slow(effects)] })
    const call = run.call({ id: "call_1", name: "slow", arguments: {} })
    const fiber = yield* Effect.forkChild(call, { startImmediately: true })
    const { executed } = yield* run[how]
    assert.deepStrictEqual(executed.map(({ outcome }) => outcome), ["interrupted"])
    return { call, fiber }
  })

describe.each(["end", "cancel"] as const)("a call that the %s of its run interrupts", (how) => {
  it.effect("has an unknown outcome if it is a write, and no call starts afterwards", () =>
    Effect.gen(function*() {
      const { call, fiber } = yield* endingBy(how, "write")
      const outcome = yield* Fiber.join(fiber)
      assert.strictEqual(outcome._tag === "Failure" && outcome.failure.code, "outcome_unknown")
      assert.deepInclude(yield* Effect.flip(call), { _tag: "ToolRunEnded" })
    }))

  it.effect("fails with the end of the run if it is a read", () =>
    Effect.gen(function*() {
      const { fiber } = yield* endingBy(how, "read")
      assert.deepInclude(yield* Effect.flip(Fiber.join(fiber)), { _tag: "ToolRunEnded" })
    }))
})
