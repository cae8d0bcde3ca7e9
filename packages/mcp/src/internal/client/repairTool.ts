/** Repairs the definition of one tool: `null` is an absent field, a missing `type` is an object, a field that cannot be read is dropped. */
import * as McpSchema from "effect/ai/McpSchema"
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import { own } from "./messages.ts"

/** A field that was dropped. */
export interface Dropped {
  readonly field: string
  readonly reason: string
}

/** A tool that can be used, or the problem of one that cannot. */
export type Repaired =
  | { readonly name: string; readonly tool: McpSchema.Tool; readonly dropped: ReadonlyArray<Dropped> }
  | { readonly name: string | undefined; readonly tool?: undefined; readonly problem: string }

const decode = Schema.decodeUnknownOption(McpSchema.Tool)

type Fields = Readonly<Record<string, unknown>>

const isFields = (value: unknown): value is Fields => Predicate.isReadonlyObject(value)

/** Keywords of JSON Schema that may be `null`. */
const mayBeNull = new Set(["const", "default", "example"])

const withoutNulls = (fields: Fields): Fields =>
  Object.fromEntries(Object.entries(fields).filter(([key, value]) => value !== null || mayBeNull.has(key)))

const isSchema = (value: unknown): boolean => typeof value === "boolean" || isFields(value)

/** The keywords of a root that effect reads, in a form that it reads. */
const wellFormed = (schema: Fields): Fields => {
  const { properties, required, ...rest } = schema
  return {
    ...rest,
    ...(isFields(properties)
      ? { properties: Object.fromEntries(Object.entries(properties).filter(([, value]) => isSchema(value))) }
      : undefined),
    ...(Array.isArray(required) ? { required: required.filter(Predicate.isString) } : undefined)
  }
}

/** An input schema whose values are objects, or its problem. */
const inputOf = (raw: unknown): Fields | string => {
  if (raw === undefined || raw === null || raw === true) return { type: "object" }
  if (!isFields(raw)) return "its input schema is no JSON Schema of an object"
  const schema = withoutNulls(raw)
  const { type } = schema
  const isObject = type === undefined || type === "object" || (Array.isArray(type) && type.includes("object"))
  return isObject
    ? wellFormed({ ...schema, type: "object" })
    : `its input schema has the type ${JSON.stringify(type)}, and arguments are objects`
}

const annotationsOf = (raw: Fields): Fields => {
  const hints = new Set(["readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"])
  return Object.fromEntries(
    Object.entries(withoutNulls(raw)).filter(([key, value]) => !hints.has(key) || typeof value === "boolean")
  )
}

/** Fields that a tool can do without. */
const optional = ["title", "description", "outputSchema", "annotations", "icons", "_meta"]

/** Spellings of a tool's input schema: of MCP, of programs in Python, and of the functions of OpenAI. */
const inputSpellings = ["inputSchema", "input_schema", "parameters"]

/** Returns a tool that can be used, or its problem. */
export const repairTool = (raw: unknown): Repaired => {
  const name = own(raw, "name")
  if (!isFields(raw) || typeof name !== "string" || name === "") return { name: undefined, problem: "it has no name" }
  const given = inputSpellings.map((spelling) => own(raw, spelling)).find((schema) => schema !== undefined)
  const inputSchema = inputOf(given)
  if (typeof inputSchema === "string") return { name, problem: inputSchema }
  const fields = withoutNulls(raw)
  const required = { name, inputSchema }
  if (Option.isNone(decode(required))) return { name, problem: "its input schema is no JSON Schema of an object" }
  const dropped: Array<Dropped> = []
  const usable: Record<string, unknown> = { ...required }
  for (const field of optional) {
    if (!Object.hasOwn(fields, field)) continue
    const value = field === "annotations" && isFields(fields[field]) ? annotationsOf(fields[field]) : fields[field]
    if (Option.isSome(decode({ ...required, [field]: value }))) usable[field] = value
    else dropped.push({ field, reason: "it does not have the form that MCP gives it, and is ignored" })
  }
  const tool = Option.getOrUndefined(decode(usable))
  return tool === undefined ? { name, problem: "it cannot be read" } : { name, tool, dropped }
}
