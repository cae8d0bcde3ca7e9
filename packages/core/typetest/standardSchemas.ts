/** Types of tools whose parameters are Standard Schemas: the executor has the output, and a wrong use is a sentence. */
import { toStandardJsonSchema } from "@valibot/to-json-schema"
import { type } from "arktype"
import { Context, Effect, Schema, type StandardSchema } from "effect"
import * as v from "valibot"
import { z } from "zod"
import { Recovery, Tool, type ToolError } from "@recourse/core"
import { type Equals, holds } from "./assert.ts"

class Db extends Context.Service<Db, { readonly n: number }>()("Db") {}

type Always = ToolError.InvalidArgs | ToolError.InvalidResult

// --- the output of each library

const zod = z.object({ at: z.string().transform((text) => new Date(text)), n: z.number().default(1) })
const ofZod = Tool.fromStandardSchema("t", {
  parameters: zod,
  success: Schema.String,
  needsApproval: ({ n }) => n > 1,
  execute: (params) => {
    holds<Equals<typeof params, z.output<typeof zod>>>()
    return Effect.succeed(params.at.toISOString())
  }
})
holds<Equals<Tool.Error<typeof ofZod>, Always | ToolError.NotApproved>>()
holds<Equals<Tool.Services<typeof ofZod>, never>>()
holds<Equals<Tool.Success<typeof ofZod>, string>>()
ofZod.pipe(Tool.onError(Recovery.fallback("InvalidArgs", (_, params) => {
  holds<Equals<typeof params, Tool.ParamsOf<typeof ofZod>>>()
  return Effect.map(params, (output) => {
    holds<Equals<typeof output, z.output<typeof zod>>>()
    return output.at.toISOString()
  })
})))

Tool.fromStandardSchema("t", {
  parameters: toStandardJsonSchema(v.object({ n: v.pipe(v.string(), v.transform(Number)) })),
  execute: (params) => {
    holds<Equals<typeof params, { n: number }>>()
    return Effect.void
  }
})

Tool.fromStandardSchema("t", {
  parameters: type({ n: "string.numeric.parse", "city?": "string" }),
  execute: (params) => {
    holds<Equals<typeof params, { n: number; city?: string }>>()
    return Effect.void
  }
})

// --- errors and services like those of the other forms

const pay = Tool.fromStandardSchema("pay", {
  parameters: zod,
  success: Schema.String,
  effects: "write",
  timeout: "1 second",
  compensate: ({ n }, id) => Effect.map(Db, (db) => [db.n + n, id]),
  execute: () => Effect.fail("down")
})
holds<Equals<Tool.Error<typeof pay>, Always | ToolError.ExecutionError<string> | ToolError.OutcomeUnknown>>()
holds<Equals<Tool.Services<typeof pay>, Db>>()

// --- wrong uses

declare const plain: StandardSchema.StandardSchemaV1<{ n: string }, { n: number }>
const execute = () => Effect.void

// @ts-expect-error This schema does not convert itself: pass its JSON Schema as `jsonSchema`
Tool.fromStandardSchema("t", { parameters: v.object({ n: v.number() }), execute })
// @ts-expect-error This schema does not convert itself: pass its JSON Schema as `jsonSchema`
Tool.fromStandardSchema("t", { parameters: plain, execute })
Tool.fromStandardSchema("t", {
  parameters: plain,
  jsonSchema: { type: "object" },
  execute: ({ n }) => {
    holds<Equals<typeof n, number>>()
    return Effect.void
  }
})
// @ts-expect-error parameters is a Standard Schema: for a Schema of effect use Tool.make
Tool.fromStandardSchema("t", { parameters: Schema.Struct({}), jsonSchema: {}, execute })
// @ts-expect-error There is no "onUnknownKeys" here. Use a strict schema, such as z.strictObject.
Tool.fromStandardSchema("t", { parameters: zod, onUnknownKeys: "refuse", execute })
// @ts-expect-error There is no "timeuot" here. Did you mean "timeout"?
Tool.fromStandardSchema("t", { parameters: zod, timeuot: "1 second", execute })
// @ts-expect-error A tool needs `execute`: the function that runs it.
Tool.fromStandardSchema("t", { parameters: zod })
