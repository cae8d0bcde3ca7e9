/** Chat request: writes prompt, tools and settings as the body of a chat completions request. */
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import * as Prompt from "effect/ai/Prompt"
import * as Tool from "effect/ai/Tool"
import * as Base64 from "effect/encoding/Base64"
import * as Hash from "effect/Hash"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import * as InlineTools from "./inlineTools.ts"
import type { Quirks } from "../../Quirks.ts"
import type { Settings } from "../../Settings.ts"
import * as ToolArguments from "../answer/toolArguments.ts"

type Options = Pick<LanguageModel.ProviderOptions, "prompt" | "tools" | "toolChoice" | "responseFormat">

export interface Target {
  readonly model: string
  readonly quirks: Quirks
  readonly settings: Settings
  readonly toolMode: Quirks["tools"]
  readonly stream: boolean
}

type Json = Record<string, unknown>
type Message = { readonly role: string; readonly content: unknown } & Json

/** The body, or the reason why there is none. */
export const make = (options: Options, target: Target): Result.Result<Json, AiError.AiErrorReason> =>
  Result.gen(function*() {
    const { quirks, settings } = target
    const described = yield* Result.all(options.tools.map(describe))
    const inline = target.toolMode === "inline"
    const format = yield* responseFormat(options.responseFormat, quirks)
    const messages = yield* toMessages(options.prompt, quirks, inline)
    const instructions = [
      ...(inline && described.length > 0 && options.toolChoice !== "none"
        ? [InlineTools.instructions(described, options.toolChoice)]
        : []),
      ...format.instructions
    ]
    return omitUndefined({
      model: target.model,
      messages: instruct(messages, instructions, quirks),
      ...(inline || described.length === 0 ? undefined : {
        tools: described.map(({ strict, ...definition }) => ({
          type: "function",
          function: omitUndefined({ ...definition, strict })
        })),
        tool_choice: toolChoice(options.toolChoice, quirks),
        parallel_tool_calls: quirks.parallelToolCalls ? settings.parallelToolCalls : undefined
      }),
      response_format: format.field,
      temperature: settings.temperature,
      top_p: settings.topP,
      [quirks.maxTokensField]: settings.maxTokens,
      frequency_penalty: settings.frequencyPenalty,
      presence_penalty: settings.presencePenalty,
      seed: settings.seed,
      stop: settings.stop,
      reasoning_effort: settings.reasoningEffort,
      stream: target.stream ? true : undefined,
      stream_options: target.stream && quirks.streamUsage ? { include_usage: true } : undefined,
      ...settings.body
    })
  })

const omitUndefined = (record: Json): Json =>
  Object.fromEntries(Object.entries(record).filter(([, value]) => value !== undefined))

// -------------------------------------------------------------------------------------------------------------------------
// Tools
// -------------------------------------------------------------------------------------------------------------------------

interface Definition extends InlineTools.Description {
  readonly strict: true | undefined
}

const describe = (tool: Tool.Any): Result.Result<Definition, AiError.AiErrorReason> => {
  if (Tool.isProviderDefined(tool)) {
    return Result.fail(
      new AiError.ToolConfigurationError({
        toolName: tool.name,
        description: "A chat completions server has no provider-defined tools: define the tool with Tool.make"
      })
    )
  }
  return Result.try({
    try: (): Definition => ({
      name: tool.name,
      description: Tool.getDescription(tool),
      parameters: parameters(tool),
      strict: Tool.getStrictMode(tool) === true ? true : undefined
    }),
    catch: (error) =>
      new AiError.ToolConfigurationError({
        toolName: tool.name,
        description: error instanceof Error ? error.message : "The parameters have no JSON schema"
      })
  })
}

const parameters = (tool: Tool.Any): unknown => {
  if (Tool.isDynamic(tool) && tool.jsonSchema !== undefined) return tool.jsonSchema
  const { definitions, schema } = Schema.toJsonSchemaDocument(tool.parametersSchema, { onExcessProperty: "error" })
  return {
    ...schema,
    // A function without parameters has them spelled out: some servers refuse an object schema without them.
    ...(schema.type === "object" && schema.properties === undefined ? { properties: {} } : undefined),
    ...(Object.keys(definitions).length > 0 ? { $defs: definitions } : undefined)
  }
}

const toolChoice = (choice: LanguageModel.ToolChoice<string>, quirks: Quirks): unknown => {
  if (choice === "auto" || choice === "none") return choice
  if (choice === "required") return quirks.requiredToolChoice
  if ("tool" in choice) {
    return quirks.requiredToolChoice === "auto" ? "auto" : { type: "function", function: { name: choice.tool } }
  }
  return choice.mode === "required" ? quirks.requiredToolChoice : "auto"
}

// -------------------------------------------------------------------------------------------------------------------------
// Structured output
// -------------------------------------------------------------------------------------------------------------------------

interface Format {
  readonly field: unknown
  readonly instructions: ReadonlyArray<string>
}

const responseFormat = (
  format: Options["responseFormat"],
  quirks: Quirks
): Result.Result<Format, AiError.AiErrorReason> => {
  if (format.type === "text") return Result.succeed({ field: undefined, instructions: [] })
  return Result.map(
    Result.try({
      // The type of `schema` says nothing of its services; the codec is not run here.
      try: () => toCodecOpenAI(format.schema as unknown as Schema.Codec<unknown>).jsonSchema,
      catch: (error) =>
        new AiError.UnsupportedSchemaError({
          description: error instanceof Error ? error.message : "The schema has no JSON schema"
        })
    }),
    (schema): Format => {
      if (quirks.structuredOutput === "json_schema") {
        const description = typeof schema.description === "string" ? { description: schema.description } : undefined
        return {
          field: {
            type: "json_schema",
            json_schema: { name: format.objectName, ...description, schema, strict: true }
          },
          instructions: []
        }
      }
      return {
        field: quirks.structuredOutput === "json_object" ? { type: "json_object" } : undefined,
        instructions: [
          `Answer with one JSON object and nothing else. It must match this JSON schema:\n${JSON.stringify(schema)}`
        ]
      }
    }
  )
}

// -------------------------------------------------------------------------------------------------------------------------
// Messages
// -------------------------------------------------------------------------------------------------------------------------

const instruct = (
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

const toMessages = (
  prompt: Prompt.Prompt,
  quirks: Quirks,
  inline: boolean
): Result.Result<ReadonlyArray<Message>, AiError.AiErrorReason> =>
  Result.gen(function*() {
    const messages: Array<Message> = []
    for (const message of prompt.content) {
      switch (message.role) {
        case "system":
          messages.push({ role: quirks.systemRole, content: message.content })
          break
        case "user":
          messages.push({ role: "user", content: yield* userContent(message.content) })
          break
        case "assistant":
          messages.push(...assistantMessage(message, quirks, inline))
          break
        case "tool":
          messages.push(...toolMessages(message, quirks, inline))
          break
      }
    }
    return messages
  })

const userContent = (
  parts: ReadonlyArray<Prompt.UserMessagePart>
): Result.Result<unknown, AiError.AiErrorReason> => {
  const [only, ...others] = parts
  if (only?.type === "text" && others.length === 0) return Result.succeed(only.text)
  return Result.all(
    parts.map((part) => part.type === "text" ? Result.succeed({ type: "text", text: part.text }) : filePart(part))
  )
}

const filePart = (part: Prompt.FilePart): Result.Result<Json, AiError.AiErrorReason> => {
  const { address, base64 } = fileData(part.data)
  // `image/*` says nothing to a server; every one of them takes JPEG.
  const mediaType = part.mediaType === "image/*" ? "image/jpeg" : part.mediaType
  if (mediaType.startsWith("image/")) {
    return Result.succeed({
      type: "image_url",
      image_url: { url: address ?? `data:${mediaType};base64,${base64}` }
    })
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
  const embedded = /^data:[^,]*;base64,(.*)$/s.exec(data)
  return embedded?.[1] === undefined ? { address: data } : { address: data, base64: embedded[1] }
}

const assistantMessage = (
  message: Prompt.AssistantMessage,
  quirks: Quirks,
  inline: boolean
): ReadonlyArray<Message> => {
  const text: Array<string> = []
  const reasoning: Array<string> = []
  const calls: Array<unknown> = []
  for (const part of message.content) {
    if (part.type === "text") text.push(part.text)
    else if (part.type === "reasoning") reasoning.push(part.text)
    else if (part.type === "tool-call" && !part.providerExecuted) {
      const args = ToolArguments.print(part.params, inline ? "raw" : quirks.invalidArguments)
      if (inline) text.push(InlineTools.printCall(part.name, args))
      else {
        calls.push({
          id: callId(part.id, quirks),
          type: "function",
          function: { name: part.name, arguments: args }
        })
      }
    }
  }
  if (text.length === 0 && calls.length === 0) return []
  return [{
    role: "assistant",
    content: text.length > 0 ? text.join(inline ? "\n" : "") : null,
    // Only beside calls: servers want it back there, and some refuse it elsewhere.
    ...(quirks.reasoningHistory !== "omit" && calls.length > 0 && reasoning.length > 0
      ? { [quirks.reasoningHistory]: reasoning.join("") }
      : undefined),
    ...(calls.length > 0 ? { tool_calls: calls } : undefined)
  }]
}

const toolMessages = (message: Prompt.ToolMessage, quirks: Quirks, inline: boolean): ReadonlyArray<Message> => {
  const results = message.content.filter((part) => part.type === "tool-result")
  if (results.length === 0) return []
  if (inline) {
    const content = results.map((part) => InlineTools.printResult(part.name, resultText(part))).join("\n")
    return [{ role: "user", content }]
  }
  return results.map((part) => ({
    role: "tool",
    tool_call_id: callId(part.id, quirks),
    content: resultText(part)
  }))
}

const resultText = (part: Prompt.ToolResultPart): string =>
  part.modelOutput !== undefined
    ? Prompt.toolModelOutputToText(part.modelOutput)
    : typeof part.result === "string"
    ? part.result
    : JSON.stringify(part.result) ?? "null"

const callId = (id: string, quirks: Quirks): string => {
  if (quirks.toolCallId === "any" || /^[A-Za-z0-9]{9}$/.test(id)) return id
  const digits = (text: string) => (Hash.string(text) >>> 0).toString(36)
  return (digits(id) + digits(`${id}#`)).padEnd(9, "0").slice(0, 9)
}
