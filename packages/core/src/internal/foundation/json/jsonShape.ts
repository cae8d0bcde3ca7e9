/** Size and depth of a JSON value, measured before anything recursive walks through it; the length of texts, and their cut. */

/** Depth limit of calls' arguments: their processing is recursive. */
export const maxDepth = 200

export interface Shape {
  /** Arrays and objects within each other. */
  readonly depth: number
  /** Keys of all objects. */
  readonly keys: number
  /** Values. */
  readonly size: number
  /** True for a key that changes an object's prototype: `__proto__`. */
  readonly hasPrototypeKey: boolean
  /** A whole number that doubles have gaps around: other digits may have been rounded to it. */
  readonly hasRounded: boolean
}

/** Values above which a value is not measured further: it is within itself, or larger than any text. */
const maxSize = 20_000_000

/** True if a number is whole, written with all its digits, and too large for a double. */
export const isRounded = (value: unknown): boolean =>
  typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER && Math.abs(value) < 1e21

const isNested = (value: unknown): value is object => typeof value === "object" && value !== null

/** Adds an array or object to a shape. Returns `below` with its content: for most values empty. */
const measure = (
  item: object,
  shape: { -readonly [K in keyof Shape]: Shape[K] },
  below: Array<object> | undefined
): Array<object> | undefined => {
  let next = below
  if (Array.isArray(item)) {
    shape.size += item.length
    for (const child of item) {
      if (isNested(child)) (next ??= []).push(child)
      else if (isRounded(child)) shape.hasRounded = true
    }
    return next
  }
  for (const key in item) {
    shape.keys++
    shape.size++
    if (key === "__proto__") shape.hasPrototypeKey = true
    const child = (item as Record<string, unknown>)[key]
    if (isNested(child)) (next ??= []).push(child)
    else if (isRounded(child)) shape.hasRounded = true
  }
  return next
}

/** Measures a JSON value. Not recursive; stops below `max` levels. */
export const shapeOf = (value: unknown, max: number): Shape => {
  const shape = { depth: 0, keys: 0, size: 1, hasPrototypeKey: false, hasRounded: false }
  if (!isNested(value)) return shape
  shape.depth = 1
  let level = measure(value, shape, undefined)
  while (level !== undefined && shape.depth <= max && shape.size <= maxSize) {
    shape.depth++
    let next: Array<object> | undefined
    for (const item of level) next = measure(item, shape, next)
    level = next
  }
  if (shape.size > maxSize) shape.depth = Infinity
  return shape
}

/** True if arrays and objects are nested deeper than `max`. */
export const isDeeperThan = (value: unknown, max: number): boolean => shapeOf(value, max).depth > max

/**
 * Returns the shape of a JSON text without parsing it: its colons outside of strings, which are its keys, and its
 * depth.
 */
export const textShapeOf = (text: string): { readonly colons: number; readonly depth: number } => {
  let colons = 0
  let open = 0
  let depth = 0
  let inString = false
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (inString) {
      if (code === 92) i++
      else if (code === 34) inString = false
    } else if (code === 34) inString = true
    else if (code === 58) colons++
    else if (code === 123 || code === 91) {
      if (++open > depth) depth = open
    } else if (code === 125 || code === 93) open--
  }
  return { colons, depth }
}

const isLeaf = (value: unknown): boolean => typeof value !== "object" || value === null

const leafLength = (value: unknown): number =>
  typeof value === "string" ? value.length + 2 : typeof value === "number" ? String(value).length : 4

/**
 * True if the JSON text of a value has more characters than `limit`. Stops as soon as it is known; may return false a
 * little above.
 */
export const isLongerThan = (value: unknown, limit: number): boolean => {
  if (isLeaf(value)) return leafLength(value) > limit
  let left = limit
  let next: unknown = value
  let pending: Array<unknown> | undefined
  do {
    if (Array.isArray(next)) {
      left -= next.length + 1
      for (const item of next) {
        if (left < 0) return true
        if (isLeaf(item)) left -= leafLength(item)
        else (pending ??= []).push(item)
      }
    } else {
      left -= 1
      for (const key in next as object) {
        left -= key.length + 4
        if (left < 0) return true
        const item = (next as Record<string, unknown>)[key]
        if (isLeaf(item)) left -= leafLength(item)
        else (pending ??= []).push(item)
      }
    }
    next = pending?.pop()
  } while (next !== undefined && left >= 0)
  return left < 0
}

/** Returns the beginning of a text, with `…` at the cut; no character is cut in half. */
export const cutText = (text: string, length: number): string => {
  if (text.length <= length) return text
  const last = text.charCodeAt(length - 1)
  return `${text.slice(0, last >= 0xd800 && last <= 0xdbff ? length - 1 : length)}…`
}
