/** The value that is left of a value after JSON text and back. */
import * as Option from "effect/Option"
import type * as Schema from "effect/Schema"

/** Nesting limit of arrays and objects: well below the recursion limit of functions that read JSON. */
const maxDepth = 500

const notJson = Symbol()

const plain = (value: object): boolean => {
  const prototype = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const ofArray = (items: ReadonlyArray<unknown>, depth: number): unknown => {
  let copy: Array<unknown> | undefined
  for (let i = 0; i < items.length; i++) {
    const item = items[i]
    const json = item === undefined ? null : convert(item, depth)
    if (json === notJson) return notJson
    if (json !== item) (copy ??= [...items])[i] = json
  }
  return copy ?? items
}

/** True for an object whose content is not in its fields: a `Map`, bytes, an error, a promise, a response. */
const isOpaque = (value: object): boolean =>
  Symbol.iterator in value || ArrayBuffer.isView(value) || value instanceof Error || Object.keys(value).length === 0

const ofObject = (value: object, depth: number): unknown => {
  if ("toJSON" in value && typeof value.toJSON === "function") return convert(value.toJSON(), depth)
  const isPlain = plain(value)
  if (!isPlain && isOpaque(value)) return notJson
  let changed: Map<string, unknown> | undefined
  const keys = Object.keys(value)
  for (const key of keys) {
    const item = (value as Record<string, unknown>)[key]
    const json = item === undefined ? undefined : convert(item, depth)
    if (json === notJson) return notJson
    if (json !== item || json === undefined) (changed ??= new Map()).set(key, json)
  }
  if (isPlain && changed === undefined) return value
  return Object.fromEntries(keys.flatMap((key) => {
    const json = changed?.has(key) === true ? changed.get(key) : (value as Record<string, unknown>)[key]
    return json === undefined ? [] : [[key, json] as const]
  }))
}

const convert = (value: unknown, depth: number): unknown => {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value
    case "number":
      return Number.isFinite(value) ? value : notJson
    case "object":
      if (value === null) return null
      return depth === 0 ? notJson : Array.isArray(value) ? ofArray(value, depth - 1) : ofObject(value, depth - 1)
    default:
      return notJson
  }
}

/**
 * Returns the JSON of a value: the value itself if it is JSON. Like JSON text, it omits fields that are `undefined` and
 * calls `toJSON`. `None` if JSON text would lose anything else: `NaN`, a bigint, a function, a `Map`, bytes, an error, an
 * object of a class without fields such as a promise, a cycle, or more than 500 levels.
 */
export const toJson = (value: unknown): Option.Option<Schema.Json> => {
  try {
    const json = convert(value, maxDepth)
    return json === notJson ? Option.none() : Option.some(json as Schema.Json)
  } catch {
    return Option.none()
  }
}
