/** Chat request: writes prompt, tools and settings as the body of a chat completions request. */
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import * as Result from "effect/Result"
import type * as Schema from "effect/Schema"
import * as InlineTools from "./inlineTools.ts"
import type { Quirks } from "../../Quirks.ts"
import type { Settings } from "../../Settings.ts"
import { instruct, toMessages } from "./messages.ts"
import { describe, type Described, toolChoice } from "./toolDefinitions.ts"
import { schemaSubset } from "./schemaSubset.ts"
import * as WellFormed from "./wellFormed.ts"
import * as MessageCache from "./messageCache.ts"
import type { Message } from "./messageCache.ts"

type Options = Pick<LanguageModel.ProviderOptions, "prompt" | "tools" | "toolChoice" | "responseFormat">

export interface Target {
  readonly model: string
  readonly server: string
  readonly quirks: Quirks
  readonly settings: Settings
  readonly toolMode: Quirks["tools"]
  readonly stream: boolean
}

type Json = Record<string, unknown>

const tooManyTools = (offered: number, most: number): AiError.InvalidRequestError =>
  new AiError.InvalidRequestError({
    parameter: "tools",
    constraint: `must be at most ${most} for this server, and ${offered} are offered: ` +
      "offer fewer with prepareTurn, or divide them among agents or skills",
    description: "The request was not sent"
  })

/** The body as JSON, or the reason why there is none. A field that is `undefined` is none in JSON. */
export const make = (options: Options, target: Target): Result.Result<string, AiError.AiErrorReason> => {
  const { quirks, server } = target
  const described: Array<Described> = []
  for (const tool of options.tools) {
    const one = describe(tool, quirks.schemas)
    if (Result.isFailure(one)) return Result.fail(one.failure)
    described.push(one.success)
  }
  const inline = target.toolMode === "inline"
  if (!inline && described.length > quirks.maxTools) {
    return Result.fail(tooManyTools(described.length, quirks.maxTools))
  }
  const format = responseFormat(options.responseFormat, quirks)
  if (Result.isFailure(format)) return Result.fail(format.failure)
  const messages = toMessages(options.prompt, { quirks, server, inline })
  if (Result.isFailure(messages)) return Result.fail(messages.failure)
  const all = instruct(messages.success, instructionsOf(options, target, described, format.success), quirks)
  const isCached = MessageCache.isCached(options.prompt)
  const { body } = target.settings
  let text = WellFormed.stringify(
    fieldsOf(options, target, described.length > 0, format.success, isCached ? undefined : all)
  )!
  if (isCached) text = withList(text, "messages", all.map(MessageCache.textOf), body)
  if (!inline && described.length > 0) text = withList(text, "tools", described.map(({ entry }) => entry), body)
  return Result.succeed(text)
}

/** Adds a list whose entries' texts are there, tools or cached messages; the field of the settings outranks it. */
const withList = (text: string, name: string, entries: ReadonlyArray<string>, body: Settings["body"]): string =>
  body !== undefined && Object.hasOwn(body, name)
    ? text
    : `${text.slice(0, -1)}${text === "{}" ? "" : ","}"${name}":[${entries.join(",")}]}`

/** Instructions in addition to the prompt's own. */
const instructionsOf = (
  { toolChoice }: Options,
  { toolMode }: Target,
  described: ReadonlyArray<Described>,
  format: Format
): ReadonlyArray<string> =>
  toolMode === "inline" && described.length > 0 && toolChoice !== "none"
    ? [InlineTools.instructions(described.map(({ description }) => description), toolChoice), ...format.instructions]
    : format.instructions

/** All fields but the tools; those of the settings outrank any other. */
const fieldsOf = (
  options: Options,
  target: Target,
  hasTools: boolean,
  format: Format,
  messages: ReadonlyArray<Message> | undefined
): Json => {
  const { quirks, settings } = target
  return {
    model: target.model,
    messages,
    ...(target.toolMode === "inline" || !hasTools ? undefined : {
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
  }
}

interface Format {
  readonly field: unknown
  readonly instructions: ReadonlyArray<string>
}

const anyText = Result.succeed<Format>({ field: undefined, instructions: [] })

type JsonSchema = ReturnType<typeof toCodecOpenAI>["jsonSchema"]

/** JSON schemas of formats, by the format's schema: a correction and each later run ask for the same one. */
const jsonSchemas = new WeakMap<object, JsonSchema>()

const jsonSchemaOf = (schema: Schema.Codec<unknown>): JsonSchema => {
  const known = jsonSchemas.get(schema)
  if (known !== undefined) return known
  const { jsonSchema } = toCodecOpenAI(schema)
  jsonSchemas.set(schema, jsonSchema)
  return jsonSchema
}

const responseFormat = (
  format: Options["responseFormat"],
  quirks: Quirks
): Result.Result<Format, AiError.AiErrorReason> => {
  if (format.type === "text") return anyText
  return Result.map(
    Result.try({
      // The type of `schema` does not contain its services; the codec is not run here.
      try: () => jsonSchemaOf(format.schema as unknown as Schema.Codec<unknown>),
      catch: (error) =>
        new AiError.UnsupportedSchemaError({
          description: error instanceof Error ? error.message : "The schema has no JSON schema"
        })
    }),
    (whole): Format => {
      const schema = quirks.schemas === "subset" ? schemaSubset(whole) as JsonSchema : whole
      if (quirks.structuredOutput === "json_schema") {
        return {
          field: {
            type: "json_schema",
            json_schema: { name: format.objectName, description: schema.description, schema, strict: true }
          },
          instructions: []
        }
      }
      return {
        field: quirks.structuredOutput === "json_object" ? { type: "json_object" } : undefined,
        instructions: [
          `Answer with one JSON object, without other text. It must match this JSON schema:\n${JSON.stringify(schema)}`
        ]
      }
    }
  )
}
