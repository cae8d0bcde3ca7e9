/** JSON with sorted keys, so that equal values have equal texts. */

const sorted = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== "object" || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [key, sorted(item)] as const)
  return Object.fromEntries(entries.sort(([a], [b]) => a < b ? -1 : a > b ? 1 : 0))
}

/** The canonical text of a JSON value. */
export const canonicalJson = (value: unknown): string => JSON.stringify(sorted(value)) ?? "null"
