/**
 * JSON as text, of values of any depth: with sorted keys, so that equal values have equal texts, or with keys in their
 * order.
 */

/** Pending output: text, or a value. The last is written first. */
type Pending = { readonly text: string } | { readonly value: unknown }

const isLeftOut = (value: unknown): boolean =>
  value === undefined || typeof value === "function" || typeof value === "symbol"

const jsonOf = (value: unknown): unknown =>
  typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function"
    ? value.toJSON()
    : value

type KeysOf = (value: object) => ReadonlyArray<string>

const leaf = (value: unknown): string => JSON.stringify(value) ?? "null"

/** Number of levels that are written by recursion: nearly every value, at a fifth of the cost. */
const shallow = 64

/** Writes a value that is not deep; `undefined` for a deep one. */
const writeShallow = (root: unknown, keysOf: KeysOf, levels: number): string | undefined => {
  const value = jsonOf(root)
  if (typeof value !== "object" || value === null) return leaf(value)
  if (levels === 0) return undefined
  let text = ""
  if (Array.isArray(value)) {
    for (const item of value as ReadonlyArray<unknown>) {
      const written = writeShallow(item, keysOf, levels - 1)
      if (written === undefined) return undefined
      text += text === "" ? written : `,${written}`
    }
    return `[${text}]`
  }
  for (const key of keysOf(value)) {
    const item = (value as Record<string, unknown>)[key]
    if (isLeftOut(item)) continue
    const written = writeShallow(item, keysOf, levels - 1)
    if (written === undefined) return undefined
    text += `${text === "" ? "" : ","}${JSON.stringify(key)}:${written}`
  }
  return `{${text}}`
}

/** Writes a value of any depth, with a list of pending output. */
const writeDeep = (root: unknown, keysOf: KeysOf): string => {
  let text = ""
  const pending: Array<Pending> = [{ value: root }]
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    if ("text" in next) {
      text += next.text
      continue
    }
    const value = jsonOf(next.value)
    if (typeof value !== "object" || value === null) {
      text += leaf(value)
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

const write = (value: unknown, keysOf: KeysOf): string =>
  writeShallow(value, keysOf, shallow) ?? writeDeep(value, keysOf)

/** The canonical text of a JSON value. */
export const canonicalJson = (value: unknown): string => write(value, (object) => Object.keys(object).sort())

/** The text of a JSON value that is too deep for `JSON.stringify`. */
export const deepJson = (value: unknown): string => writeDeep(value, Object.keys)
