/** Tools of the AI SDK that yield results and run as tools of Recourse. */
import { assert, describe, it } from "@effect/vitest"
import { tool } from "ai"
import { Effect, Schema } from "effect"
import { z } from "zod"
import { AiSdkTools } from "@recourse/ai-sdk"
import { Tool, ToolRun } from "@recourse/core"

const nothing = z.object({})

/** A tool whose steps wait for `next`. */
const stepping = () => {
  const steps: Array<string> = []
  let next: () => void = () => {}
  const made = tool({
    inputSchema: nothing,
    execute: async function*() {
      try {
        for (let step = 1; step <= 3; step++) {
          await new Promise<void>((resolve) => (next = resolve))
          steps.push(`step ${step}`)
          yield step
        }
      } finally {
        steps.push("closed")
      }
    }
  })
  const Steps = Tool.fromStandardSchema("steps", {
    parameters: nothing,
    success: Schema.Number,
    effects: "write",
    execute: AiSdkTools.execute(made as never)
  })
  const advance = Effect.promise(async () => {
    next()
    await new Promise((resolve) => setTimeout(resolve, 5))
  })
  return { Steps, steps, advance }
}

describe("a tool that yields", () => {
  it.live("has its last result", () =>
    Effect.gen(function*() {
      const { Steps, advance, steps } = stepping()
      const outcome = ToolRun.callPromise(Steps, { id: "c1", arguments: {} } as never)
      yield* Effect.sleep("10 millis")
      for (let step = 0; step < 3; step++) yield* advance
      assert.deepInclude(yield* Effect.promise(() => outcome), { _tag: "Success", value: 3 })
      assert.deepStrictEqual(steps, ["step 1", "step 2", "step 3", "closed"])
    }))

  it.live("executes no further step once its call is interrupted", () =>
    Effect.gen(function*() {
      const { Steps, advance, steps } = stepping()
      const abort = new AbortController()
      const outcome = ToolRun.callPromise(Steps, { id: "c1", arguments: {}, signal: abort.signal } as never)
      yield* Effect.sleep("10 millis")
      yield* advance
      abort.abort()
      yield* Effect.promise(() => outcome)
      for (let step = 0; step < 3; step++) yield* advance
      assert.deepStrictEqual(steps, ["step 1", "step 2", "closed"])
    }))
})
