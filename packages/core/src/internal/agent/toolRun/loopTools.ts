/** Tools of a run in the form that other loops take: a name, a JSON Schema, and a function. */
import type { StandardJSONSchemaV1, StandardSchemaV1 } from "effect/StandardSchema"
import type * as JsonSchema from "effect/JsonSchema"
import type { GivenCall } from "../../loop/singleCall.ts"
import type { Outcome } from "../../round/callOutcome.ts"
import type * as Tool from "../../tool/tool.ts"
import type { Any, Unhandled } from "./toolRun.ts"

/**
 * The schema of a tool for another loop. It accepts every value, because the run checks the arguments: then recovery
 * sees those that do not fit.
 *
 * @category models
 * @since 0.2.0
 */
export interface LoopSchema {
  readonly "~standard":
    & StandardSchemaV1.Props<unknown, unknown>
    & StandardJSONSchemaV1.Props<unknown, unknown>
}

/**
 * A tool of a run, for the loop of another program.
 *
 * @category models
 * @since 0.2.0
 */
export interface LoopTool {
  readonly name: string
  readonly description: string
  readonly jsonSchema: JsonSchema.JsonSchema
  readonly schema: LoopSchema
  /** Runs a call of the tool: see `callPromise` of a run. `input`: the arguments, or their JSON text. */
  readonly execute: (
    input: unknown,
    options: Pick<GivenCall, "id" | "answer"> & { readonly signal?: AbortSignal | undefined }
  ) => Promise<Outcome<unknown> | Unhandled<unknown>>
}

const schemaOf = (jsonSchema: JsonSchema.JsonSchema): LoopSchema => ({
  "~standard": {
    version: 1,
    vendor: "recourse",
    validate: (value) => ({ value }),
    jsonSchema: { input: () => structuredClone(jsonSchema), output: () => structuredClone(jsonSchema) }
  }
})

/**
 * Returns the tools of a run for an adapter to another loop, those that query tasks with them.
 *
 * **Example** (A loop of your own)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Tool, ToolRun } from "@recourse/core"
 *
 * const Double = Tool.make("double", {
 *   parameters: Schema.Struct({ n: Schema.Number }),
 *   success: Schema.Number,
 *   execute: ({ n }) => Effect.succeed(n * 2)
 * })
 * const run = await ToolRun.open("loop", { tools: [Double] })
 * const [double] = ToolRun.loopTools(run)
 * const outcome = await double!.execute({ n: 21 }, { id: "call_1" })
 * await run.endPromise()
 *
 * outcome._tag === "Success" && outcome.text // => "42"
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const loopTools = (run: Any): ReadonlyArray<LoopTool> =>
  run.tools.flatMap((tool): ReadonlyArray<Tool.Any> => tool.status === undefined ? [tool] : [tool, tool.status])
    .map(({ description = "", info, name }) => {
      // A copy is plain JSON: the document of zod has a Standard Schema in itself.
      const jsonSchema = structuredClone(info.description.jsonSchema()) as JsonSchema.JsonSchema
      return {
        name,
        description,
        jsonSchema,
        schema: schemaOf(jsonSchema),
        execute: (input, { answer, id, signal }) => run.callPromise({ id, name, arguments: input, answer }, { signal })
      }
    })
