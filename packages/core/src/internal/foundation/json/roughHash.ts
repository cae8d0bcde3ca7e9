/**
 * Rough hash: JSON values with the same canonical text have the same one. It covers one level, so that it costs next to
 * no time.
 */

/** Characters of a text that are looked at, at its beginning and at its end. */
const looked = 16

const mix = (hash: number, value: number): number => Math.imul(hash ^ value, 0x01000193)

const ofText = (text: string): number => {
  let hash = text.length
  for (let index = 0; index < text.length; index++) {
    if (index === looked && text.length > 2 * looked) index = text.length - looked
    hash = mix(hash, text.charCodeAt(index))
  }
  return hash
}

const none = 1

/** Hash of a nested value; `undefined` for values that JSON omits. */
const ofPart = (value: unknown): number | undefined => {
  switch (typeof value) {
    case "string":
      return ofText(value)
    case "number":
      return Number.isFinite(value) ? mix(2, value | 0) : none
    case "boolean":
      return value ? 3 : 4
    case "object":
      if (value === null) return none
      if ("toJSON" in value && typeof value.toJSON === "function") return ofPart(value.toJSON()) ?? none
      return Array.isArray(value) ? mix(5, value.length) : 6
    default:
      return undefined
  }
}

/** The rough hash of a JSON value. The order of keys does not matter. */
export const roughHash = (value: unknown): number => {
  if (typeof value !== "object" || value === null || "toJSON" in value || Array.isArray(value)) {
    return ofPart(value) ?? none
  }
  let hash = 0
  for (const key of Object.keys(value)) {
    const part = ofPart((value as Record<string, unknown>)[key])
    if (part !== undefined) hash = (hash + mix(ofText(key), part)) | 0
  }
  return hash
}
