/** Tool with the JSON Schema that models are sent, and a schema that checks arguments. */
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import * as AiTool from "effect/ai/Tool"
import { fromOptions, type IdempotencyOptions } from "../../idempotency/idempotencyOptions.ts"
import { ToolFailure } from "../../projection/toolFailure.ts"
import { define } from "../defineTool.ts"
import { modelDefinition } from "../modelDefinition.ts"
import type { Any } from "../tool.ts"
import type { BaseOptions } from "../toolOptions.ts"

/** The parameters of such a tool. */
interface Parameters {
  readonly jsonSchema: JsonSchema.JsonSchema
  readonly schema: Schema.Codec<unknown>
  /** Unchecked parts of the arguments. */
  readonly unchecked: ReadonlyArray<string>
}

type AnyOptions = BaseOptions<
  never,
  Schema.Top,
  unknown,
  unknown,
  unknown,
  unknown,
  unknown,
  unknown,
  unknown
>

/** Makes a tool of checked options. */
export const jsonSchemaTool = (
  name: string,
  given: AnyOptions,
  { jsonSchema, schema, unchecked }: Parameters
): Any =>
  define({
    ...given,
    definition: modelDefinition(
      AiTool.dynamic(name, {
        description: given.description,
        parameters: jsonSchema,
        success: (given.success as Schema.Top | undefined) ?? Schema.Void,
        failure: ToolFailure,
        failureMode: "return",
        toModelOutput: given.toModelOutput
      }).annotate(AiTool.Strict, false)
    ),
    parameters: schema,
    unchecked,
    idempotency: given.idempotency &&
      fromOptions(given.idempotency as true | IdempotencyOptions<never, unknown, string>)
  } as never)
