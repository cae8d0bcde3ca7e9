/**
 * JSON Schema of an Effect Schema in its sent form: to models, to clients of an MCP server, to fixers. Arguments are
 * decoded by the codec of the same JSON form (`jsonForm.ts`). So each value that fits the sent schema is decoded,
 * unless a refinement without a keyword refuses it.
 */
import * as AiTool from "effect/ai/Tool"
import type * as JsonSchema from "effect/JsonSchema"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { rebuild, withKeywords } from "./jsonSchemaNodes.ts"
import { modelSchema } from "./modelSchema.ts"

type Node = Record<string, unknown>

/** The texts that effect writes for numbers that JSON does not have. They are never read from a model. */
const nonFinite = JSON.stringify({ type: "string", enum: ["Infinity", "-Infinity", "NaN"] })

/** A union without equal members, and without texts for numbers. */
const withoutSurplus = (node: Node): Node => {
  const { anyOf } = node
  if (!Array.isArray(anyOf)) return node
  const members = new Map(anyOf.map((member): [string, unknown] => [JSON.stringify(member), member]))
  members.delete(nonFinite)
  if (members.size === anyOf.length || members.size === 0) return node
  const [only] = members.values()
  const rest = withKeywords(node, (keyword) => keyword !== "anyOf")
  const isAlone = members.size === 1 && Predicate.isObject(only) &&
    !Object.keys(only).some((keyword) => Object.hasOwn(rest, keyword))
  return isAlone ? { ...only, ...rest } : { ...rest, anyOf: [...members.values()] }
}

/**
 * Returns the JSON Schema to send for a schema, with its definitions under `$defs`. Objects are closed: a key that the schema does not have is
 * refused or dropped, and not asked for. Throws for a schema that has no JSON form.
 */
export const sentSchema = (schema: Schema.Constraint): JsonSchema.JsonSchema => {
  const { definitions, schema: named } = Schema.toJsonSchemaDocument(schema, { onExcessProperty: "error" })
  // A class, and a schema that contains itself, is a definition.
  const root = Object.entries(definitions).find(([name]) => named["$ref"] === `#/$defs/${name}`)?.[1] ?? named
  const document = Object.keys(definitions).length === 0 ? root : { ...root, $defs: definitions }
  return rebuild(document, [], withoutSurplus) as JsonSchema.JsonSchema
}

/** The JSON Schema that effect writes for a struct without fields. */
const noFields = JSON.stringify({ not: { type: "null" } })

const ofParameters = (schema: Schema.Constraint): JsonSchema.JsonSchema => {
  const sent = sentSchema(schema)
  return JSON.stringify(sent) === noFields ? { type: "object", properties: {}, additionalProperties: false } : sent
}

/**
 * Returns the JSON Schema to send for the parameters of a tool: a dynamic tool's own, else that of its schema. Its root is an object, also for
 * a union, a class or a struct without fields.
 */
export const parametersOf = (tool: AiTool.Any): JsonSchema.JsonSchema =>
  modelSchema(
    AiTool.isDynamic(tool) && tool.jsonSchema !== undefined
      ? tool.jsonSchema
      : ofParameters(tool.parametersSchema as Schema.Constraint)
  )
