/** The kind of values that are Standard Schemas, and a sentence for other schemas that a program gives in place of one. */
import * as Schema from "effect/Schema"
import type { Kind } from "../../foundation/options/optionCheck.ts"
import { kindOf } from "../../foundation/options/valueKind.ts"
import { isJsonSchema } from "./schemaKind.ts"

const isObject = (value: unknown): value is object =>
  (typeof value === "object" && value !== null) || typeof value === "function"

const isStandardSchema = (value: unknown): boolean => {
  const standard: unknown = isObject(value) ? Reflect.get(value, "~standard") : undefined
  return isObject(standard) && typeof Reflect.get(standard, "validate") === "function"
}

const about = (value: unknown): string => {
  if (Schema.isSchema(value)) return "is a Schema of effect. Use Tool.make"
  return isObject(value) && isJsonSchema(value)
    ? "is a JSON Schema. Use Tool.fromJsonSchema"
    : `is ${kindOf(value)} and has to be a Standard Schema, such as z.object({ city: z.string() }) of zod 4`
}

export const aStandardSchema: Kind = { is: isStandardSchema, called: "a Standard Schema", about }
