/** Messages of a chat completions request: writes a prompt as the server reads it. */
import * as AiError from "effect/ai/AiError"
import * as Prompt from "effect/ai/Prompt"
import * as Base64 from "effect/encoding/Base64"
import * as Result from "effect/Result"
import * as InlineTools from "./inlineTools.ts"
import * as OpaqueState from "../answer/opaqueState.ts"
import { CallIds, portableName } from "./portableCalls.ts"
import type { Quirks } from "../../Quirks.ts"
import * as TextFile from "./textFile.ts"
import * as ToolArguments from "../answer/toolArguments.ts"
import * as WellFormed from "./wellFormed.ts"
import * as MessageCache from "./messageCache.ts"
import type { Message, Writing } from "./messageCache.ts"

/** Adds instructions to the system message, or makes one of them. */
export const instruct = (
  messages: ReadonlyArray<Message>,
  instructions: ReadonlyArray<string>,
  quirks: Quirks
): ReadonlyArray<Message> => {
  if (instructions.length === 0) return messages
  const [first, ...rest] = messages
  return first?.role === quirks.systemRole
    ? [{ ...first, content: [first.content, ...instructions].join("\n\n") }, ...rest]
    : [{ role: quirks.systemRole, content: instructions.join("\n\n") }, ...messages]
}

/** The messages of a prompt, or the reason why there are none: a file that cannot be given so. */
export const toMessages = (
  prompt: Prompt.Prompt,
  writing: Writing
): Result.Result<ReadonlyArray<Message>, AiError.AiErrorReason> => {
  const messages: Array<Message> = []
  const ids = new CallIds(writing.quirks)
  const writeOne = MessageCache.isCached(prompt) ? MessageCache.writeOnce(write) : write
  for (const message of prompt.content) {
    const written = writeOne(message, writing, ids)
    if (Result.isFailure(written)) return Result.fail(written.failure)
    messages.push(...written.success)
  }
  return Result.succeed(joined(messages, writing.quirks))
}

const write: MessageCache.Write = (message, writing, ids) => {
  switch (message.role) {
    case "system":
      return Result.succeed([{ role: writing.quirks.systemRole, content: message.content }])
    case "user":
      return Result.map(userContent(message.content), (content) => [{ role: "user", content }])
    case "assistant":
      return Result.succeed(assistantMessage(message, writing, ids))
    case "tool":
      return Result.succeed(toolMessages(message, writing, ids))
  }
}

const partsOf = (content: unknown): ReadonlyArray<unknown> =>
  typeof content === "string" ? [{ type: "text", text: content }] : content as ReadonlyArray<unknown>

/** The content of two messages as one. */
const both = (a: unknown, b: unknown): unknown =>
  typeof a === "string" && typeof b === "string" ? `${a}\n\n${b}` : [...partsOf(a), ...partsOf(b)]

/** The assistant's message between results and the user, for servers that demand one. */
const bridge: Message = { role: "assistant", content: "I have the results." }

/** Messages of the same role one after the other as one: the templates of many models refuse them. Only questions and instructions. */
const joined = (
  messages: ReadonlyArray<Message>,
  { roleAfterTool, systemRole }: Quirks
): ReadonlyArray<Message> => {
  const out: Array<Message> = []
  for (const message of messages) {
    const last = out.at(-1)
    if (last?.role === message.role && (message.role === "user" || message.role === systemRole)) {
      out[out.length - 1] = { ...last, content: both(last.content, message.content) }
      continue
    }
    if (roleAfterTool === "assistant" && last?.role === "tool" && message.role === "user") out.push(bridge)
    out.push(message)
  }
  return out
}

const userContent = (
  parts: ReadonlyArray<Prompt.UserMessagePart>
): Result.Result<unknown, AiError.AiErrorReason> => {
  const [only, ...others] = parts
  if (only?.type === "text" && others.length === 0) return Result.succeed(only.text)
  return Result.all(
    parts.map((part) => part.type === "text" ? Result.succeed({ type: "text", text: part.text }) : filePart(part))
  )
}

const filePart = (part: Prompt.FilePart): Result.Result<Readonly<Record<string, unknown>>, AiError.AiErrorReason> => {
  const { address, base64 } = fileData(part.data)
  // `image/*` has no meaning for a server; every one of them accepts JPEG.
  const mediaType = part.mediaType === "image/*" ? "image/jpeg" : part.mediaType
  if (mediaType.startsWith("image/")) {
    return Result.succeed({
      type: "image_url",
      image_url: { url: address ?? `data:${mediaType};base64,${base64}` }
    })
  }
  const text = TextFile.isText(mediaType) ? TextFile.fileText(part.data, base64) : undefined
  if (text !== undefined) {
    const { fileName } = part
    return Result.succeed({ type: "text", text: fileName === undefined ? text : `File ${fileName}:\n${text}` })
  }
  if (base64 === undefined) {
    return Result.fail(
      new AiError.InvalidUserInputError({
        description: `A file of type ${mediaType} cannot be given by its address here: read it, and pass its bytes`
      })
    )
  }
  const audio = audioFormats.get(mediaType)
  return Result.succeed(
    audio !== undefined
      ? { type: "input_audio", input_audio: { data: base64, format: audio } }
      : { type: "file", file: { filename: part.fileName ?? "file", file_data: `data:${mediaType};base64,${base64}` } }
  )
}

const audioFormats: ReadonlyMap<string, string> = new Map([
  ["audio/wav", "wav"],
  ["audio/x-wav", "wav"],
  ["audio/mp3", "mp3"],
  ["audio/mpeg", "mp3"]
])

const fileData = (
  data: Prompt.FilePart["data"]
): { readonly address?: string; readonly base64?: string } => {
  if (data instanceof URL) return { address: data.href }
  if (typeof data !== "string") return { base64: Base64.encode(data) }
  if (!URL.canParse(data)) return { base64: data }
  const embedded = /^data:[^,]*;base64,(.*)/s.exec(data)
  return embedded?.[1] === undefined ? { address: data } : { address: data, base64: embedded[1] }
}

/** The reasoning of a call that has none: Moonshot refuses an absent field and an empty one. */
const blankReasoning = " "

/** True if the server refuses calls without reasoning, such as calls that another model of a fallback has made. */
const isRequired = ({ reasoningHistory }: Quirks): boolean => reasoningHistory === "reasoning_content"

const assistantMessage = (
  message: Prompt.AssistantMessage,
  writing: Writing,
  ids: CallIds
): ReadonlyArray<Message> => {
  const { inline, quirks, server } = writing
  const text: Array<string> = []
  const reasoning: Array<string> = []
  const calls: Array<unknown> = []
  const state: OpaqueState.MessageFields = {}
  for (const part of message.content) {
    const own = OpaqueState.fieldsOf(part.options, server)
    Object.assign(state, own)
    if (part.type === "text") text.push(part.text)
    else if (part.type === "reasoning") reasoning.push(part.text)
    else if (part.type === "tool-call" && !part.providerExecuted) {
      const args = ToolArguments.print(part.params, inline ? "raw" : quirks.invalidArguments)
      if (inline) text.push(InlineTools.printCall(part.name, args))
      else {
        calls.push({
          ...own?.call,
          id: ids.ofCall(part.id, own?.id),
          type: "function",
          function: { ...own?.function, name: portableName(part.name), arguments: args }
        })
      }
    }
  }
  const joined = text.join(inline ? "\n" : "")
  if (calls.length === 0 && joined.trim() === "" && state.content === undefined && state.message === undefined) {
    return []
  }
  const field = quirks.reasoningHistory === "received" ? state.reasoning : quirks.reasoningHistory
  return [{
    ...(inline ? undefined : state.message),
    role: "assistant",
    content: contentOf(joined, calls.length > 0, inline ? undefined : state.content),
    // Only with calls: servers require it there, and some refuse it elsewhere.
    ...(field !== undefined && field !== "omit" && calls.length > 0 && (reasoning.length > 0 || isRequired(quirks))
      ? { [field]: reasoning.join("") || blankReasoning }
      : undefined),
    ...(calls.length > 0 ? { tool_calls: calls } : undefined)
  }]
}

/** The content as the server sent it, if its text is still the same; servers refuse blank text beside calls. */
const contentOf = (text: string, hasCalls: boolean, content: OpaqueState.MessageFields["content"]): unknown => {
  if (content !== undefined && OpaqueState.textOf(content) === text) return content
  return hasCalls && text.trim() === "" ? null : text
}

/** Files of tools' results, in parts of a user message, each behind the text that names its source. */
class ToolFiles {
  readonly parts: Array<unknown> = []
  private count = 0

  /** The text of a file's place in the result. */
  add(file: Prompt.FilePart, { id, name }: Prompt.ToolResultPart): string {
    const part = filePart(file)
    if (Result.isFailure(part)) return `[${file.mediaType} omitted]`
    const number = ++this.count
    this.parts.push(
      { type: "text", text: `File ${number}, from the result of the tool ${name} (call ${id}):` },
      part.success
    )
    return `[${file.mediaType}: file ${number} of the message after the results]`
  }
}

const toolMessages = (
  message: Prompt.ToolMessage,
  { inline, quirks }: Writing,
  ids: CallIds
): ReadonlyArray<Message> => {
  const results = message.content.filter((part) => part.type === "tool-result")
  if (results.length === 0) return []
  const files = new ToolFiles()
  const text = (part: Prompt.ToolResultPart) => resultText(part, quirks.toolFiles === "user" ? files : undefined)
  if (inline) {
    const content = results.map((part) => InlineTools.printResult(part.name, text(part))).join("\n")
    return [{
      role: "user",
      content: files.parts.length === 0 ? content : [{ type: "text", text: content }, ...files.parts]
    }]
  }
  const messages: Array<Message> = results.map((part) => ({
    role: "tool",
    tool_call_id: ids.ofResult(part.id),
    content: visible(text(part))
  }))
  if (files.parts.length > 0) messages.push({ role: "user", content: files.parts })
  return messages
}

const resultText = (part: Prompt.ToolResultPart, files: ToolFiles | undefined): string => {
  const { modelOutput, result } = part
  if (modelOutput === undefined) return typeof result === "string" ? result : WellFormed.stringify(result) ?? "null"
  return Prompt.toolModelOutputToText(
    files === undefined
      ? modelOutput
      : modelOutput.map((piece) => piece.type === "file" ? Prompt.textPart({ text: files.add(piece, part) }) : piece)
  )
}

/** Blank text as JSON: servers refuse a result without text. */
const visible = (text: string): string => text.trim() === "" ? JSON.stringify(text) : text
