/** Usage of one answer: the tokens that its provider reported, or an estimate if a budget needs one. */
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import * as Response from "effect/ai/Response"
import { countTokens } from "../foundation/tokens.ts"
import type { Run } from "../run/run.ts"
import { finishOf } from "./responseParts.ts"

/** The tokens of an answer, and how many of them are estimated. */
export interface Counted {
  readonly usage: Response.FinishPart["usage"] | undefined
  readonly estimated: number
}

/** True if a count is missing, or zero although a request was sent. */
const isMissing = (count: number | undefined): boolean => count === undefined || count === 0

/**
 * The tokens of an answer. If the provider reports none and a budget caps tokens or cost, they are estimated: by the `Tokenizer` of the
 * context, else by the length of the text. Definitions of tools are not counted.
 */
export const countUsage = (
  run: Run,
  prompt: Prompt.Prompt,
  content: ReadonlyArray<Response.AnyPart>
): Effect.Effect<Counted> => {
  const usage = finishOf(content)?.usage
  const inputIsMissing = isMissing(usage?.inputTokens.total)
  const outputIsMissing = isMissing(usage?.outputTokens.total)
  if (
    (!inputIsMissing && !outputIsMissing) || (!run.account.hasCap("tokens") && !run.account.hasCap("cost"))
  ) return Effect.succeed({ usage, estimated: 0 })
  const none = Effect.succeed(0)
  return Effect.map(
    Effect.all([
      inputIsMissing ? countTokens(prompt.content) : none,
      outputIsMissing ? countTokens(Prompt.fromResponseParts(content).content) : none
    ]),
    ([input, output]): Counted => ({
      usage: new Response.Usage({
        inputTokens: inputIsMissing
          ? { total: input, uncached: input, cacheRead: undefined, cacheWrite: undefined }
          : usage!.inputTokens,
        outputTokens: outputIsMissing ? { total: output, text: output, reasoning: undefined } : usage!.outputTokens
      }),
      estimated: input + output
    })
  )
}
