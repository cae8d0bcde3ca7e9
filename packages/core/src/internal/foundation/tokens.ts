/** Number of tokens of a conversation: by effect's `Tokenizer` if there is one, otherwise by an estimate. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Prompt from "effect/ai/Prompt"
import type { Tokenizer } from "effect/ai/Tokenizer"

/** The key of `effect/ai/Tokenizer`, which an agent does not load for it. */
const TokenizerKey = Context.Service<Tokenizer, Tokenizer["Service"]>("effect/ai/Tokenizer")

const lengthOf = (value: unknown): number => (JSON.stringify(value) ?? "").length

/** Tokens of a picture or another file: its bytes are not read as text. */
const fileTokens = 1000

const partTokens = (part: Prompt.Part): number => {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text.length / 4
    case "file":
      return fileTokens
    case "tool-call":
      return (part.name.length + lengthOf(part.params)) / 4
    case "tool-result":
      return lengthOf(part.modelOutput ?? part.result) / 4
    default:
      return 1
  }
}

/** Four characters a token, and four tokens for each message. */
const estimate = (messages: ReadonlyArray<Prompt.Message>): number =>
  Math.ceil(
    messages.reduce(
      (sum, { content }) =>
        sum + 4 + (typeof content === "string"
          ? content.length / 4
          : content.reduce((sum, part: Prompt.Part) => sum + partTokens(part), 0)),
      0
    )
  )

/**
 * Returns the number of tokens of messages: by the `Tokenizer` of `effect/ai` in the context, if there is one and it
 * does not fail, else by an estimate of four characters a token. Tools are not counted.
 *
 * **Example** (An estimate)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Prompt } from "effect/ai"
 * import { History } from "@recourse/core"
 *
 * await Effect.runPromise(History.countTokens(Prompt.make("How are you today, my friend?").content)) // => 12
 * ```
 *
 * @category accessors
 * @since 0.2.0
 */
export const countTokens = (messages: ReadonlyArray<Prompt.Message>): Effect.Effect<number> =>
  Effect.flatMap(
    Effect.serviceOption(TokenizerKey),
    Option.match({
      onNone: () => Effect.sync(() => estimate(messages)),
      onSome: (tokenizer) =>
        Effect.match(tokenizer.tokenize(Prompt.fromMessages(messages)), {
          onFailure: () => estimate(messages),
          onSuccess: ({ length }) => length
        })
    })
  )
