/** Walks JSON Schemas: the paths of schemas in a schema, and a schema without some of its keywords. */
import * as Predicate from "effect/Predicate"

/** A path in a document: the tokens of a JSON pointer. */
export type Place = ReadonlyArray<string>

/** Keywords (draft 2020-12) whose value is a schema, holds schemas by name, or holds a list of them. */
const shapes: Readonly<Record<string, "schema" | "map" | "list">> = {
  $defs: "map",
  properties: "map",
  patternProperties: "map",
  dependentSchemas: "map",
  allOf: "list",
  anyOf: "list",
  oneOf: "list",
  prefixItems: "list",
  additionalProperties: "schema",
  propertyNames: "schema",
  unevaluatedProperties: "schema",
  items: "schema",
  contains: "schema",
  unevaluatedItems: "schema",
  not: "schema",
  if: "schema",
  // oxlint-disable-next-line unicorn/no-thenable
  then: "schema",
  else: "schema"
}

const kindOf = (keyword: string) => Object.hasOwn(shapes, keyword) ? shapes[keyword] : undefined

type Change = (schema: Record<string, unknown>, place: Place) => Record<string, unknown>

/** Sets an own property, also for a name such as `__proto__`. */
const put = (target: Record<string, unknown>, key: string, value: unknown): void => {
  Object.defineProperty(target, key, { value, enumerable: true })
}

/** Depth limit of a path. */
const maxDepth = 500

/** Rebuilds a schema from its leaves, each schema in it changed. Throws for one that is too deep. */
export const rebuild = (schema: unknown, place: Place, change: Change): unknown => {
  if (!Predicate.isObject(schema)) return schema
  if (place.length > maxDepth) throw new RangeError("The schema is too deep")
  const out: Record<string, unknown> = {}
  for (const [keyword, value] of Object.entries(schema)) {
    const kind = kindOf(keyword)
    const at = [...place, keyword]
    if (kind === "schema") put(out, keyword, rebuild(value, at, change))
    else if (kind === "map" && Predicate.isObject(value)) {
      const map: Record<string, unknown> = {}
      for (const [name, member] of Object.entries(value)) put(map, name, rebuild(member, [...at, name], change))
      put(out, keyword, map)
    } else if (kind === "list" && Array.isArray(value)) {
      put(out, keyword, value.map((member, index) => rebuild(member, [...at, String(index)], change)))
    } else put(out, keyword, value)
  }
  return change(out, place)
}

/** A schema with some keywords only. */
export const withKeywords = (
  schema: Record<string, unknown>,
  keep: (keyword: string) => boolean
): Record<string, unknown> => Object.fromEntries(Object.entries(schema).filter(([keyword]) => keep(keyword)))

/** A place as a JSON pointer. */
export const pointer = (place: Place): string =>
  place.map((token) => `/${token.replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")
