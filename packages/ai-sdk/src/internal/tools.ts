/** Tool conversion: tools and tool choice, from effect/ai to the AI SDK. */
import type {
  LanguageModelV4FunctionTool,
  LanguageModelV4ProviderTool,
  LanguageModelV4ToolChoice,
  SharedV4ProviderOptions
} from "@ai-sdk/provider"
import * as Context from "effect/Context"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Tool from "effect/ai/Tool"
import * as JsonText from "@recourse/core/JsonText"
import * as ToolSchema from "@recourse/core/ToolSchema"
import { oncePerDialect, type Transformer } from "./dialect.ts"
import { isFields } from "./errorCodes.ts"

/** Provider options of one tool, e.g. Anthropic's `cacheControl`. Public as `AiSdk.ToolProviderOptions`. */
export const ToolProviderOptions = Context.Reference<SharedV4ProviderOptions>(
  "@recourse/ai-sdk/AiSdk/ToolProviderOptions",
  { defaultValue: () => ({}) }
)

/** A definition as the AI SDK has it; strict tools are written with the transformer. */
const converted = oncePerDialect((tool: Tool.Any, transformer): LanguageModelV4FunctionTool => {
  const description = Tool.getDescription(tool)
  const strict = Tool.getStrictMode(tool)
  const options = Context.get(tool.annotations, ToolProviderOptions)
  return {
    type: "function",
    name: tool.name,
    inputSchema: ToolSchema.strictOf(tool, transformer)?.schema ?? ToolSchema.parametersOf(tool),
    ...(description === undefined ? undefined : { description }),
    ...(strict === undefined ? undefined : { strict }),
    ...(Object.keys(options).length === 0 ? undefined : { providerOptions: options })
  }
})

/**
 * Returns the tools of a request. A schema is converted once for a definition and a transformer.
 *
 * @throws when the transformer cannot express the parameters of a strict tool
 */
export const toTools = (
  tools: ReadonlyArray<Tool.Any>,
  transformer: Transformer
): Array<LanguageModelV4FunctionTool | LanguageModelV4ProviderTool> =>
  tools.map((tool) =>
    isProviderDefined(tool)
      ? { type: "provider", id: tool.id, name: tool.name, args: isFields(tool.args) ? tool.args : {} }
      // A copy, because a model may change the tools that it is given.
      : { ...converted(tool, transformer) }
  )

// `Tool.isProviderDefined` narrows to an interface that `Tool.Any` does not extend
export const isProviderDefined = (tool: Tool.Any): tool is Tool.AnyProviderDefined => Tool.isProviderDefined(tool)

/** `oneOf` is already applied: Effect hands over only the tools it names. */
export const toToolChoice = (choice: LanguageModel.ToolChoice<string>): LanguageModelV4ToolChoice => {
  if (typeof choice === "string") return { type: choice }
  if ("tool" in choice) return { type: "tool", toolName: choice.tool }
  return { type: choice.mode ?? "auto" }
}

/**
 * The arguments of a call from the text that the model wrote. Text that is not JSON is passed on as it is, so that it
 * fails the one tool's schema and can be repaired; see `JsonText.argumentsOf`. A provider's own tool may have any input.
 */
export const parseInput = (
  input: string,
  tool: Tool.Any | undefined,
  transformer: LanguageModel.CodecTransformer
): unknown => {
  if (tool !== undefined && isProviderDefined(tool)) return parse(input)
  const params = JsonText.argumentsOf(input)
  const strict = tool === undefined ? undefined : ToolSchema.strictOf(tool, transformer)
  return strict === undefined ? params : strict.read(params)
}

const parse = (input: string): unknown => {
  try {
    return Tool.unsafeSecureJsonParse(input)
  } catch {
    return input
  }
}
