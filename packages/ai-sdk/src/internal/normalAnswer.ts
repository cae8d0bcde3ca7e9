/**
 * Normal answers: models of plain JavaScript, or of other versions of the interface, leave fields out or write them otherwise. An answer is
 * read as far as it can be; the rest is as if it were not there.
 */
import type {
  LanguageModelV4Content,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4StreamPart,
  LanguageModelV4Usage
} from "@ai-sdk/provider"

type Fields = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Fields =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const reasons: ReadonlySet<string> = new Set<LanguageModelV4FinishReason["unified"]>([
  "stop",
  "length",
  "content-filter",
  "tool-calls",
  "error",
  "other",
  "interrupted"
])

const unifiedOf = (word: unknown): LanguageModelV4FinishReason["unified"] =>
  typeof word === "string" && reasons.has(word) ? word as LanguageModelV4FinishReason["unified"] : "other"

/** The reason of an end; version 2 has it as a word. */
const finishReason = (given: unknown): LanguageModelV4FinishReason =>
  isObject(given)
    ? { ...given, unified: unifiedOf(given["unified"]), raw: given["raw"] as string | undefined }
    : { unified: unifiedOf(given), raw: typeof given === "string" ? given : undefined }

const counts = (given: unknown): object => isObject(given) ? given : { total: given }

/** The counts of tokens; version 2 has totals alone. */
const usage = (given: unknown): LanguageModelV4Usage => {
  const fields: Fields = isObject(given) ? given : {}
  return {
    ...fields,
    inputTokens: counts(fields["inputTokens"]),
    outputTokens: counts(fields["outputTokens"])
  } as LanguageModelV4Usage
}

/** The arguments of a call as text, like in the interface. */
const inputOf = (input: unknown): string =>
  typeof input === "string" ? input : input === undefined || input === null ? "" : JSON.stringify(input)

/** A piece of content, if it is one. `nextId`: an id for a call that has none. */
const contentOf = <Part>(part: Part, nextId: () => string): Part | undefined => {
  if (!isObject(part) || typeof part["type"] !== "string") return undefined
  if (part["type"] !== "tool-call") return part
  const { input, toolCallId } = part
  return { ...part, input: inputOf(input), toolCallId: toolCallId === undefined ? nextId() : String(toolCallId) }
}

const ids = () => {
  let count = 0
  return () => `call_${++count}`
}

/** A whole answer, if it has content. */
export const wholeAnswer = (result: LanguageModelV4GenerateResult): LanguageModelV4GenerateResult | undefined => {
  if (!isObject(result) || !Array.isArray(result.content)) return undefined
  const nextId = ids()
  return {
    ...result as LanguageModelV4GenerateResult,
    content: (result.content as Array<LanguageModelV4Content>).flatMap((part) => contentOf(part, nextId) ?? []),
    finishReason: finishReason(result.finishReason),
    usage: usage(result.usage),
    warnings: Array.isArray(result.warnings) ? result.warnings : []
  }
}

/** Reads the parts of a stream, one after the other. */
export const streamParts = (): (part: LanguageModelV4StreamPart) => LanguageModelV4StreamPart | undefined => {
  const nextId = ids()
  return (given) => {
    const part = contentOf(given, nextId)
    switch (part?.type) {
      case "finish":
        return { ...part, finishReason: finishReason(part.finishReason), usage: usage(part.usage) }
      case "stream-start":
        return { ...part, warnings: Array.isArray(part.warnings) ? part.warnings : [] }
      default:
        return part
    }
  }
}
