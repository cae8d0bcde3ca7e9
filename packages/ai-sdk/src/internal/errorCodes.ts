/** Error codes of AI SDK providers: finds them in the data of an error. */
import * as ProviderCode from "@recourse/core/ProviderCode"

const first = <A>(codes: ReadonlyArray<string>, read: (code: string) => A | undefined): A | undefined => {
  for (const code of codes) {
    const found = read(code)
    if (found !== undefined) return found
  }
  return undefined
}

/** The meaning of the most specific code that has one. */
export const meaningOf = (codes: ReadonlyArray<string>, param: unknown): ProviderCode.Meaning | undefined =>
  first(codes, (code) => ProviderCode.meaningOf(code, param))

export const statusOf = (codes: ReadonlyArray<string>): number | undefined =>
  first(codes, ProviderCode.statusOf) ??
    codes.map(Number).find((code) => Number.isInteger(code) && code >= 400 && code <= 599)

type Fields = Readonly<Record<string, unknown>>

export const isFields = (u: unknown): u is Fields => typeof u === "object" && u !== null && !Array.isArray(u)

/** The record that holds the code: OpenAI and Google `{ error }`, OpenAI Responses `{ response: { error } }`, bare. */
export const errorFields = (data: unknown): Fields | undefined => {
  if (!isFields(data)) return undefined
  if (isFields(data["error"])) return data["error"]
  const response = data["response"]
  return isFields(response) && isFields(response["error"]) ? response["error"] : data
}

/** The codes in a provider's error data, the most specific first. */
export const codesOf = (data: unknown): ReadonlyArray<string> => {
  const error = errorFields(data)
  if (error === undefined) return []
  const inner = error["innererror"]
  const details = error["details"]
  return [
    ...(isFields(inner) ? [inner["code"]] : []),
    ...(isFields(details) ? [details["error_code"]] : []),
    ...(Array.isArray(details)
      ? details.map((detail: unknown) => isFields(detail) ? detail["reason"] : undefined)
      : []),
    error["code"],
    error["status"],
    error["type"]
  ].flatMap((code) => typeof code === "string" || typeof code === "number" ? [String(code)] : [])
}
