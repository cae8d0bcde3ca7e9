/** Strict form of a tool's parameters: the dialect of JSON Schema in which a provider constrains the model's arguments. */
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as AiTool from "effect/ai/Tool"
import * as Exit from "effect/Exit"
import type * as JsonSchema from "effect/JsonSchema"
import * as Schema from "effect/Schema"
import { parametersOf } from "./sentSchema.ts"

interface StrictForm {
  readonly schema: JsonSchema.JsonSchema
  readonly read: (args: unknown) => unknown
}

/** The strict form without fields, for which effect's transformers have no object. */
const noFields: StrictForm = {
  schema: { type: "object", properties: {}, required: [], additionalProperties: false },
  read: (args) => args
}

const hasNoFields = (tool: AiTool.Any): boolean => {
  const { additionalProperties, properties } = parametersOf(tool)
  return additionalProperties === false && JSON.stringify(properties) === "{}"
}

const make = (tool: AiTool.Any, transformer: LanguageModel.CodecTransformer): StrictForm => {
  if (hasNoFields(tool)) return noFields
  // The services that a tool's schema may need are not in the type of `Tool.Any`. Arguments are not read without them.
  const own = tool.parametersSchema as unknown as Schema.Codec<unknown>
  try {
    const { codec, jsonSchema } = transformer(own)
    const [decode, encode] = [Schema.decodeUnknownExit(codec), Schema.encodeExit(own)]
    const read = (args: unknown) => {
      const decoded = decode(args)
      const encoded = Exit.isSuccess(decoded) ? encode(decoded.value) : decoded
      return Exit.isSuccess(encoded) ? encoded.value : args
    }
    return { schema: jsonSchema, read }
  } catch (cause) {
    const reason = cause instanceof Error ? `: ${cause.message}` : ""
    throw new Error(
      `The parameters of the tool "${tool.name}" have no strict form; do not annotate it with Tool.Strict${reason}`,
      {
        cause
      }
    )
  }
}

const known = new WeakMap<LanguageModel.CodecTransformer, WeakMap<AiTool.Any, StrictForm>>()

/** Returns the strict form of a strict tool, made once; `undefined` for others. Throws for parameters that have none. */
export const of = (tool: AiTool.Any, transformer: LanguageModel.CodecTransformer): StrictForm | undefined => {
  if (AiTool.getStrictMode(tool) !== true || (AiTool.isDynamic(tool) && tool.jsonSchema !== undefined)) return undefined
  let forms = known.get(transformer)
  if (forms === undefined) known.set(transformer, forms = new WeakMap())
  const found = forms.get(tool) ?? make(tool, transformer)
  forms.set(tool, found)
  return found
}
