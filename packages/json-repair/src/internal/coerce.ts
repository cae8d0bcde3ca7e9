/** Coercion: converts a value of one JSON type to another type, if both spell the same value. */
import * as JsonText from "@recourse/core/JsonText"

type Schema = Readonly<Record<string, unknown>>

const isRecord = (value: unknown): value is Schema =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const own = (value: unknown, key: string): unknown =>
  isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined

/**
 * The schemas behind a schema: its reference, and the members of a union. Limited in depth, because references may be
 * circular.
 */
const alternatives = (schema: unknown, root: unknown, depth = 16): ReadonlyArray<Schema> => {
  if (!isRecord(schema) || depth === 0) return []
  const ref = own(schema, "$ref")
  if (typeof ref === "string") {
    const target = ref.startsWith("#/")
      ? ref.slice(2).split("/").reduce<unknown>(
        (at, key) => own(at, key.replaceAll("~1", "/").replaceAll("~0", "~")),
        root
      )
      : undefined
    return alternatives(target, root, depth - 1)
  }
  const members = ["anyOf", "oneOf", "allOf"].flatMap((key) => {
    const list = own(schema, key)
    return Array.isArray(list) ? list as ReadonlyArray<unknown> : []
  })
  return [schema, ...members.flatMap((member) => alternatives(member, root, depth - 1))]
}

const typesOf = (schema: Schema): ReadonlyArray<unknown> => {
  const type = own(schema, "type")
  return Array.isArray(type) ? type : [type]
}

/** The types that a schema wants at a path. */
export const typesAt = (root: unknown, path: ReadonlyArray<PropertyKey>): ReadonlySet<unknown> => {
  let at = alternatives(root, root)
  for (const key of path) {
    at = at.flatMap((schema) =>
      typeof key === "number" || (typesOf(schema).includes("array") && /^\d+$/.test(String(key)))
        ? alternatives(own(schema, "items"), root)
        : alternatives(own(own(schema, "properties"), String(key)) ?? own(schema, "additionalProperties"), root)
    )
  }
  // A choice of strings is not any string: effect writes a number as one or as "NaN" or "Infinity".
  const free = at.filter((schema) => own(schema, "enum") === undefined && own(schema, "const") === undefined)
  return new Set(free.flatMap(typesOf).filter((type) => type !== undefined))
}

const number = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** The number that a text writes, if a number of this language holds all of it. */
const exactNumber = (text: string): number | undefined => {
  if (!number.test(text)) return undefined
  const value = Number(text)
  return Number.isFinite(value) && (Number.isSafeInteger(value) || String(value) === text) ? value : undefined
}

/** The array or object that a text holds if that type is wanted and no part of it changes by parsing: digits, equal keys. */
const nested = (text: string, wanted: ReadonlySet<unknown>): unknown => {
  const value = JsonText.parseLossless(text)
  return typeof value === "object" && wanted.has(Array.isArray(value) ? "array" : "object") ? value : undefined
}

/**
 * Converts the value to one of the wanted types. `undefined` if it already has one, if none fits, and if several would.
 */
export const coerced = (value: unknown, wanted: ReadonlySet<unknown>): unknown => {
  if (typeof value === "number" || typeof value === "boolean") {
    const isExact = !Number.isInteger(value) || Number.isSafeInteger(value)
    return wanted.has("string") && wanted.size === 1 && isExact ? String(value) : undefined
  }
  if (typeof value !== "string" || wanted.has("string")) return undefined
  const text = value.trim()
  if (text === "true" || text === "false") return wanted.has("boolean") ? text === "true" : undefined
  if (text.startsWith("[") || text.startsWith("{")) return nested(text, wanted)
  const parsed = exactNumber(text)
  return wanted.has("number") || (wanted.has("integer") && Number.isInteger(parsed)) ? parsed : undefined
}

/** Returns a value with another one at a path; `undefined` if the path is missing. */
export const withAt = (
  value: unknown,
  path: ReadonlyArray<PropertyKey>,
  change: (old: unknown) => unknown
): unknown => {
  const [key, ...rest] = path
  if (key === undefined) return change(value)
  if (Array.isArray(value)) {
    const index = Number(key)
    const changed = withAt(value[index], rest, change)
    return changed === undefined ? undefined : value.with(index, changed)
  }
  if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined
  const changed = withAt(own(value, String(key)), rest, change)
  return changed === undefined ? undefined : Object.fromEntries(
    Object.entries(value).map(([name, item]) => [name, name === String(key) ? changed : item])
  )
}
