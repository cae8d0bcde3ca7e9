/** Requests and answers of a provider package. */

import { Schema } from "effect"
import { LanguageModel, Tool } from "effect/ai"

export const text = [{ type: "text" as const, text: "ok" }]

export const generate = LanguageModel.generateText({ prompt: "Hi" })

export const Search = Tool.providerDefined({
  id: "p.search",
  customName: "Search",
  providerName: "search",
  success: Schema.Unknown
})(undefined as never)
