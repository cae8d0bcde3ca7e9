/** Tool arguments, between text and values. */
import * as WellFormed from "../request/wellFormed.ts"
import * as JsonText from "@recourse/core/JsonText"

/** The value of a call's arguments, whatever a server sends them as; see `JsonText.argumentsOf`. */
export const parse = (raw: unknown): unknown => {
  if (raw === undefined) return {}
  const text = withoutPlaceholder((typeof raw === "string" ? raw : JSON.stringify(raw)).toWellFormed())
  return JsonText.argumentsOf(/\\ud[89a-f]/i.test(text) ? wellFormed(text) : text)
}

/** The arguments behind an empty object, which servers send as a placeholder before the arguments of a stream. */
const withoutPlaceholder = (text: string): string => {
  const rest = /^\s*\{\s*\}\s*(?=\{)/.exec(text)
  if (rest === null) return text
  const last = text.slice(rest[0].length)
  return isComplete(last) ? last : text
}

/** The text without halves of surrogate pairs; text that is not JSON does not change. */
const wellFormed = (text: string): string =>
  text.replaceAll(
    /\\\\|\\u(d[89ab][0-9a-f]{2})\\u(d[c-f][0-9a-f]{2})|\\ud[89a-f][0-9a-f]{2}/gi,
    (escape, high) => escape === "\\\\" || high !== undefined ? escape : "\\ufffd"
  )

const isObject = (value: unknown): boolean => typeof value === "object" && value !== null && !Array.isArray(value)

/** The inverse of `parse`, for the history. */
export const print = (params: unknown, invalid: "raw" | "wrapped"): string => {
  const value = params ?? {}
  if (isObject(value)) return WellFormed.stringify(value) ?? "{}"
  const text = typeof value === "string" ? value : WellFormed.stringify(value) ?? ""
  return invalid === "raw" ? text : WellFormed.stringify({ invalid_json: text }) ?? "{}"
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
