/** Size and depth of a JSON value, measured before anything recursive walks through it. */

/** How deep arguments of calls may be: what goes through them is recursive. */
export const maxDepth = 200

export interface Shape {
  /** Arrays and objects within each other. */
  readonly depth: number
  /** Keys of all objects. */
  readonly keys: number
  /** Values. */
  readonly size: number
  /** A key that changes what an object is: `__proto__`. */
  readonly hasPrototypeKey: boolean
}

/** Values above which a value is not measured further: it is within itself, or larger than any text. */
const maxSize = 20_000_000

/** Measures a JSON value. Not recursive; stops below `max` levels. */
export const shapeOf = (value: unknown, max: number): Shape => {
  let level: Array<object> = typeof value === "object" && value !== null ? [value] : []
  let depth = 0
  let keys = 0
  let size = 1
  let hasPrototypeKey = false
  while (level.length > 0 && depth <= max) {
    depth++
    const next: Array<object> = []
    for (const item of level) {
      if (Array.isArray(item)) {
        size += item.length
        for (const child of item) if (typeof child === "object" && child !== null) next.push(child)
      } else {
        for (const key in item) {
          keys++
          size++
          if (key === "__proto__") hasPrototypeKey = true
          const child = (item as Record<string, unknown>)[key]
          if (typeof child === "object" && child !== null) next.push(child)
        }
      }
    }
    if (size > maxSize) return { depth: Infinity, keys, size, hasPrototypeKey }
    level = next
  }
  return { depth, keys, size, hasPrototypeKey }
}

/** What of a JSON text shows without reading it: as many colons outside of strings as it has keys, and how deep it is. */
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
