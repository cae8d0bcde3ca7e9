/** The value that is known so far of a JSON text that still grows. */

/** Nesting limit of arrays and objects. */
const maxDepth = 200

interface Read {
  readonly value: unknown
  /** Behind the value: the end of the text for one that still grows, or is no JSON from some place on. */
  readonly end: number
}

const skip = (text: string, from: number): number => {
  let i = from
  while (/\s/.test(text.charAt(i))) i++
  return i
}

/** Returns the end of a string that starts at `from`, or the readable part of one that still grows. */
const readString = (text: string, from: number): Read => {
  let i = from + 1
  /** Start of the last escape. */
  let escape = from
  while (i < text.length && text[i] !== "\"") {
    if (text[i] === "\\") escape = i++
    i++
  }
  if (i < text.length) return { value: JSON.parse(text.slice(from, i + 1)), end: i + 1 }
  const isCut = /^\\(?:u[0-9a-fA-F]{0,3})?$/.test(text.slice(escape))
  const known = JSON.parse(`${text.slice(from, isCut ? escape : text.length)}"`) as string
  // Half of a character that takes two waits for its other half.
  return { value: known.replace(/[\ud800-\udbff]$/, ""), end: text.length }
}

/** A number or a literal is known once another token follows. */
const readToken = (text: string, from: number): Read | undefined => {
  let i = from
  while (/[-+.\w]/.test(text.charAt(i))) i++
  return i === text.length || i === from ? undefined : { value: JSON.parse(text.slice(from, i)), end: i }
}

const readArray = (text: string, from: number, depth: number): Read => {
  const items: Array<unknown> = []
  for (let i = skip(text, from + 1);;) {
    if (text[i] === "]") return { value: items, end: i + 1 }
    const item = readValue(text, i, depth)
    if (item === undefined) return { value: items, end: text.length }
    items.push(item.value)
    i = skip(text, item.end)
    if (text[i] === ",") i = skip(text, i + 1)
  }
}

const readObject = (text: string, from: number, depth: number): Read => {
  const entries: Array<readonly [string, unknown]> = []
  let i = skip(text, from + 1)
  while (text[i] === "\"") {
    const key = readString(text, i)
    const colon = skip(text, key.end)
    const item = text[colon] === ":" ? readValue(text, skip(text, colon + 1), depth) : undefined
    if (item === undefined) break
    entries.push([key.value as string, item.value])
    i = skip(text, item.end)
    if (text[i] === ",") i = skip(text, i + 1)
  }
  return { value: Object.fromEntries(entries), end: text[i] === "}" ? i + 1 : text.length }
}

const readValue = (text: string, from: number, depth: number): Read | undefined => {
  if (depth === 0) return undefined
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

/**
 * Returns the known part of the value that starts at `from`; `undefined` if none is known, or if the text is no JSON.
 */
export const partialJson = (text: string, from = 0): unknown => {
  try {
    return readValue(text, from, maxDepth)?.value
  } catch {
    return undefined
  }
}
