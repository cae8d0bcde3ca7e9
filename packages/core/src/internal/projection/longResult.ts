/** Truncated results: the beginning of a result that is too long for a model, and how to ask for less. */
import * as Prompt from "effect/ai/Prompt"
import * as Schema from "effect/Schema"
import { cutText, isLongerThan } from "../foundation/json/jsonShape.ts"

/** Number of characters of a result that the model reads, unless the tool or the agent sets another. */
export const defaultResultLimit = 32_768

const truncatedResult = Schema.Struct({
  status: Schema.Literal("truncated"),
  message_for_model: Schema.String,
  /** Advice for the model. */
  instruction: Schema.String,
  /** Characters of the whole result: of its text, or of its JSON text. */
  total_characters: Schema.Int,
  shown_characters: Schema.Int,
  /** The beginning of the result. */
  content: Schema.String
})

type TruncatedResultSchemaType = typeof truncatedResult

/**
 * Schema of a result that was cut.
 *
 * @category models
 * @since 0.2.0
 */
export interface TruncatedResultSchema extends TruncatedResultSchemaType {}

/**
 * The model's replacement of a result that is longer than the limit.
 *
 * @category schemas
 * @since 0.2.0
 */
export const TruncatedResult: TruncatedResultSchema = truncatedResult

/**
 * The model's replacement of a result that is longer than the limit.
 *
 * @category models
 * @since 0.2.0
 */
export type TruncatedResult = typeof TruncatedResult.Type

const truncated = (text: string, limit: number): TruncatedResult => {
  const content = cutText(text, limit)
  return {
    status: "truncated",
    message_for_model: `The result is longer than ${limit} characters: this is its beginning.`,
    instruction: "Call again in a way that answers less: a narrower question, fewer items, or one part at a time.",
    total_characters: text.length,
    shown_characters: content.length - 1,
    content
  }
}

type Parts = ReadonlyArray<Prompt.ToolModelOutputPart>

const lengthOf = (parts: Parts): number =>
  parts.reduce((length, part) => length + (part.type === "text" ? part.text.length : 0), 0)

/** The parts up to the limit, and a notice behind them. Pictures and files are left as they are. */
const truncatedParts = (parts: Parts, limit: number): Parts => {
  const total = lengthOf(parts)
  let left = limit
  const shownParts = parts.flatMap((part): Parts => {
    if (part.type !== "text") return [part]
    const text = left <= 0 ? "" : cutText(part.text, left)
    left -= part.text.length
    return text === "" ? [] : [Prompt.textPart({ text })]
  })
  const { content: _, ...notice } = truncated("x".repeat(limit + 1), limit)
  return [...shownParts, Prompt.textPart({ text: JSON.stringify({ ...notice, total_characters: total }) })]
}

/** A result in the model's form; unchanged if it fits. */
export const limited = <R extends { readonly encoded: unknown; readonly modelOutput: Parts | undefined }>(
  result: R,
  limit: number
): R => {
  const { encoded, modelOutput } = result
  const isLong = typeof encoded === "string" ? encoded.length > limit : isLongerThan(encoded, limit)
  const areLong = modelOutput !== undefined && lengthOf(modelOutput) > limit
  if (!isLong && !areLong) return result
  return {
    ...result,
    ...(isLong
      ? { encoded: truncated(typeof encoded === "string" ? encoded : JSON.stringify(encoded), limit) }
      : undefined),
    ...(areLong ? { modelOutput: truncatedParts(modelOutput, limit) } : undefined)
  }
}
