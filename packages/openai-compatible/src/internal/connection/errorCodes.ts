/** Error codes: finds the error object in the body of an answer, and its codes, wherever servers put them. */
import { ownField } from "../answer/ownField.ts"

/** The codes of an error object. */
export interface Codes {
  readonly code: string | undefined
  readonly type: string | undefined
  readonly param: string | undefined
  /** A status in the body, if the HTTP status is 200. */
  readonly status: number | undefined
  /** Every code found, in lower case. */
  readonly all: ReadonlySet<string>
  readonly moderated: boolean
}

const isEmpty = (value: unknown): boolean => !value || value === "0"

/** Codes of success. */
const successes: ReadonlySet<unknown> = new Set([0, "0", 200, "200"])

/** True for an error without content, or with a code of success: servers send it next to a good answer. */
const isBlank = (error: unknown): boolean =>
  isEmpty(error) || successes.has(ownField(error, "code")) ||
  (typeof error === "object" && Object.values(error as object).every(isEmpty))

/** True for a body that is itself an error: it says so, or has a code that is not one of success, and words for it. */
const isError = (json: unknown): boolean =>
  ownField(json, "object") === "error" || ownField(json, "type") === "error" ||
  (["code", "error_code"].some((key) => !isEmpty(ownField(json, key))) &&
    ["message", "msg", "error_msg"].some((key) => typeof ownField(json, key) === "string"))

/** The error object of a JSON body, if the body is an error by its shape. One of the first choice counts, too (OpenRouter). */
export const errorObject = (json: unknown): unknown => {
  if (Array.isArray(json)) return errorObject(json[0])
  // MiniMax reports each outcome so, with 0 for success.
  const base = ownField(json, "base_resp")
  if (!isEmpty(ownField(base, "status_code"))) return base
  const error = ownField(json, "error")
  const first = ownField(ownField(json, "choices"), "0")
  if (first !== undefined) {
    // Groq names there why it has stopped a stream.
    const stopped = ownField(ownField(json, "x_groq"), "error")
    return [error, ownField(first, "error"), stopped].find((one) => !isBlank(one))
  }
  if (error !== undefined && error !== null && error !== false) return error
  return ownField(ownField(json, "errors"), "0") ?? (isError(json) ? json : undefined)
}

/** The code of an error object. A code of `base_resp` is MiniMax's own number, which means something else elsewhere. */
const codeOf = (error: unknown): unknown =>
  ownField(error, "status_msg") === undefined
    ? ownField(error, "code") ?? ownField(error, "error_code")
    : `base_resp_${String(ownField(error, "status_code"))}`

/** The codes of an error object, wherever servers put them. */
export const codes = (error: unknown): Codes => {
  const text = (value: unknown) =>
    typeof value === "string" && value !== "" ? value : typeof value === "number" ? String(value) : undefined
  const code = text(codeOf(error))
  const type = text(ownField(error, "type"))
  const all = new Set<string>()
  const add = (value: unknown) => {
    if (typeof value === "string") all.add(value.toLowerCase())
  }
  add(code)
  add(type)
  add(ownField(error, "status"))
  for (const inner of ["innererror", "inner_error", "error"]) {
    add(ownField(ownField(error, inner), "code"))
    add(ownField(ownField(error, inner), "type"))
  }
  const details = ownField(error, "details")
  if (Array.isArray(details)) details.forEach((detail) => add(ownField(detail, "reason")))
  const status = [ownField(error, "code"), ownField(error, "status"), ownField(error, "status_code")]
    .map((value) => typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : value)
    .find((value): value is number => Number.isInteger(value) && Number(value) >= 400 && Number(value) < 600)
  return {
    code,
    type,
    param: text(ownField(error, "param")),
    status,
    all,
    moderated: Array.isArray(ownField(ownField(error, "metadata"), "reasons"))
  }
}

/** The codes of a body that may be anything. */
export const codesOfBody = (body: string): Codes => {
  try {
    const json: unknown = JSON.parse(body)
    return codes(errorObject(json) ?? json)
  } catch {
    return codes(undefined)
  }
}
