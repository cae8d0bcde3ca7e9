/** Compaction: what the model reads in place of a conversation that is too long for it. The transcript keeps all of it. */
import * as AiError from "effect/ai/AiError"
import * as Effect from "effect/Effect"
import { countTokens } from "../history/tokens.ts"
import { mend } from "../history/mend.ts"
import { withTaintOf } from "../history/calls.ts"
import { isContextLength } from "../model/contextLength.ts"
import { emit } from "../run/run.ts"
import type { Compaction, Conversation } from "./program.ts"

/** Makes what the model reads shorter. Answers whether it is. */
const compact = (
  { run, session }: Conversation,
  { by }: Compaction,
  because: "max_tokens" | "context_length"
): Effect.Effect<boolean, unknown, unknown> => {
  const before = session.sent()
  const made = Effect.suspend(() => {
    const made = by(before)
    return Effect.isEffect(made) ? made : Effect.succeed(made)
  })
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

/** Compacts a conversation that has more tokens than the agent says; does nothing for an agent that says none. */
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

/** Answers `again` if the provider refused the conversation as too long, and it could be made shorter. */
export const orCompact = <A>(
  state: Conversation,
  compaction: Compaction,
  asked: Effect.Effect<A, unknown, unknown>
): Effect.Effect<A | typeof again, unknown, unknown> =>
  Effect.catchIf(
    asked,
    (error) => AiError.isAiError(error) && isContextLength(error),
    (error) =>
      Effect.flatMap(compact(state, compaction, "context_length"), (isShorter) =>
        isShorter ? Effect.succeed(again) : Effect.fail(error))
  )
