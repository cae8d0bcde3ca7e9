/** Sends one request to the model. Tool calls in the answer are returned, not run. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as Tracer from "effect/Tracer"
import type * as AiError from "effect/ai/AiError"
import * as IdGenerator from "effect/ai/IdGenerator"
import type * as LanguageModel from "effect/ai/LanguageModel"
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import * as ResponseIdTracker from "effect/ai/ResponseIdTracker"
import * as Telemetry from "effect/ai/Telemetry"
import type * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Base64 from "effect/encoding/Base64"
import { type Hooks, hooksOf } from "../../ModelProvider.ts"
import { encodePart, encodeStreamPart } from "./parts.ts"

/** A request to a model. */
export interface Request {
  readonly prompt: Prompt.Prompt
  readonly toolkit: Toolkit.Toolkit<Record<string, AiTool.Any>>
  readonly toolChoice?: LanguageModel.ToolChoice<string> | undefined
}

const options = (request: Request) => ({
  prompt: request.prompt,
  toolkit: request.toolkit,
  toolChoice: request.toolChoice ?? "auto",
  disableToolCallResolution: true,
  toolCallValidation: "deferred"
} as const)

/** A way to the provider that goes past `LanguageModel`. */
interface Direct {
  readonly hooks: Hooks
  readonly span: Tracer.Span
}

/** There is one if the hooks are known, and nobody in the context wants what `LanguageModel` does besides. */
const direct = (model: LanguageModel.LanguageModel, context: Context.Context<never>): Direct | undefined => {
  const hooks = hooksOf(model)
  if (hooks === undefined) return undefined
  const span = Option.getOrUndefined(Context.getOption(context, Tracer.ParentSpan))
  return span?._tag !== "Span" ||
      Option.isSome(Context.getOption(context, ResponseIdTracker.ResponseIdTracker)) ||
      Option.isSome(Context.getOption(context, Telemetry.CurrentSpanTransformer))
    ? undefined
    : { hooks, span }
}

/** Adds what the hooks need, where nobody has. */
export const withIds = (context: Context.Context<never>): Context.Context<IdGenerator.IdGenerator> =>
  Option.isSome(Context.getOption(context, IdGenerator.IdGenerator))
    ? context as Context.Context<IdGenerator.IdGenerator>
    : Context.add(context, IdGenerator.IdGenerator, IdGenerator.defaultIdGenerator)

const providerOptions = (request: Request, span: Tracer.Span): LanguageModel.ProviderOptions => {
  const tools = Object.values(request.toolkit.tools)
  const { toolChoice = "auto" } = request
  return {
    prompt: request.prompt,
    tools: typeof toolChoice === "object" && "oneOf" in toolChoice
      ? tools.filter((tool) => toolChoice.oneOf.includes(tool.name))
      : tools,
    toolChoice: tools.length === 0 ? "none" : toolChoice,
    responseFormat: { type: "text" },
    span,
    previousResponseId: undefined,
    incrementalPrompt: undefined,
    toolCallValidation: "deferred"
  }
}

const fileData = (data: string): Uint8Array => Result.getOrElse(Base64.decode(data), () => new Uint8Array())

/** A part as `LanguageModel` would have decoded it; the fields that an agent and a prompt look at. */
export const decodePart = (part: Response.PartEncoded | Response.StreamPartEncoded): Response.AnyPart => {
  const metadata = part.metadata ?? {}
  switch (part.type) {
    case "tool-call":
      return { ...part, metadata, providerExecuted: part.providerExecuted ?? false } as Response.AnyPart
    case "tool-result":
      return {
        ...part,
        metadata,
        encodedResult: part.result,
        providerExecuted: part.providerExecuted ?? false,
        preliminary: part.preliminary ?? false
      } as Response.AnyPart
    case "file":
      return { ...part, metadata, data: fileData(part.data) } as unknown as Response.AnyPart
    default:
      return { ...part, metadata } as unknown as Response.AnyPart
  }
}

// Parameters are neither decoded nor encoded in deferred mode, so the services of their schemas are not needed.

const generateStandard = (model: LanguageModel.LanguageModel, request: Request) =>
  Effect.map(model.generateText(options(request)), (response) => response.content) as unknown as Effect.Effect<
    ReadonlyArray<Response.AnyPart>,
    AiError.AiError
  >

const streamStandard = (model: LanguageModel.LanguageModel, request: Request) =>
  model.streamText(options(request)) as unknown as Stream.Stream<Response.AnyPart, AiError.AiError>

const generateDirect = ({ hooks, span }: Direct, request: Request) => hooks.generateText(providerOptions(request, span))

const streamDirect = ({ hooks, span }: Direct, request: Request) => hooks.streamText(providerOptions(request, span))

/** The parts of a whole answer. */
export const generate = (
  model: LanguageModel.LanguageModel,
  request: Request,
  context: Context.Context<never>
): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError, IdGenerator.IdGenerator> => {
  const provider = direct(model, context)
  return provider === undefined
    ? generateStandard(model, request)
    : Effect.map(generateDirect(provider, request), (parts) => parts.map(decodePart))
}

/** Hears the parts of a streamed answer, as they come. */
export const listen = (
  model: LanguageModel.LanguageModel,
  request: Request,
  context: Context.Context<never>,
  onParts: (parts: ReadonlyArray<Response.AnyPart>) => Effect.Effect<void>
): Effect.Effect<void, AiError.AiError, IdGenerator.IdGenerator> => {
  const provider = direct(model, context)
  return provider === undefined
    ? Stream.runForEachArray(streamStandard(model, request), onParts)
    : Stream.runForEachArray(streamDirect(provider, request), (parts) => onParts(parts.map(decodePart)))
}

/** {@link generate}, as a provider would answer it. */
export const generateEncoded = (
  model: LanguageModel.LanguageModel,
  request: Request
): Effect.Effect<Array<Response.PartEncoded>, AiError.AiError> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const provider = direct(model, context)
    return provider === undefined
      ? Effect.map(generateStandard(model, request), (parts) => parts.map(encodePart))
      : Effect.updateContext(generateDirect(provider, request), withIds)
  })

/** The parts of a streamed answer, as a provider would answer it. */
export const streamEncoded = (
  model: LanguageModel.LanguageModel,
  request: Request
): Stream.Stream<Response.StreamPartEncoded, AiError.AiError> =>
  Stream.unwrap(Effect.contextWith((context: Context.Context<never>) => {
    const provider = direct(model, context)
    return Effect.succeed(
      provider === undefined
        ? Stream.map(streamStandard(model, request), encodeStreamPart)
        : Stream.updateContext(streamDirect(provider, request), withIds)
    )
  }))
