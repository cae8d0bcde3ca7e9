/**
 * Schemas for servers that read a part of JSON Schema: Gemini refuses a whole request for one reference, `const`, or number in an `enum`.
 * Other keywords are left out or described in words: the tool's own check still applies to the arguments.
 */
import * as Predicate from "effect/Predicate"

type Schema = Readonly<Record<string, unknown>>

const isSchema = (value: unknown): value is Schema => Predicate.isReadonlyObject(value) && !Array.isArray(value)

const list = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

/** Keywords whose values are taken as they are. */
const plain = ["title", "minItems", "maxItems", "minimum", "maximum", "minLength", "maxLength", "pattern", "nullable"]

const formats = new Set(["date-time", "float", "double", "int32", "int64"])

/** The place that a reference within the schema names. */
const target = (root: Schema, reference: string): unknown => {
  if (!reference.startsWith("#")) return undefined
  const steps = reference.slice(1).split("/").slice(1)
  return steps.reduce<unknown>((at, step) => {
    const key = decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~")
    return Predicate.isObject(at) && Object.hasOwn(at, key) ? (at as Schema)[key] : undefined
  }, root)
}

const noted = (schema: Schema, note: string): Schema => {
  const { description } = schema
  return { ...schema, description: typeof description === "string" ? `${description} (${note})` : note }
}

const typeOf = (values: ReadonlyArray<unknown>): string =>
  values.every((value) => Number.isInteger(value))
    ? "integer"
    : values.every((value) => typeof value === "number")
    ? "number"
    : values.every((value) => typeof value === "boolean")
    ? "boolean"
    : "string"

/** A schema of the values; those that are no texts are in the description. */
const ofValues = (schema: Schema, values: ReadonlyArray<unknown>): Schema => {
  const { enum: _, const: __, ...rest } = schema
  const some = values.filter((value) => value !== null)
  const base = { ...rest, ...(some.length < values.length ? { nullable: true } : undefined) }
  if (some.every((value) => typeof value === "string")) return { ...base, type: "string", enum: some }
  return noted(
    { ...base, type: typeof rest["type"] === "string" ? rest["type"] : typeOf(some) },
    `one of ${some.map((value) => JSON.stringify(value)).join(", ")}`
  )
}

/** Alternatives as one schema, without `null` among them. */
const ofAlternatives = (schema: Schema, alternatives: ReadonlyArray<Schema>): Schema => {
  const { description, nullable } = schema
  const some = alternatives.filter(({ type }) => type !== "null")
  const common = {
    ...(description === undefined ? undefined : { description }),
    ...(nullable === true || some.length < alternatives.length ? { nullable: true } : undefined)
  }
  return some.length === 1 ? { ...some[0], ...common } : { ...common, anyOf: some }
}

/** One schema with the properties of all. */
const merged = (schemas: ReadonlyArray<Schema>): Schema => {
  const properties = schemas.flatMap((one) => isSchema(one["properties"]) ? [one["properties"]] : [])
  const required = schemas.flatMap((one) => list(one["required"]))
  return Object.assign(
    {},
    ...schemas,
    properties.length === 0 ? {} : { properties: Object.assign({}, ...properties) as Schema },
    required.length === 0 ? {} : { required: [...new Set(required)] }
  ) as Schema
}

/** Bounds of whole numbers that exclude their limits; other numbers have no such bound. */
const bounds = ({ exclusiveMaximum, exclusiveMinimum, type }: Schema): Schema =>
  type !== "integer" ? {} : {
    ...(typeof exclusiveMinimum === "number" ? { minimum: exclusiveMinimum + 1 } : undefined),
    ...(typeof exclusiveMaximum === "number" ? { maximum: exclusiveMaximum - 1 } : undefined)
  }

class Subset {
  private readonly root: Schema

  constructor(root: Schema) {
    this.root = root
  }

  of(value: unknown, within: ReadonlyArray<unknown>): Schema {
    if (!isSchema(value)) return {}
    const { $ref, ...rest } = value
    if (typeof $ref === "string") {
      const found = target(this.root, $ref)
      // A schema that contains itself ends at the second occurrence.
      if (!isSchema(found) || within.includes(found)) return { type: "object", ...this.leaf(rest) }
      return this.of({ ...found, ...rest }, [...within, found])
    }
    if (Array.isArray(value["allOf"])) {
      const { allOf, ...others } = value
      return this.of(merged([others, ...allOf.filter(isSchema).map((one) => this.resolved(one))]), within)
    }
    if (Array.isArray(value["enum"])) return this.leaf(ofValues(value, value["enum"]))
    if (Object.hasOwn(value, "const")) return this.leaf(ofValues(value, [value["const"]]))
    const alternatives = value["anyOf"] ?? value["oneOf"]
    if (Array.isArray(alternatives) && value["properties"] === undefined) {
      return ofAlternatives(value, alternatives.map((one) => this.of(one, within)))
    }
    if (Array.isArray(value["type"])) {
      const { description, type, ...others } = value
      const each = type.map((one) => this.of({ ...others, type: one }, within))
      return ofAlternatives({ ...(description === undefined ? undefined : { description }) }, each)
    }
    return { ...this.leaf(value), ...this.children(value, within) }
  }

  private resolved(schema: Schema): Schema {
    const { $ref, ...rest } = schema
    const found = typeof $ref === "string" ? target(this.root, $ref) : undefined
    return isSchema(found) ? { ...found, ...rest } : schema
  }

  private leaf(schema: Schema): Schema {
    const { description, enum: values, format, type } = schema
    return {
      ...(type === undefined ? undefined : { type }),
      ...(typeof description === "string" ? { description } : undefined),
      ...(values === undefined ? undefined : { enum: values }),
      ...(typeof format === "string" && formats.has(format) ? { format } : undefined),
      ...Object.fromEntries(plain.flatMap((key) => Object.hasOwn(schema, key) ? [[key, schema[key]]] : [])),
      ...bounds(schema)
    }
  }

  private children(schema: Schema, within: ReadonlyArray<unknown>): Schema {
    const { items, prefixItems, properties, required, type } = schema
    if (isSchema(properties)) {
      const of = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, this.of(one, within)]))
      const named = list(required).filter((name) => typeof name === "string" && Object.hasOwn(of, name))
      return { type: "object", properties: of, ...(named.length === 0 ? undefined : { required: named }) }
    }
    if (type !== "array") return {}
    const each = isSchema(items) ? [items] : list(prefixItems)
    const kinds = new Map(each.map((one) => this.of(one, within)).map((one) => [JSON.stringify(one), one]))
    const some = [...kinds.values()].filter((one) => Object.keys(one).length > 0)
    return { items: some.length === 0 ? { type: "string" } : ofAlternatives({}, some) }
  }
}

/** The schema in the part of JSON Schema that is the same in OpenAPI 3.0. */
export const schemaSubset = (schema: unknown): unknown =>
  isSchema(schema) ? new Subset(schema).of(schema, [schema]) : schema
