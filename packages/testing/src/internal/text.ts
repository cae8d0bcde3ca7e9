/** Any value as text that shows everything in it, for comparing and for searching. */
import { Cause } from "effect"

const shown = (value: unknown): unknown =>
  typeof value === "bigint" || typeof value === "symbol" || typeof value === "function"
    ? String(value)
    : value instanceof Error
    ? { ...value, name: value.name, message: value.message, cause: value.cause }
    : Cause.isCause(value)
    ? value.reasons
    : value instanceof Map || value instanceof Set
    ? [...value]
    : value

/** A value as JSON, errors and symbols included; what contains itself is cut. */
export const textOf = (value: unknown): string => {
  const ancestors: Array<unknown> = []
  return JSON.stringify(value, function(this: unknown, _key, raw: unknown) {
    const value = shown(raw)
    if (typeof value !== "object" || value === null) return value
    while (ancestors.length > 0 && ancestors.at(-1) !== this) ancestors.pop()
    if (ancestors.includes(value)) return "…"
    ancestors.push(value)
    return value
  }) ?? String(value)
}
