/** Names that models can call: letters, digits, `_` and `-`, at most 64, with a prefix for each server. */

const maxName = 64

/** FNV-1a in eight hexadecimal digits. */
const hash = (text: string): string => {
  let value = 0x811c9dc5
  for (const byte of new TextEncoder().encode(text)) value = Math.imul(value ^ byte, 0x01000193)
  return (value >>> 0).toString(16).padStart(8, "0")
}

/**
 * A server's tool names as models read them. A name that has to be changed, or is another one's after that, ends with a hash of
 * the server's own: it is the same whatever other tools there are.
 */
export const safeNames = (prefix: string, names: ReadonlyArray<string>): ReadonlyMap<string, string> => {
  const safe = new Map<string, string>()
  for (const name of names) {
    const whole = `${prefix}${name}`
    const cleaned = whole.replace(/[^a-zA-Z0-9_-]/g, "_")
    safe.set(
      name,
      cleaned === whole && whole.length <= maxName ? whole : `${cleaned.slice(0, maxName - 9)}_${hash(name)}`
    )
  }
  return safe
}
