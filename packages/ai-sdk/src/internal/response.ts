/** A whole answer of an AI SDK model as response parts. */
import type {
  LanguageModelV4Citation,
  LanguageModelV4Content,
  LanguageModelV4File,
  LanguageModelV4FinishReason,
  LanguageModelV4GenerateResult,
  LanguageModelV4ResponseMetadata,
  LanguageModelV4Source,
  LanguageModelV4Usage
} from "@ai-sdk/provider"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Response from "effect/ai/Response"
import type * as Tool from "effect/ai/Tool"
import * as AiError from "effect/ai/AiError"
import * as Base64 from "effect/encoding/Base64"
import * as Equal from "effect/Equal"
import * as Normal from "./normalFields.ts"
import { parseInput } from "./tools.ts"

/** State to read the parts of one answer. */
export interface Reader {
  readonly tools: ReadonlyMap<string, Tool.Any>
  readonly transformer: LanguageModel.CodecTransformer
  /** The tools whose calls may be in the text; none if the text is to be JSON. */
  readonly offered: ReadonlyArray<string>
  /** The kinds of content that effect/ai has no part for; reported once for each answer. */
  readonly dropped: Set<string>
}

/** The content that looks the same in a whole answer and in a stream. */
export type SharedContent = Exclude<LanguageModelV4Content, { type: "text" | "reasoning" }>

export type SharedPart =
  & Response.PartEncoded
  & Response.StreamPartEncoded

/** `jsonOutput`: the answer is to be parsed as one JSON text. */
export const toParts = (
  result: LanguageModelV4GenerateResult,
  reader: Reader,
  jsonOutput: boolean
): Array<Response.PartEncoded> => {
  const content = jsonOutput && result.structuredOutputText !== undefined
    ? withOnlyText(result.content, result.structuredOutputText)
    : result.content
  const isRepeated = repeatedCalls()
  const parts = content.flatMap((part) => contentPart(part, reader)).filter((part) => !isRepeated(part))
  return [...responseMetadata(result.response ?? {}), ...parts, finish(result)]
}

/** Recognises the second report of a call: the same id, the same tool and equal arguments. For one answer. */
export const repeatedCalls = (): (part: Response.PartEncoded | Response.StreamPartEncoded) => boolean => {
  const calls = new Map<string, Array<Response.ToolCallPartEncoded>>()
  return (part) => {
    if (part.type !== "tool-call") return false
    const reported = calls.get(part.id) ?? []
    if (reported.some(({ name, params }) => name === part.name && Equal.equals(params, part.params))) return true
    calls.set(part.id, [...reported, part])
    return false
  }
}

/** The text of an answer is a call that the server did not parse; the next attempt may be parsed. */
export const leftCall = (): AiError.InvalidOutputError =>
  new AiError.InvalidOutputError({
    description: "The server left a tool call in the text of the answer: its tool parser is missing or failed."
  })

const contentPart = (part: LanguageModelV4Content, reader: Reader): ReadonlyArray<Response.PartEncoded> => {
  switch (part.type) {
    case "text":
      return [
        { type: "text", text: part.text.toWellFormed(), ...metadata(part.providerMetadata) },
        ...citations(part.citations, reader)
      ]
    case "reasoning":
      return [{ type: "reasoning", text: part.text, ...metadata(part.providerMetadata) }]
    default:
      return sharedPart(part, reader)
  }
}

/** effect/ai parses the joined text parts, so if the provider selects one text, only that one is kept. */
const withOnlyText = (
  content: ReadonlyArray<LanguageModelV4Content>,
  text: string
): ReadonlyArray<LanguageModelV4Content> => [...content.filter((part) => part.type !== "text"), { type: "text", text }]

export const sharedPart = (part: SharedContent, reader: Reader): ReadonlyArray<SharedPart> => {
  switch (part.type) {
    case "file":
      return file(part)
    case "source":
      return source(part, reader)
    case "tool-call": {
      if (part.providerExecuted === true && !reader.tools.has(part.toolName)) return drop(reader, undeclared(part))
      return [{
        type: "tool-call",
        id: part.toolCallId,
        name: part.toolName,
        params: parseInput(part.input, reader.tools.get(part.toolName), reader.transformer),
        ...(part.providerExecuted === true ? { providerExecuted: true } : undefined),
        ...metadata(part.providerMetadata)
      }]
    }
    case "tool-result":
      if (!reader.tools.has(part.toolName)) return drop(reader, undeclared(part))
      return [{
        type: "tool-result",
        id: part.toolCallId,
        name: part.toolName,
        result: part.result,
        isFailure: part.isError === true,
        providerExecuted: true,
        ...(part.preliminary === true ? { preliminary: true } : undefined),
        ...metadata(part.providerMetadata)
      }]
    case "tool-approval-request":
      return [{
        type: "tool-approval-request",
        approvalId: part.approvalId,
        toolCallId: part.toolCallId,
        ...metadata(part.providerMetadata)
      }]
    default:
      return drop(reader, part.type)
  }
}

// effect/ai refuses a whole answer over the result of a tool that is not in the toolkit. A provider may run tools of its
// own that the toolkit does not name (MCP servers set through provider options), so their calls and results are left out.
const undeclared = (part: { readonly type: string; readonly toolName: string }) => `${part.type} of ${part.toolName}`

const drop = (reader: Reader, what: string): ReadonlyArray<never> => {
  reader.dropped.add(what)
  return []
}

const file = ({ data, mediaType, providerMetadata }: LanguageModelV4File): ReadonlyArray<SharedPart> =>
  data.type === "url"
    // effect/ai's file part holds bytes only
    ? [{
      type: "source",
      sourceType: "url",
      id: data.url.href,
      url: data.url.href,
      title: mediaType,
      ...metadata(providerMetadata)
    }]
    : [{
      type: "file",
      mediaType,
      data: typeof data.data === "string" ? data.data : Base64.encode(data.data),
      ...metadata(providerMetadata)
    }]

const source = (part: LanguageModelV4Source, reader: Reader): ReadonlyArray<SharedPart> => {
  if (part.sourceType === "document") {
    return [{
      type: "source",
      sourceType: "document",
      id: part.id,
      mediaType: part.mediaType,
      title: part.title,
      ...(part.filename === undefined ? undefined : { fileName: part.filename }),
      ...metadata(part.providerMetadata)
    }]
  }
  if (!URL.canParse(part.url)) return drop(reader, "source with an invalid URL")
  return [{
    type: "source",
    sourceType: "url",
    id: part.id,
    url: part.url,
    title: part.title ?? part.url,
    ...metadata(part.providerMetadata)
  }]
}

export const citations = (
  citations: ReadonlyArray<LanguageModelV4Citation> | undefined,
  reader: Reader
): ReadonlyArray<SharedPart> => (citations ?? []).flatMap((citation) => source(citation.source, reader))

export const responseMetadata = (
  { id, modelId, timestamp }: LanguageModelV4ResponseMetadata
): ReadonlyArray<Response.ResponseMetadataPartEncoded> =>
  id === undefined && modelId === undefined && timestamp === undefined ? [] : [{
    type: "response-metadata",
    id,
    modelId,
    timestamp: timestamp?.toISOString()
  }]

export const finish = (part: {
  readonly finishReason: LanguageModelV4FinishReason
  readonly usage: LanguageModelV4Usage
  readonly providerMetadata?: unknown
}): Response.FinishPartEncoded => ({
  type: "finish",
  reason: part.finishReason.unified === "interrupted" ? "other" : part.finishReason.unified,
  usage: usage(part.usage),
  ...metadata(part.providerMetadata)
})

const usage = ({ inputTokens, outputTokens }: LanguageModelV4Usage): Response.FinishPartEncoded["usage"] => ({
  inputTokens: {
    uncached: tokens(inputTokens.noCache),
    total: tokens(inputTokens.total),
    cacheRead: tokens(inputTokens.cacheRead),
    cacheWrite: tokens(inputTokens.cacheWrite)
  },
  outputTokens: {
    total: tokens(outputTokens.total),
    text: tokens(outputTokens.text),
    reasoning: tokens(outputTokens.reasoning)
  }
})

/** effect/ai refuses a whole answer over a count that is not an integer. */
const tokens = (count: number | undefined): number | undefined => Number.isSafeInteger(count) ? count : undefined

/** The metadata of each provider that has a JSON form. */
export const metadata = (value: unknown): { metadata?: Response.ProviderMetadata } => {
  const copy = Normal.json(value)
  return Normal.isFields(copy) ? { metadata: copy as Response.ProviderMetadata } : {}
}
