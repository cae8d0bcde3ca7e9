/** Length of a value's JSON text, computed without writing it. */

/** Whether the JSON text of a value has more characters than `limit`. Stops as soon as it is known; may say no a little above. */
export const isLongerThan = (value: unknown, limit: number): boolean => {
  let length = 0
  const pending: Array<unknown> = [value]
  while (pending.length > 0 && length <= limit) {
    const next = pending.pop()
    if (typeof next === "string") length += next.length + 2
    else if (typeof next === "number") length += String(next).length
    else if (typeof next !== "object" || next === null) length += 4
    else if (Array.isArray(next)) {
      length += next.length + 1
      for (let index = 0; index < next.length && index <= limit; index++) pending.push(next[index])
    } else {
      length += 2
      for (const key in next) {
        length += key.length + 4
        if (length > limit) return true
        pending.push((next as Record<string, unknown>)[key])
      }
    }
  }
  return length > limit
}
