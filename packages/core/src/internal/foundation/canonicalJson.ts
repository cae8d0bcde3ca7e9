/** JSON as text, of values of any depth: with sorted keys, so that equal values have equal texts, or with keys as they stand. */

/** What is still to be written: text, or a value. The last comes first. */
type Pending = { readonly text: string } | { readonly value: unknown }

const isLeftOut = (value: unknown): boolean =>
  value === undefined || typeof value === "function" || typeof value === "symbol"

const jsonOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function"
    ? value.toJSON()
    : value

const write = (root: unknown, keysOf: (value: object) => ReadonlyArray<string>): string => {
  let text = ""
  const pending: Array<Pending> = [{ value: root }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if ("text" in next) {
      text += next.text
      continue
    }
    const value = jsonOf(next.value)
    if (typeof value !== "object" || value === null) {
      text += JSON.stringify(value) ?? "null"
      continue
    }
    const parts: Array<Pending> = []
    if (Array.isArray(value)) {
      for (const item of value as ReadonlyArray<unknown>) {
        parts.push({ text: parts.length === 0 ? "[" : "," }, { value: item })
      }
      parts.push({ text: parts.length === 0 ? "[]" : "]" })
    } else {
      for (const key of keysOf(value)) {
        const item = (value as Record<string, unknown>)[key]
        if (isLeftOut(item)) continue
        parts.push({ text: `${parts.length === 0 ? "{" : ","}${JSON.stringify(key)}:` }, { value: item })
      }
      parts.push({ text: parts.length === 0 ? "{}" : "}" })
    }
    for (let index = parts.length - 1; index >= 0; index--) pending.push(parts[index]!)
  }
  return text
}

/** The canonical text of a JSON value. */
export const canonicalJson = (value: unknown): string => write(value, (object) => Object.keys(object).sort())

/** The text of a JSON value that is too deep for `JSON.stringify`. */
export const deepJson = (value: unknown): string => write(value, Object.keys)
