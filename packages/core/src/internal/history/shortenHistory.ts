/** Shorter conversations: their last messages, limited by size, or results without their content. */
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { withTaintOf } from "./remainingCalls.ts"
import { from, lastUnits, partsOf } from "./exchanges.ts"
import { aCap, checkOptions } from "../foundation/options/optionCheck.ts"
import { countTokens } from "../foundation/tokens.ts"

/** A count that makes sense. Throws for others. */
export const checkCount = (subject: string, count: number): void => {
  if (!Number.isInteger(count) || count < 1) {
    throw new ConfigurationError({ subject, problem: `it takes an integer of 1 at least, not ${count}` })
  }
}

/**
 * Returns the last messages of a conversation. System messages at its beginning stay, and so does the last message of a
 * user. A call and its result are never separated, and the rest starts with a user's message: so there may be a few
 * more or fewer than `count`. A tainted conversation stays tainted. Throws `ConfigurationError` for an invalid count.
 *
 * **Example** (The last exchange)
 *
 * ```ts
 * import { Prompt } from "effect/ai"
 * import { History } from "@recourse/core"
 *
 * const say = (text: string) => Prompt.make(text).content
 * const answer = (text: string) => Prompt.assistantMessage({ content: [Prompt.textPart({ text })] })
 *
 * const short = History.keepLast(2)(Prompt.fromMessages([
 *   Prompt.systemMessage({ content: "Be kind." }),
 *   ...say("Hi"), answer("Hello."), ...say("How are you?"), answer("Fine.")
 * ]))
 * short.content.map(({ role }) => role) // => ["system", "user", "assistant"]
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const keepLast = (count: number): (prompt: Prompt.Prompt) => Prompt.Prompt => {
  checkCount("History.keepLast", count)
  return (prompt) => {
    const parts = partsOf(prompt)
    return from(prompt, parts, lastUnits(parts, count))
  }
}

/**
 * As much of the end of a conversation as fits into so many tokens, counted by {@link countTokens}: cut as {@link keepLast} cuts.
 * The last message of a user and the last answer stay, even if they alone are too long. Throws `ConfigurationError` for a limit
 * that is none.
 *
 * **Example** (Limiting the tokens)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Prompt } from "effect/ai"
 * import { History } from "@recourse/core"
 *
 * const long = Prompt.fromMessages(["a", "b", "c"].flatMap((letter) => [...Prompt.make(letter.repeat(400)).content]))
 * const short = await Effect.runPromise(History.withinTokens(250)(long))
 * short.content.length // => 2
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const withinTokens = (limit: number): (prompt: Prompt.Prompt) => Effect.Effect<Prompt.Prompt> => {
  checkCount("History.withinTokens", limit)
  return Effect.fnUntraced(function*(prompt) {
    if ((yield* countTokens(prompt.content)) <= limit) return prompt
    const parts = partsOf(prompt)
    let left = limit - (yield* countTokens(parts.system))
    let index = parts.units.length
    while (index > 0) {
      left -= yield* countTokens(parts.units[index - 1]!)
      if (left < 0 && index < parts.units.length) break
      index--
    }
    return from(prompt, parts, index)
  })
}

/** Replacement of a removed result. */
const leftOut = {
  left_out: true,
  notice: "This result was left out to save space. Call the tool again if you need it."
}

/**
 * Returns a conversation without results of tools longer than `characters`, except the last `keep` results: the model
 * reads that there was one, and may call the tool again. Calls, failures and taint stay.
 *
 * **Example** (Only the last page is kept)
 *
 * ```ts
 * import { Prompt } from "effect/ai"
 * import { History } from "@recourse/core"
 *
 * const read = (id: string) => [
 *   Prompt.assistantMessage({ content: [Prompt.toolCallPart({ id, name: "read", params: {}, providerExecuted: false })] }),
 *   Prompt.toolMessage({
 *     content: [Prompt.toolResultPart({ id, name: "read", isFailure: false, result: "x".repeat(500), providerExecuted: false })]
 *   })
 * ]
 * const short = History.trimResults({ characters: 100, keep: 1 })(Prompt.fromMessages([...read("a"), ...read("b")]))
 * short.content.map((message) => JSON.stringify(message).length > 500) // => [false, false, false, true]
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const trimResults = (options: {
  /** Number of characters of a result's JSON. Default: 1,000. */
  readonly characters?: number | undefined
  /** Number of the last results that stay unchanged. Default: 3. */
  readonly keep?: number | undefined
} = {}): (prompt: Prompt.Prompt) => Prompt.Prompt => {
  checkOptions("History.trimResults", options, { kinds: { characters: aCap, keep: aCap }, otherNames: {} })
  const { characters = 1000, keep = 3 } = options
  return (prompt) => {
    const results = prompt.content.flatMap(({ content, role }) =>
      role !== "tool" ? [] : content.filter(({ type }) => type === "tool-result")
    )
    const last = new Set<unknown>(keep <= 0 ? [] : results.slice(-keep))
    let isChanged = false
    const messages = prompt.content.map((message) => {
      if (message.role !== "tool") return message
      const content = message.content.map((part) => {
        if (part.type !== "tool-result" || part.isFailure || last.has(part)) return part
        if ((JSON.stringify(part.modelOutput ?? part.result) ?? "").length <= characters) return part
        isChanged = true
        const { id, name, options, providerExecuted } = part
        return Prompt.toolResultPart({ id, name, options, providerExecuted, isFailure: false, result: leftOut })
      })
      return Prompt.toolMessage({ content, options: message.options })
    })
    return isChanged ? withTaintOf(prompt, Prompt.fromMessages(messages)) : prompt
  }
}
