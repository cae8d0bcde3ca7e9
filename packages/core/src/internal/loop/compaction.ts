/** Compaction: the model's replacement of a conversation that is too long for it. The transcript keeps all of it. */
import * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import { countTokens } from "../foundation/tokens.ts"
import { mend } from "../history/mendHistory.ts"
import { withTaintOf } from "../history/remainingCalls.ts"
import { isContextLength, isUnexplained } from "../model/contextLength.ts"
import { emit } from "../run/run.ts"
import type { Compaction, Conversation } from "./program.ts"
import { resultOrEffect } from "../foundation/options/hookResult.ts"
import { type Kind } from "../foundation/options/optionCheck.ts"
import * as Prompt from "effect/ai/Prompt"

const aPrompt: Kind = { is: Prompt.isPrompt, called: "a Prompt" }

/** Shortens the model's messages. Returns whether they are shorter. */
const compact = (
  { program: { name }, run, session }: Conversation,
  { by }: Compaction,
  because: "max_tokens" | "context_length"
): Effect.Effect<boolean, unknown, unknown> => {
  const before = session.sent()
  const hook = { subject: `Agent "${name}"`, name: "compact.by", kind: aPrompt }
  const made = resultOrEffect(hook, () => by(before))
  return Effect.flatMap(made, (made) =>
    Effect.flatMap(
      Effect.all([countTokens(before.content), countTokens(made.content)]),
      ([tokensBefore, tokens]) => {
        if (tokens >= tokensBefore) return Effect.succeed(false)
        session.replace(mend(withTaintOf(before, made)).prompt)
        return Effect.as(
          emit(run, () => ({ _tag: "ContextCompacted", turn: session.turn + 1, because, tokensBefore, tokens })),
          true
        )
      }
    ))
}

/** Compacts a conversation with more tokens than the agent's limit; has no effect for an agent without one. */
export const compactIfFull = (
  state: Conversation,
  compaction: Compaction
): Effect.Effect<unknown, unknown, unknown> => {
  const { maxTokens } = compaction
  return maxTokens === undefined ? Effect.void : Effect.flatMap(
    countTokens(state.session.sent().content),
    (tokens) => tokens > maxTokens ? compact(state, compaction, "max_tokens") : Effect.void
  )
}

/** The conversation was compacted: ask again. */
export const again = Symbol.for("@recourse/core/loop/again")

/** True if the refused request is larger than the last one that the provider accepted in this run. */
const isLarger = ({ session }: Conversation): Effect.Effect<boolean> =>
  session.accepted === undefined ? Effect.succeed(true) : Effect.map(
    Effect.all([countTokens(session.sent().content), countTokens(session.accepted.content)]),
    ([refused, accepted]) => refused > accepted
  )

/**
 * Returns `again` if the provider refused the conversation as too long, and it could be made shorter. A refusal without a known code may
 * have the same reason: a larger request than the last accepted one is tried once in a shorter form.
 */
export const orCompact = <A>(
  state: Conversation,
  compaction: Compaction,
  asked: Effect.Effect<A, unknown, unknown>
): Effect.Effect<A | typeof again, unknown, unknown> =>
  Effect.suspend((): Effect.Effect<A | typeof again, unknown, unknown> => {
    const sent = state.session.sent()
    const accepted = Effect.tap(asked, () =>
      Effect.sync(() => {
        state.session.accepted = sent
      }))
    return Effect.catch(accepted, (error): Effect.Effect<typeof again, unknown, unknown> => {
      if (!AiError.isAiError(error)) return Effect.fail(error)
      const isTooLong = isContextLength(error)
      if (!isTooLong && !isUnexplained(error)) return Effect.fail(error)
      return Effect.flatMap(
        isTooLong ? Effect.succeed(true) : isLarger(state),
        (mayBeTooLong) =>
          Effect.flatMap(
            mayBeTooLong ? compact(state, compaction, "context_length") : Effect.succeed(false),
            (isShorter) => isShorter ? Effect.succeed(again) : Effect.fail(error)
          )
      )
    })
  })
