/** Tools of LangChain that run as tools of Recourse. */
import { assert, describe, it } from "@effect/vitest"
import { ToolMessage } from "@langchain/core/messages"
import { Command } from "@langchain/langgraph"
import { Effect, Schema } from "effect"
import { tool } from "langchain"
import { z } from "zod"
import { Tool, ToolRun } from "@recourse/core"
import { LangChain } from "@recourse/langchain"

const nothing = z.object({})
const cents = z.object({ euros: z.number().transform((euros) => euros * 100) })

const run = (made: Tool.Any, args: unknown = {}) =>
  Effect.promise(() => ToolRun.callPromise(made, { id: "c1", arguments: args } as never))

/** Runs a tool with that result, and returns its outcome. */
const outcomeOf = (result: unknown) => {
  const made = tool(() => Promise.resolve(result) as never, { name: "t", schema: nothing })
  const execute = LangChain.execute(made as never)
  return run(Tool.fromStandardSchema("t", { parameters: nothing, success: Schema.Unknown, effects: "read", execute }))
}

const message = (status: "success" | "error") => new ToolMessage({ content: "No order", tool_call_id: "c1", status })

describe("an executed tool of LangChain", () => {
  it.effect("transforms arguments once by the schema that it shares", () =>
    Effect.gen(function*() {
      const made = tool(({ euros }) => Promise.resolve(String(euros)), { name: "pay", schema: cents })
      const execute = LangChain.execute(made as never)
      const Pay = Tool.fromStandardSchema("pay", {
        parameters: cents,
        success: Schema.Unknown,
        effects: "read",
        execute
      })
      assert.deepInclude(yield* run(Pay, { euros: 5 }), { _tag: "Success", value: "500" })
    }))

  it.effect("transforms arguments of another schema by its own", () =>
    Effect.gen(function*() {
      const made = tool(({ euros }) => Promise.resolve(String(euros)), { name: "pay", schema: cents })
      const Pay = Tool.make("pay", {
        parameters: Schema.Struct({ euros: Schema.Finite }),
        success: Schema.Unknown,
        effects: "read",
        execute: LangChain.execute(made as never)
      })
      assert.deepInclude(yield* run(Pay, { euros: 5 }), { _tag: "Success", value: "500" })
    }))

  it.effect("has the content of a message as its result", () =>
    Effect.gen(function*() {
      assert.deepInclude(yield* outcomeOf(message("success")), { _tag: "Success", value: "No order" })
    }))

  for (const [name, result] of [["a message of an error", message("error")], ["a Command", new Command({})]] as const) {
    it.effect(`fails for ${name}`, () =>
      Effect.gen(function*() {
        const outcome = yield* outcomeOf(result)
        assert.deepInclude(outcome, { _tag: "Unhandled" })
        assert.propertyVal((outcome as { readonly error: unknown }).error, "_tag", "ExecutionError")
      }))
  }
})
