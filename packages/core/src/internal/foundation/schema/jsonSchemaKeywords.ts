/** Keywords of JSON Schema with the values that each may have. */
import * as Predicate from "effect/Predicate"

const counts = ["minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"]
const numbers = [...counts, "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]
const types = new Set(["null", "string", "number", "integer", "boolean", "object", "array"])
const isSchema = (value: unknown) => typeof value === "boolean" || Predicate.isObject(value)
const isText = (value: unknown) => typeof value === "string"
const isList = (value: unknown) => Array.isArray(value)
const isType = (value: unknown) => types.has(value as string)

const forms = new Map<string, (value: unknown) => boolean>([
  ...numbers.map((keyword) => [keyword, (value: unknown) => typeof value === "number"] as const),
  ["type", (value) => isType(value) || (Array.isArray(value) && value.length > 0 && value.every(isType))],
  ["required", (value) => Array.isArray(value) && value.every(isText)],
  ["properties", Predicate.isObject],
  ["patternProperties", Predicate.isObject],
  ["enum", isList],
  ["allOf", isList],
  ["anyOf", isList],
  ["oneOf", isList],
  ["prefixItems", isList],
  ["items", isSchema],
  ["additionalProperties", isSchema],
  ["propertyNames", isSchema],
  ["pattern", isText],
  ["$ref", isText]
])

/** Returns whether a keyword has a value that JSON Schema does not give it. */
export const isMisformed = (schema: Record<string, unknown>, keyword: string) => {
  const form = forms.get(keyword)
  return form !== undefined && Object.hasOwn(schema, keyword) && !form(schema[keyword])
}
