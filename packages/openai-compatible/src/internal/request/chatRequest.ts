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
import { describe, toolChoice } from "./toolDefinitions.ts"

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

function* making(options: Options, target: Target) {
  const { quirks, settings } = target
  const described = yield* Result.all(options.tools.map(describe))
  const inline = target.toolMode === "inline"
  if (!inline && described.length > quirks.maxTools) {
    return yield* Result.fail(
      new AiError.InvalidRequestError({
        parameter: "tools",
        constraint: `must be at most ${quirks.maxTools} for this server, and ${described.length} are offered: ` +
          "offer fewer with prepareTurn, or divide them among agents or skills",
        description: "The request was not sent"
      })
    )
  }
  const format = yield* responseFormat(options.responseFormat, quirks)
  const messages = yield* toMessages(options.prompt, { quirks, server: target.server, inline })
  const instructions = [
    ...(inline && described.length > 0 && options.toolChoice !== "none"
      ? [InlineTools.instructions(described.map(({ description }) => description), options.toolChoice)]
      : []),
    ...format.instructions
  ]
  return {
    model: target.model,
    messages: instruct(messages, instructions, quirks),
    ...(inline || described.length === 0 ? undefined : {
      tools: described.map(({ entry }) => entry),
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

/** The body, or the reason why there is none. A field that is `undefined` is none in JSON. */
export const make = (options: Options, target: Target): Result.Result<Json, AiError.AiErrorReason> =>
  Result.gen(() => making(options, target))

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
          `Answer with one JSON object and nothing else. It must match this JSON schema:\n${JSON.stringify(schema)}`
        ]
      }
    }
  )
}
