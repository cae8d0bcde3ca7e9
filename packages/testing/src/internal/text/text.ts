/** Text of any value, complete, for comparing and searching. */
import { Cause } from "effect"

const shown = (value: object): object =>
  value instanceof Error
    ? { ...value, name: value.name, message: value.message, cause: value.cause }
    : Cause.isCause(value)
    ? value.reasons
    : value instanceof Map || value instanceof Set
    ? [...value]
    : value

/**
 * `undefined` if JSON has no text for it. `ancestors` are its outer values, which is faster than a copy for each value.
 */
const written = (value: unknown, ancestors: Array<unknown>): string | undefined => {
  switch (typeof value) {
    case "bigint":
    case "symbol":
    case "function":
      return JSON.stringify(String(value))
    case "object":
      return value === null ? "null" : writtenObject(value, ancestors)
    default:
      return JSON.stringify(value)
  }
}

const writtenObject = (value: object, ancestors: Array<unknown>): string | undefined => {
  if (ancestors.includes(value)) return "\"…\""
  const seen = "toJSON" in value && typeof value.toJSON === "function" && !(value instanceof Error)
    ? value.toJSON() as unknown
    : shown(value)
  if (typeof seen !== "object" || seen === null) return JSON.stringify(seen)
  ancestors.push(value)
  const text = Array.isArray(seen)
    ? `[${seen.map((item) => written(item, ancestors) ?? "null").join(",")}]`
    : `{${fields(seen as Readonly<Record<string, unknown>>, ancestors)}}`
  ancestors.pop()
  return text
}

const fields = (value: Readonly<Record<string, unknown>>, ancestors: Array<unknown>): string => {
  let text = ""
  for (const key of Object.keys(value).sort()) {
    if (key.startsWith("~")) continue
    const item = written(value[key], ancestors)
    if (item !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${item}`
  }
  return text
}

/** Converts a value to JSON with sorted keys, errors and symbols included, brands left out; circular values are cut. */
export const textOf = (value: unknown): string => written(value, []) ?? String(value)

/** A value as JSON can hold it. */
export const stored = (value: unknown): unknown => value === undefined ? null : JSON.parse(textOf(value))
