/** Tool refusal: recognises, by the rules in a server's quirks, that it takes no native tools. */
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Connection from "./connection.ts"
import * as ErrorCodes from "./errorCodes.ts"
import type { Target } from "./target.ts"

const fits = (rule: string | null | undefined, value: string | undefined): boolean =>
  rule === undefined || (rule === null ? value === undefined : rule.toLowerCase() === value?.toLowerCase())

export const matches = (
  answer: Connection.Received | Connection.Opened,
  request: Pick<LanguageModel.ProviderOptions, "tools">,
  target: Target
): boolean => {
  if (answer._tag === "Opened" || answer.status < 400 || request.tools.length === 0) return false
  const codes = ErrorCodes.codesOfBody(answer.body)
  return target.quirks.toolRefusals.some((rule) =>
    rule.status === answer.status && fits(rule.code, codes.code) && fits(rule.type, codes.type) &&
    fits(rule.param, codes.param)
  )
}
