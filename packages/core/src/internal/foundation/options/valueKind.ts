/** Kinds of values in sentences, never the values themselves. */

export const isPromiseLike = (value: unknown): value is PromiseLike<unknown> =>
  typeof value === "object" && value !== null && "then" in value && typeof value.then === "function"

/** The kind of a value, with its article: "a string", "an array", "undefined". */
export const kindOf = (value: unknown): string => {
  if (value === undefined || value === null) return String(value)
  if (isPromiseLike(value)) return "a promise"
  if (Array.isArray(value)) return "an array"
  const kind = typeof value
  return kind === "object" ? "an object" : `a ${kind}`
}
