/** Answer of a scripted model, and its parts, at once or streamed. */
import { type Duration, Effect, Stream } from "effect"
import type { Response } from "effect/ai"

/**
 * A tool call in a script. Ids are `call_1`, `call_2`, … over the script unless given. `params` may be malformed text.
 *
 * @category models
 * @since 0.2.0
 */
export interface ScriptedCall {
  readonly name: string
  readonly params: unknown
  readonly id?: string | undefined
}

/**
 * An answer of the model.
 *
 * @category models
 * @since 0.2.0
 */
export interface Answer {
  readonly _tag: "Answer"
  readonly text?: string | undefined
  readonly reasoning?: string | undefined
  readonly calls?: ReadonlyArray<ScriptedCall> | undefined
  /** Default: `tool-calls` with calls, `stop` without. `"missing"` leaves the finish part out. */
  readonly finishReason?: Response.FinishReason | "missing" | undefined
  /** Tokens that are reported; `cached` of the input come from the provider's cache. Default: 10 in, 5 out, none cached. */
  readonly usage?: { readonly input: number; readonly output: number; readonly cached?: number | undefined } | undefined
  /** Wait of a streamed answer before each of its parts; a word is a part. Default: none. */
  readonly pace?: Duration.Input | undefined
}

type Parts = ReadonlyArray<Response.PartEncoded>

/** Returns the parts of an answer. */
export const partsOf = (answer: Answer, nextId: () => string): Parts => {
  const parts: Array<Response.PartEncoded> = []
  if (answer.reasoning !== undefined) parts.push({ type: "reasoning", text: answer.reasoning })
  if (answer.text !== undefined) parts.push({ type: "text", text: answer.text })
  for (const call of answer.calls ?? []) {
    parts.push({ type: "tool-call", id: call.id ?? nextId(), name: call.name, params: call.params })
  }
  if (answer.finishReason !== "missing") {
    const { cached, input, output } = answer.usage ?? { input: 10, output: 5 }
    parts.push({
      type: "finish",
      reason: answer.finishReason ?? ((answer.calls ?? []).length > 0 ? "tool-calls" : "stop"),
      usage: {
        inputTokens: { total: input, ...(cached === undefined ? undefined : { cacheRead: cached }) },
        outputTokens: { total: output }
      }
    })
  }
  return parts
}

const streamPartsOf = (parts: Parts): ReadonlyArray<Response.StreamPartEncoded> =>
  parts.flatMap((part, index): ReadonlyArray<Response.StreamPartEncoded> => {
    const id = String(index)
    if (part.type === "text") {
      return [
        { type: "text-start", id },
        ...part.text.split(/(?<=\s)/).map((delta) => ({ type: "text-delta", id, delta } as const)),
        { type: "text-end", id }
      ]
    }
    if (part.type === "reasoning") {
      return [
        { type: "reasoning-start", id },
        { type: "reasoning-delta", id, delta: part.text },
        { type: "reasoning-end", id }
      ]
    }
    return [part as Response.StreamPartEncoded]
  })

/** Streams the parts of an answer at its pace, or only so many of them. */
export const streamed = (
  answer: Answer,
  nextId: () => string,
  after?: number
): Stream.Stream<Response.StreamPartEncoded> => {
  const parts = Stream.fromIterable(streamPartsOf(partsOf(answer, nextId)).slice(0, after))
  const { pace } = answer
  return pace === undefined ? parts : Stream.tap(parts, () => Effect.sleep(pace))
}
