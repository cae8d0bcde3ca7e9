/** Tool arguments, between text and values. */
import * as WellFormed from "../request/wellFormed.ts"
import * as JsonText from "@recourse/core/JsonText"

/** The value of a call's arguments, whatever a server sends them as; see `JsonText.argumentsOf`. */
export const parse = (raw: unknown): unknown => {
  if (raw === undefined) return {}
  const text = (typeof raw === "string" ? raw : JSON.stringify(raw)).toWellFormed()
  return JsonText.argumentsOf(/\\ud[89a-f]/i.test(text) ? wellFormed(text) : text)
}

/** The text without halves of surrogate pairs; text that is not JSON does not change. */
const wellFormed = (text: string): string =>
  text.replaceAll(
    /\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\ud[89a-f][0-9a-f]{2}/gi,
    (escape, high) => escape === "\\\\" || high !== undefined ? escape : "\\ufffd"
  )

/** The inverse of `parse`, for the history. */
export const print = (params: unknown, invalid: "raw" | "wrapped"): string => {
  if (typeof params !== "string") return WellFormed.stringify(params ?? {}) ?? "{}"
  return invalid === "raw" ? params : WellFormed.stringify({ invalid_json: params }) ?? "{}"
}

/** True if the text is one complete JSON value. */
export const isComplete = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
