/**
 * Normal answers: models of plain JavaScript, or of other versions of the interface, leave fields out or write them otherwise. An answer is
 * read as far as it can be; the rest is as if it were not there.
 */
import type { LanguageModelV4Content, LanguageModelV4GenerateResult, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import * as Normal from "./normalFields.ts"
import type { Fields } from "./normalFields.ts"

/** State of the parts of one answer: an id for a call that has none. */
type NextId = () => string

type ReadPart = (part: Fields, nextId: NextId) => Fields | undefined

const block: ReadPart = (part) => ({
  ...part,
  id: Normal.id(part["id"]) ?? "0",
  citations: Normal.citations(part["citations"])
})

const delta: ReadPart = (part) => ({ ...part, id: Normal.id(part["id"]) ?? "0", delta: Normal.text(part["delta"]) })

const wholeText: ReadPart = (part) => ({
  ...part,
  text: Normal.text(part["text"]),
  citations: Normal.citations(part["citations"])
})

/** The readers of parts by the type. A part of another type is passed on: it is reported as unknown. */
const readers: ReadonlyMap<unknown, ReadPart> = new Map<string, ReadPart>([
  ["text", wholeText],
  ["reasoning", wholeText],
  ["text-start", block],
  ["text-delta", delta],
  ["text-end", block],
  ["reasoning-start", block],
  ["reasoning-delta", delta],
  ["reasoning-end", block],
  ["tool-input-start", (part) => ({ ...block(part, String), toolName: Normal.name(part["toolName"]) })],
  ["tool-input-delta", delta],
  ["tool-input-end", block],
  ["tool-call", (part, nextId) => ({
    ...part,
    toolName: Normal.name(part["toolName"]),
    input: Normal.inputOf(part["input"]),
    toolCallId: Normal.id(part["toolCallId"]) ?? nextId()
  })],
  ["tool-result", (part, nextId) => ({
    ...part,
    toolName: Normal.name(part["toolName"]),
    result: Normal.json(part["result"]) ?? null,
    toolCallId: Normal.id(part["toolCallId"]) ?? nextId()
  })],
  [
    "tool-approval-request",
    ({ approvalId, toolCallId, ...rest }) =>
      typeof approvalId === "string" && typeof toolCallId === "string" ? { ...rest, approvalId, toolCallId } : undefined
  ],
  ["file", Normal.file],
  ["source", Normal.source],
  ["response-metadata", (part) => ({ ...part, ...Normal.response(part) })],
  [
    "finish",
    (part) => ({ ...part, finishReason: Normal.finishReason(part["finishReason"]), usage: Normal.usage(part["usage"]) })
  ],
  ["stream-start", (part) => ({ ...part, warnings: Normal.list(part["warnings"]) })]
])

const partOf = <Part>(part: Part, nextId: NextId): Part | undefined => {
  if (!Normal.isFields(part) || typeof part["type"] !== "string") return undefined
  const read = readers.get(part["type"])
  return (read === undefined ? part : read(part, nextId)) as Part | undefined
}

const ids = (): NextId => {
  let count = 0
  return () => `call_${++count}`
}

/** A whole answer, if it has content. */
export const wholeAnswer = (result: LanguageModelV4GenerateResult): LanguageModelV4GenerateResult | undefined => {
  if (!Normal.isFields(result) || !Array.isArray(result["content"])) return undefined
  const nextId = ids()
  const { structuredOutputText, ...rest } = result
  return {
    ...rest,
    content: (result["content"] as Array<LanguageModelV4Content>).flatMap((part) => partOf(part, nextId) ?? []),
    finishReason: Normal.finishReason(result["finishReason"]),
    usage: Normal.usage(result["usage"]),
    warnings: Normal.list(result["warnings"]),
    response: Normal.response(result["response"]),
    ...(typeof structuredOutputText === "string" ? { structuredOutputText } : undefined)
  } as LanguageModelV4GenerateResult
}

/** Reads the parts of a stream, one after the other. */
export const streamParts = (): (part: LanguageModelV4StreamPart) => LanguageModelV4StreamPart | undefined => {
  const nextId = ids()
  return (part) => partOf(part, nextId)
}
