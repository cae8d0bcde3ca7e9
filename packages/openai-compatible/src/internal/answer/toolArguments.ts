/** Tool arguments, between text and values. */
import * as Tool from "effect/ai/Tool"

/**
 * The value of a call's arguments. Text that is not JSON (or holds a prototype attack) is passed on as it is, for the tool's own check to refuse; nothing
 * but absent, blank or `null` arguments becomes `{}`, which is how servers spell a call without any.
 */
export const parse = (raw: unknown): unknown => {
  if (raw === undefined || raw === null) return {}
  const text = typeof raw === "string" ? raw : JSON.stringify(raw)
  if (text.trim() === "") return {}
  try {
    const value = Tool.unsafeSecureJsonParse(text)
    // A JSON string stays text too: so a string is always exactly what the model wrote.
    return value === null ? {} : typeof value === "string" ? text : value
  } catch {
    return text
  }
}

/** The inverse of `parse`, for the history. */
export const print = (params: unknown, invalid: "raw" | "wrapped"): string => {
  if (typeof params !== "string") return JSON.stringify(params ?? {})
  return invalid === "raw" ? params : JSON.stringify({ invalid_json: params })
}

/** Whether the text is one complete JSON value. */
export const isComplete = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
