import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Tool as AiTool } from "effect/ai"
import { AiToolkit, ConfigurationError, ToolCall } from "@recourse/core"
import { Drive } from "@recourse/testing"

const definition = AiTool.make("work", { success: Schema.String })

/** A tool that works for some steps of 800 ms, each with progress. */
const working = (steps: number, options: AiToolkit.Options) =>
  AiToolkit.fromTool(
    definition,
    () =>
      Effect.forEach(
        Array.from({ length: steps }, (_, step) => step),
        (step) => Effect.andThen(Effect.sleep("800 millis"), ToolCall.progress({ progress: step }))
      ).pipe(Effect.as("done")),
    options
  )

const run = (tool: ReturnType<typeof working>) =>
  Drive.drive(
    Effect.result(
      Effect.provideService(
        tool.call as Effect.Effect<string, any, ToolCall.ToolCall>,
        ToolCall.ToolCall,
        ToolCall.make({ id: "c", arguments: {} })
      )
    )
  )

describe("maxTimeout", () => {
  it.effect("lets progress extend the timeout", () =>
    Effect.gen(function*() {
      const result = yield* run(working(5, { effects: "read", timeout: "1 second", maxTimeout: "10 seconds" }))
      assert.strictEqual(result._tag === "Success" ? result.success : result.failure, "done")
    }))

  it.effect("ends an attempt that reports progress for ever", () =>
    Effect.gen(function*() {
      const result = yield* run(working(50, { effects: "read", timeout: "1 second", maxTimeout: "3 seconds" }))
      assert.strictEqual(result._tag, "Failure")
      const error = result._tag === "Failure" ? result.failure : undefined
      assert.deepStrictEqual([error._tag, String(error.after)], ["Timeout", "3000 millis"])
    }))

  it.effect("leaves the timeout as it is without progress", () =>
    Effect.gen(function*() {
      const tool = AiToolkit.fromTool(definition, () => Effect.as(Effect.sleep("5 seconds"), "done"), {
        effects: "write",
        timeout: "1 second",
        maxTimeout: "10 seconds"
      })
      const result = yield* run(tool as never)
      const error = result._tag === "Failure" ? result.failure : undefined
      assert.deepStrictEqual([error._tag, String(error.after)], ["OutcomeUnknown", "1000 millis"])
    }))

  it("refuses maxTimeout without a timeout, or below it", () => {
    assert.throws(() => working(1, { maxTimeout: "1 second" }), ConfigurationError.ConfigurationError)
    assert.throws(
      () => working(1, { timeout: "2 seconds", maxTimeout: "1 second" }),
      ConfigurationError.ConfigurationError
    )
  })
})
