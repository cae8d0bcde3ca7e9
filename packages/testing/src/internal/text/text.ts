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

const plain = (value: unknown, ancestors: ReadonlyArray<unknown>): unknown => {
  if (typeof value === "bigint" || typeof value === "symbol" || typeof value === "function") return String(value)
  if (typeof value !== "object" || value === null) return value
  if (ancestors.includes(value)) return "…"
  const within = [...ancestors, value]
  const seen = "toJSON" in value && typeof value.toJSON === "function" && !(value instanceof Error)
    ? value.toJSON() as unknown
    : shown(value)
  if (typeof seen !== "object" || seen === null) return seen
  return Array.isArray(seen)
    ? seen.map((item) => plain(item, within))
    : Object.fromEntries(
      Object.entries(seen)
        .filter(([key]) => !key.startsWith("~"))
        .toSorted(([a], [b]) => a < b ? -1 : 1)
        .map(([key, item]) => [key, plain(item, within)])
    )
}

/** A value as JSON with sorted keys, errors and symbols included, brands left out; what contains itself is cut. */
export const textOf = (value: unknown): string => JSON.stringify(plain(value, [])) ?? String(value)

/** A value as JSON can hold it. */
export const stored = (value: unknown): unknown => value === undefined ? null : JSON.parse(textOf(value))
