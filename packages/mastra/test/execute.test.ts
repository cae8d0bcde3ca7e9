/** Tools of Mastra that run as tools of Recourse. */
import { assert, describe, it } from "@effect/vitest"
import { createTool } from "@mastra/core/tools"
import { Effect, Schema } from "effect"
import { z } from "zod"
import { Tool, ToolRun } from "@recourse/core"
import { Mastra } from "@recourse/mastra"

const cents = z.object({ euros: z.number().transform((euros) => euros * 100) })
const made = { id: "pay", description: "Pays" }

const run = (parameters: z.ZodObject, tool: object) =>
  Effect.promise(() =>
    ToolRun.callPromise(
      Tool.fromStandardSchema("pay", {
        parameters,
        success: Schema.Unknown,
        effects: "read",
        execute: Mastra.execute(tool as never)
      }),
      { id: "c1", arguments: { euros: 5 } } as never
    )
  )

describe("an executed tool of Mastra", () => {
  it.effect("transforms arguments once by the schema that it shares", () =>
    Effect.gen(function*() {
      const tool = createTool({ ...made, inputSchema: cents, execute: ({ euros }) => Promise.resolve(euros) })
      assert.deepInclude(yield* run(cents, tool), { _tag: "Success", value: 500 })
    }))

  for (
    const [name, tool] of [
      ["arguments", createTool({ ...made, inputSchema: z.object({ euros: z.string() }), execute: async () => "paid" })],
      [
        "a result",
        createTool({
          ...made,
          outputSchema: z.object({ paid: z.string() }),
          execute: async () => ({}) as never
        })
      ]
    ] as const
  ) {
    it.effect(`fails if Mastra refuses ${name}`, () =>
      Effect.gen(function*() {
        const outcome = yield* run(z.object({ euros: z.number() }), tool)
        assert.deepInclude(outcome, { _tag: "Unhandled" })
        assert.propertyVal((outcome as { readonly error: unknown }).error, "_tag", "ExecutionError")
      }))
  }
})
