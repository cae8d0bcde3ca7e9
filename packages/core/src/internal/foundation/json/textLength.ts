/** Length of texts: cuts a text to a limit, and compares a JSON text with one without writing it. */
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
