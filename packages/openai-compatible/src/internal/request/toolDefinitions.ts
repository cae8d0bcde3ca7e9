/** Tools of a chat completions request: their definitions, and which of them the model may or has to call. */
import * as ToolSchema from "@recourse/core/ToolSchema"
import * as AiError from "effect/ai/AiError"
import type * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import type * as Response from "effect/ai/Response"
import * as Tool from "effect/ai/Tool"
import type { JsonSchema } from "effect/JsonSchema"
import * as Result from "effect/Result"
import type * as InlineTools from "./inlineTools.ts"
import type { Quirks } from "../../Quirks.ts"
import { schemaSubset } from "./schemaSubset.ts"
import * as WellFormed from "./wellFormed.ts"

export interface Definition extends InlineTools.Description {
  readonly strict: true | undefined
}

/** A tool as it is described in a prompt, and the JSON of its entry in the field `tools`. */
export interface Described {
  readonly description: InlineTools.Description
  readonly entry: string
}

/** The descriptions by definition object and form of schemas: each request of a run describes all tools. */
const descriptions: Readonly<Record<Quirks["schemas"], WeakMap<Tool.Any, Described>>> = {
  "json-schema": new WeakMap(),
  subset: new WeakMap()
}

/** Returns the description of a tool, made once for a definition object, or the reason why there is none. */
export const describe = (
  tool: Tool.Any,
  schemas: Quirks["schemas"]
): Result.Result<Described, AiError.AiErrorReason> => {
  const known = descriptions[schemas].get(tool)
  if (known !== undefined) return Result.succeed(known)
  return Result.map(define(tool, schemas), ({ strict, ...description }) => {
    const described: Described = {
      description,
      entry: WellFormed.stringify({ type: "function", function: { ...description, strict } })!
    }
    descriptions[schemas].set(tool, described)
    return described
  })
}

const parametersIn = (tool: Tool.Any, schemas: Quirks["schemas"]): JsonSchema => {
  const schema = ToolSchema.strictOf(tool, toCodecOpenAI)?.schema ?? ToolSchema.parametersOf(tool)
  return schemas === "subset" ? schemaSubset(schema) as JsonSchema : schema
}

/** Reads the arguments of strict tools in the form of their own schemas; `undefined` if no tool is strict. */
export const readStrictCalls = (tools: ReadonlyArray<Tool.Any>) =>
  tools.some((tool) => Tool.getStrictMode(tool) === true)
    ? <Part extends { readonly type: string }>(
      part: Part | Response.ToolCallPartEncoded
    ): Part | Response.ToolCallPartEncoded => {
      if (part.type !== "tool-call") return part
      const call = part as Response.ToolCallPartEncoded
      const tool = tools.find(({ name }) => name === call.name)
      const strict = tool === undefined ? undefined : ToolSchema.strictOf(tool, toCodecOpenAI)
      return strict === undefined ? part : { ...call, params: strict.read(call.params) }
    }
    : undefined

const define = (tool: Tool.Any, schemas: Quirks["schemas"]): Result.Result<Definition, AiError.AiErrorReason> => {
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
      parameters: parametersIn(tool, schemas),
      strict: Tool.getStrictMode(tool) === true ? true : undefined
    }),
    catch: (error) =>
      new AiError.ToolConfigurationError({
        toolName: tool.name,
        description: error instanceof Error ? error.message : "The parameters have no JSON schema"
      })
  })
}

/** The field `tool_choice`. */
export const toolChoice = (choice: LanguageModel.ToolChoice<string>, quirks: Quirks): unknown => {
  if (choice === "auto" || choice === "none") return choice
  if (choice === "required") return quirks.requiredToolChoice
  if ("tool" in choice) {
    return quirks.requiredToolChoice === "auto" ? "auto" : { type: "function", function: { name: choice.tool } }
  }
  return choice.mode === "required" ? quirks.requiredToolChoice : "auto"
}
