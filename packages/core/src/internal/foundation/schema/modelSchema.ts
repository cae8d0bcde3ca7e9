/**
 * JSON Schema of parameters as models are sent it. Providers refuse a whole request for one tool whose schema has no object at its root,
 * has composition there, or has keywords in a wrong form. Arguments are still checked by the schema itself.
 */
import * as Predicate from "effect/Predicate"
import { isMisformed } from "./jsonSchemaKeywords.ts"
import { rebuild, withKeywords } from "./jsonSchemaNodes.ts"

type Json = Record<string, unknown>

/** Keywords that the root of a sent schema does not have. */
const composition = new Set([
  "$ref",
  "$dynamicRef",
  "allOf",
  "anyOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "enum",
  "const"
])

/** The properties that an object may have, and those that it needs. */
interface Shape {
  readonly properties: ReadonlyMap<string, unknown>
  readonly required: ReadonlyArray<string>
}

const tokensOf = (reference: string) =>
  reference.slice(1).split("/").slice(1).map((token) => token.replaceAll("~1", "/").replaceAll("~0", "~"))

/** Returns the target of a local reference, or `undefined`. */
const resolve = (document: Json, reference: unknown): unknown => {
  if (typeof reference !== "string" || (reference !== "#" && !reference.startsWith("#/"))) return undefined
  let found: unknown = document
  for (const token of tokensOf(reference)) {
    if (!Predicate.isObjectOrArray(found) || !Object.hasOwn(found, token)) return undefined
    found = (found as Json)[token]
  }
  return found
}

const isObject = (value: unknown): value is Json => Predicate.isObject(value)

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : []

/** Combines two schemas of a property: both if they have no common keyword, the first otherwise. */
const both = (one: unknown, other: unknown): unknown => {
  if (!isObject(one) || !isObject(other)) return isObject(one) ? one : other
  return Object.keys(one).some((key) => Object.hasOwn(other, key)) ? one : { ...one, ...other }
}

const either = (schemas: ReadonlyArray<unknown>): unknown => {
  const distinct = [...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values()]
  return distinct.length === 1 ? distinct[0] : { anyOf: distinct }
}

const allOf = (shapes: ReadonlyArray<Shape>): Shape => {
  const properties = new Map<string, unknown>()
  for (const shape of shapes) {
    for (const [name, schema] of shape.properties) {
      properties.set(name, properties.has(name) ? both(properties.get(name), schema) : schema)
    }
  }
  return { properties, required: [...new Set(shapes.flatMap(({ required }) => required))] }
}

const anyOf = (shapes: ReadonlyArray<Shape>): Shape => {
  const found = new Map<string, Array<unknown>>()
  for (const { properties } of shapes) {
    for (const [name, schema] of properties) found.set(name, [...found.get(name) ?? [], schema])
  }
  return {
    properties: new Map([...found].map(([name, schemas]) => [name, either(schemas)])),
    required: shapes[0]?.required.filter((name) => shapes.every(({ required }) => required.includes(name))) ?? []
  }
}

/** Returns the shape of a schema with its composed parts. Circular references are followed once. */
const shapeOf = (node: unknown, document: Json, seen: ReadonlySet<unknown>): Shape => {
  if (!isObject(node) || seen.has(node)) return { properties: new Map(), required: [] }
  const within = new Set([...seen, node])
  const of = (part: unknown) => shapeOf(part, document, within)
  const own: Shape = {
    properties: new Map(isObject(node.properties) ? Object.entries(node.properties) : []),
    required: listOf(node.required).filter(Predicate.isString)
  }
  const alternatives = [node.anyOf, node.oneOf].map(listOf).filter((list) => list.length > 0)
  const conditional = [node.if, node.then, node.else].map((part) => ({ ...of(part), required: [] }))
  return allOf([
    own,
    of(resolve(document, node.$ref)),
    ...listOf(node.allOf).map(of),
    ...alternatives.map((list) => anyOf(list.map(of))),
    anyOf(conditional)
  ])
}

/** Changes each schema of a document, in `definitions` too. */
const each = (document: Json, change: (node: Json) => Json): Json => {
  const changed = rebuild(document, [], change) as Json
  return isObject(changed.definitions)
    ? {
      ...changed,
      definitions: Object.fromEntries(
        Object.entries(changed.definitions).map(([name, one]) => [name, rebuild(one, ["definitions", name], change)])
      )
    }
    : changed
}

const isDefinition = (reference: string) => reference.startsWith("#/$defs/") || reference.startsWith("#/definitions/")

/** A document whose references into its root lead to a definition, so that the root can be another one. */
const withRootDefined = (document: Json, isFlat: boolean): Json => {
  const definitions = isObject(document.$defs) ? document.$defs : {}
  const key = Object.hasOwn(definitions, "root") ? `root-${Object.keys(definitions).length}` : "root"
  let isReferred = false
  const rewritten = each(document, (node) => {
    const { $ref } = node
    if (typeof $ref !== "string" || isDefinition($ref)) return node
    if ($ref !== "#" && (isFlat || !$ref.startsWith("#/"))) return node
    isReferred = true
    return { ...node, $ref: `#/$defs/${key}${$ref.slice(1)}` }
  })
  if (!isReferred) return document
  const root = withKeywords(rewritten, (keyword) => !["$id", "$schema", "$defs", "definitions"].includes(keyword))
  return { ...rewritten, $defs: { ...rewritten.$defs as Json | undefined, [key]: root } }
}

const withoutDangling = (document: Json): Json =>
  each(
    document,
    (node) =>
      Object.hasOwn(node, "$ref") && resolve(document, node.$ref) === undefined
        ? withKeywords(node, (keyword) => keyword !== "$ref")
        : node
  )

/**
 * Returns the schema that models are sent: an object at its root, without composition there, in which each reference leads to a
 * definition. Returns the schema itself if it is one, and any object for a schema that is too deep.
 */
export const modelSchema = (schema: Json): Json => {
  try {
    return sentSchema(schema)
  } catch (error) {
    if (error instanceof RangeError) return { type: "object", properties: {} }
    throw error
  }
}

const sentSchema = (schema: Json): Json => {
  const wellFormed = each(schema, (node) => withKeywords(node, (keyword) => !isMisformed(node, keyword)))
  const isFlat = wellFormed.type === "object" && !Object.keys(wellFormed).some((keyword) => composition.has(keyword))
  const document = withoutDangling(withRootDefined(wellFormed, isFlat))
  const sent = isFlat ? withProperties(document) : flattened(document)
  return JSON.stringify(sent) === JSON.stringify(schema) ? schema : sent
}

const withProperties = (document: Json): Json =>
  document.properties === undefined ? { ...document, properties: {} } : document

/** A document whose root is an object with the properties of all that it is composed of. */
const flattened = (document: Json): Json => {
  const { properties, required } = shapeOf(document, document, new Set())
  const needed = required.filter((name) => properties.has(name))
  return {
    ...withKeywords(document, (keyword) => !composition.has(keyword) && keyword !== "required"),
    type: "object",
    properties: Object.fromEntries(properties),
    ...(needed.length === 0 ? undefined : { required: needed })
  }
}
