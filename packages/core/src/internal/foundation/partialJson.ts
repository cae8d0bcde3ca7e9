/** The value that is known so far of a JSON text that still grows. */

/** How deep arrays and objects may stand in each other. */
const maxDepth = 200

interface Read {
  readonly value: unknown
  /** Behind the value. */
  readonly end: number
  readonly isDone: boolean
}

const skip = (text: string, from: number): number => {
  let i = from
  while (i < text.length && /\s/.test(text[i]!)) i++
  return i
}

/** The end of a string that begins at `from`, or what can be read of one that still grows. */
const readString = (text: string, from: number): Read => {
  let i = from + 1
  /** Where the last escape begins. */
  let escape = -1
  while (i < text.length && text[i] !== "\"") {
    if (text[i] === "\\") escape = i++
    i++
  }
  if (i < text.length) return { value: JSON.parse(text.slice(from, i + 1)), end: i + 1, isDone: true }
  const isCut = escape >= 0 && /^\\(?:u[0-9a-fA-F]{0,3})?$/.test(text.slice(escape))
  const known = JSON.parse(`${text.slice(from, isCut ? escape : text.length)}"`) as string
  // Half of a character that takes two waits for its other half.
  return { value: known.replace(/[\ud800-\udbff]$/, ""), end: text.length, isDone: false }
}

/** A number or a literal is known once something stands behind it. */
const readToken = (text: string, from: number): Read | undefined => {
  let i = from
  while (i < text.length && /[-+.\w]/.test(text[i]!)) i++
  return i === text.length || i === from ? undefined : { value: JSON.parse(text.slice(from, i)), end: i, isDone: true }
}

const readArray = (text: string, from: number, depth: number): Read => {
  const items: Array<unknown> = []
  for (let i = skip(text, from + 1); i < text.length;) {
    if (text[i] === "]") return { value: items, end: i + 1, isDone: true }
    const item = readValue(text, i, depth)
    if (item !== undefined) items.push(item.value)
    if (item?.isDone !== true) break
    i = skip(text, item.end)
    if (text[i] === ",") i = skip(text, i + 1)
  }
  return { value: items, end: text.length, isDone: false }
}

const readObject = (text: string, from: number, depth: number): Read => {
  const entries: Array<readonly [string, unknown]> = []
  for (let i = skip(text, from + 1); i < text.length;) {
    if (text[i] === "}") return { value: Object.fromEntries(entries), end: i + 1, isDone: true }
    if (text[i] !== "\"") break
    const key = readString(text, i)
    const colon = skip(text, key.end)
    const item = key.isDone && text[colon] === ":" ? readValue(text, skip(text, colon + 1), depth) : undefined
    if (item !== undefined) entries.push([key.value as string, item.value])
    if (item?.isDone !== true) break
    i = skip(text, item.end)
    if (text[i] === ",") i = skip(text, i + 1)
  }
  return { value: Object.fromEntries(entries), end: text.length, isDone: false }
}

const readValue = (text: string, from: number, depth: number): Read | undefined => {
  if (from >= text.length || depth === 0) return undefined
  switch (text[from]) {
    case "\"":
      return readString(text, from)
    case "[":
      return readArray(text, from, depth - 1)
    case "{":
      return readObject(text, from, depth - 1)
    default:
      return readToken(text, from)
  }
}

/** What is known of the value that begins at `from`; `undefined` if nothing is, or if the text is no JSON. */
export const partialJson = (text: string, from = 0): unknown => {
  try {
    return readValue(text, from, maxDepth)?.value
  } catch {
    return undefined
  }
}
