/** Prompt conversion: from effect/ai to the AI SDK. */
import type {
  JSONValue,
  LanguageModelV4FilePart,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4TextPart,
  LanguageModelV4ToolCallPart,
  LanguageModelV4ToolResultOutput,
  LanguageModelV4ToolResultPart,
  SharedV4FileData,
  SharedV4ProviderOptions
} from "@ai-sdk/provider"
import type * as Prompt from "effect/ai/Prompt"
import { isFields } from "./errorCodes.ts"

/** @param freeForm whether calls of this tool may have input that is not an object: tools that the provider defines */
export const toPrompt = (prompt: Prompt.Prompt, freeForm: (tool: string) => boolean): LanguageModelV4Prompt =>
  prompt.content.flatMap((message): ReadonlyArray<LanguageModelV4Message> => {
    const options = providerOptions(message.options)
    switch (message.role) {
      case "system":
        return [{ role: "system", content: message.content.toWellFormed(), ...options }]
      case "user":
        return [{ role: "user", content: message.content.map(textOrFile), ...options }]
      case "assistant": {
        const content = message.content.flatMap((part) => assistantPart(part, freeForm))
        return content.length === 0 ? [] : [{ role: "assistant", content, ...options }]
      }
      case "tool": {
        const content = message.content.map((part) =>
          part.type === "tool-result" ? toolResult(part) : {
            type: "tool-approval-response" as const,
            approvalId: part.approvalId,
            approved: part.approved,
            ...(part.reason === undefined ? undefined : { reason: part.reason }),
            ...providerOptions(part.options)
          }
        )
        return content.length === 0 ? [] : [{ role: "tool", content, ...options }]
      }
    }
  })

type AnyPart = Exclude<LanguageModelV4Message, { role: "system" }>["content"][number]

/** The URLs in a prompt that the provider would have to fetch, with the media type of their targets. */
export const urlsIn = (
  prompt: LanguageModelV4Prompt
): ReadonlyArray<{ readonly url: URL; readonly mediaType: string }> =>
  prompt.flatMap((message): ReadonlyArray<AnyPart> => message.role === "system" ? [] : message.content).flatMap(
    (part) => {
      if (part.type === "file") return urlOf(part)
      return part.type === "tool-result" && part.output.type === "content"
        ? part.output.value.flatMap((value) => value.type === "file" ? urlOf(value) : [])
        : []
    }
  )

const urlOf = (file: { readonly data: SharedV4FileData; readonly mediaType: string }) =>
  file.data.type === "url" ? [{ url: file.data.url, mediaType: file.mediaType }] : []

const assistantPart = (
  part: Prompt.AssistantMessagePart,
  freeForm: (tool: string) => boolean
): ReadonlyArray<Extract<LanguageModelV4Message, { role: "assistant" }>["content"][number]> => {
  switch (part.type) {
    case "text":
    case "file":
      return [textOrFile(part)]
    case "reasoning":
      return [{ type: "reasoning", text: part.text.toWellFormed(), ...providerOptions(part.options) }]
    case "tool-call":
      return [toolCall(part, freeForm)]
    case "tool-result":
      return [toolResult(part)]
    case "tool-approval-request":
      return []
  }
}

const textOrFile = (part: Prompt.TextPart | Prompt.FilePart): LanguageModelV4TextPart | LanguageModelV4FilePart =>
  part.type === "text"
    ? { type: "text", text: part.text.toWellFormed(), ...providerOptions(part.options) }
    : {
      type: "file",
      mediaType: part.mediaType,
      data: fileData(part.data),
      ...(part.fileName === undefined ? undefined : { filename: part.fileName }),
      ...providerOptions(part.options)
    }

const urlText = /^(https?|data):/i

const fileData = (data: string | Uint8Array | URL): SharedV4FileData => {
  if (data instanceof Uint8Array) return { type: "data", data }
  if (!(data instanceof URL) && !urlText.test(data)) return { type: "data", data }
  const url = new URL(data)
  return url.protocol === "data:" ? { type: "data", data: dataUrlContent(url) } : { type: "url", url }
}

const dataUrlContent = (url: URL): string | Uint8Array => {
  const comma = url.pathname.indexOf(",")
  const content = url.pathname.slice(comma + 1)
  return url.pathname.slice(0, comma).endsWith(";base64")
    ? decodeURIComponent(content)
    : new TextEncoder().encode(decodeURIComponent(content))
}

// Model APIs take only objects as the arguments of an earlier call. Arguments that are not one (the model's own
// malformed text, kept as it was) are shown to it under the name that the Anthropic package uses for them too.
const toolCall = (part: Prompt.ToolCallPart, freeForm: (tool: string) => boolean): LanguageModelV4ToolCallPart => ({
  type: "tool-call",
  toolCallId: part.id,
  toolName: part.name,
  input: isFields(part.params) || part.providerExecuted || freeForm(part.name)
    ? wellFormed(part.params)
    : { rawInvalidInput: wellFormed(part.params) },
  ...(part.providerExecuted ? { providerExecuted: true } : undefined),
  ...providerOptions(part.options)
})

const toolResult = (part: Prompt.ToolResultPart): LanguageModelV4ToolResultPart => ({
  type: "tool-result",
  toolCallId: part.id,
  toolName: part.name,
  output: toolResultOutput(part),
  ...providerOptions(part.options)
})

const toolResultOutput = (part: Prompt.ToolResultPart): LanguageModelV4ToolResultOutput => {
  if (part.modelOutput !== undefined && !part.isFailure) {
    return { type: "content", value: part.modelOutput.map(textOrFile) }
  }
  const value = wellFormed(toJson(part.result))
  if (part.isFailure && isFields(value) && value["type"] === "execution-denied") {
    const reason = value["reason"]
    return { type: "execution-denied", ...(typeof reason === "string" ? { reason } : undefined) }
  }
  // parts that the provider itself executed are returned in their original shape
  if (typeof value === "string" && !part.providerExecuted) {
    return { type: part.isFailure ? "error-text" : "text", value }
  }
  return { type: part.isFailure ? "error-json" : "json", value }
}

/** A value without halves of surrogate pairs, which strict servers refuse. */
const wellFormed = <A>(value: A): A => {
  const text = JSON.stringify(value) as string | undefined
  return text === undefined || !/\\ud[89a-f]/.test(text)
    ? value
    : JSON.parse(text, (_, item: unknown) => typeof item === "string" ? item.toWellFormed() : item)
}

const toJson = (value: unknown): JSONValue => JSON.parse(JSON.stringify(value) ?? "null")

const providerOptions = (options: Prompt.ProviderOptions): { providerOptions?: SharedV4ProviderOptions } => {
  const entries = Object.entries(options).filter(([, value]) => isFields(value))
  return entries.length === 0 ? {} : { providerOptions: toRecord(entries) }
}

const toRecord = (entries: ReadonlyArray<[string, unknown]>): SharedV4ProviderOptions =>
  JSON.parse(JSON.stringify(Object.fromEntries(entries)))
