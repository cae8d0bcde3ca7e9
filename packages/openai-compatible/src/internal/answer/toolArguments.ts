/** Tool arguments, between text and values. */
import * as JsonText from "@recourse/core/JsonText"

/** The value of a call's arguments, whatever a server sends them as; see `JsonText.argumentsOf`. */
export const parse = (raw: unknown): unknown =>
  raw === undefined ? {} : JsonText.argumentsOf(typeof raw === "string" ? raw : JSON.stringify(raw))

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
