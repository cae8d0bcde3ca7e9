/** Causes of an error: the codes of failed connections, and unreadable answers of the provider package. */
import {
  type AISDKError,
  EmptyResponseBodyError,
  InvalidResponseDataError,
  JSONParseError,
  TypeValidationError
} from "@ai-sdk/provider"
import { isFields } from "./errorCodes.ts"

/** True if an error is about an unreadable answer. */
export const isUnreadable = (error: unknown): error is AISDKError =>
  TypeValidationError.isInstance(error) || JSONParseError.isInstance(error) ||
  InvalidResponseDataError.isInstance(error) || EmptyResponseBodyError.isInstance(error)

export const isAbort = (error: unknown): boolean =>
  isFields(error) && (error["name"] === "AbortError" || error["name"] === "TimeoutError")

const networkCodes = /^(E[A-Z]{3,}|EAI_AGAIN|UND_ERR_[A-Z_]+|HPE_[A-Z_]+|ERR_INVALID_URL|ERR_STREAM_PREMATURE_CLOSE)$/

/** The code that Node, undici or the TLS layer gave to a connection that failed. */
export const networkCode = (error: unknown): string | undefined =>
  findInCauses(error, (cause) => {
    const code = isFields(cause) ? cause["code"] : undefined
    return cause instanceof Error && typeof code === "string" && networkCodes.test(code) ? code : undefined
  })

/** Looks through an error and its causes; they may be a circle. */
export const findInCauses = <A>(error: unknown, find: (cause: unknown) => A | undefined): A | undefined => {
  const seen = new Set<unknown>()
  for (let cause = error; isFields(cause) && !seen.has(cause); cause = cause["cause"]) {
    seen.add(cause)
    const found = find(cause)
    if (found !== undefined) return found
  }
  return undefined
}
