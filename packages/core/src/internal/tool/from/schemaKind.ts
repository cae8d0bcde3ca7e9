/** The kind of values that are schemas of effect, and a sentence for each other thing that a program gives in place of one. */
import * as Schema from "effect/Schema"
import * as SchemaAST from "effect/SchemaAST"
import type { Kind } from "../../foundation/options/optionCheck.ts"
import { kindOf } from "../../foundation/options/valueKind.ts"

const vendorOf = (value: object): string | undefined => {
  const standard: unknown = Reflect.get(value, "~standard")
  if (typeof standard !== "object" || standard === null) return undefined
  const vendor: unknown = Reflect.get(standard, "vendor")
  return typeof vendor === "string" && /^[a-zA-Z0-9_-]{1,32}$/.test(vendor) ? vendor : "Standard Schema"
}

/** True if an object has the form of a JSON Schema. */
export const isJsonSchema = (value: object): boolean =>
  typeof Reflect.get(value, "type") === "string" || "$schema" in value || "properties" in value

const example = "a Schema of effect, such as Schema.Struct({ city: Schema.String })"

/** Only arguments of tools may have a schema of another form. */
const about = (value: unknown, isParameters = false): string | undefined => {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return undefined
  const remedy = (form: string) => `Use ${isParameters ? `Tool.${form}, or ${example}` : example}`
  const vendor = vendorOf(value)
  if (vendor !== undefined) return `is a schema of ${vendor}. ${remedy("fromStandardSchema")}`
  if (typeof value === "function" || Array.isArray(value)) return undefined
  return isJsonSchema(value)
    ? `is a JSON Schema. ${remedy("fromJsonSchema")}`
    : "is a plain object. Wrap it in Schema.Struct, such as Schema.Struct({ city: Schema.String })"
}

const scalars: ReadonlySet<SchemaAST.AST["_tag"]> = new Set<SchemaAST.AST["_tag"]>([
  "Arrays",
  "BigInt",
  "Boolean",
  "Enum",
  "Literal",
  "Never",
  "Null",
  "Number",
  "String",
  "Symbol",
  "TemplateLiteral",
  "Undefined",
  "UniqueSymbol",
  "Void"
])

/** True if the JSON of a schema may be an object. */
const mayBeObject = (ast: SchemaAST.AST): boolean => {
  const encoded = SchemaAST.toEncoded(ast)
  return encoded._tag === "Union" ? encoded.types.some(mayBeObject) : !scalars.has(encoded._tag)
}

export const aSchema: Kind = {
  is: Schema.isSchema,
  called: "a Schema of effect",
  about: (value) => about(value) ?? `is ${kindOf(value)} and has to be a Schema of effect`
}

/** A schema of arguments: models write them as an object. */
export const anObjectSchema: Kind = {
  is: (value) => Schema.isSchema(value) && mayBeObject(value.ast),
  called: "a Schema of an object",
  about: (value) =>
    Schema.isSchema(value)
      ? "is no Schema of an object, and models write arguments as one. Use Schema.Struct({ city: Schema.String })"
      : about(value, true) ?? aSchema.about?.(value)
}
