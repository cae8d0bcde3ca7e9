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
import * as Response from "effect/ai/Response"
import * as ResponseIdTracker from "effect/ai/ResponseIdTracker"
import * as Telemetry from "effect/ai/Telemetry"
import type * as AiTool from "effect/ai/Tool"
import type * as Toolkit from "effect/ai/Toolkit"
import * as Base64 from "effect/encoding/Base64"
import { type Hooks, hooksOf } from "../../ModelProvider.ts"
import type * as Schema from "effect/Schema"
import { isContextLength } from "./contextLength.ts"
import { encodePart, encodeStreamPart } from "./parts.ts"

/** A request to a model. */
export interface Request {
  readonly prompt: Prompt.Prompt
  readonly toolkit: Toolkit.Toolkit<Record<string, AiTool.Any>>
  readonly toolChoice?: LanguageModel.ToolChoice<string> | undefined
  readonly format?: Format | undefined
}

/** The form that an answer is to have, where the provider can see to it. */
export interface Format {
  readonly objectName: string
  readonly schema: Schema.Top
  /** Which of the two is sent to a provider that cannot have both in one request. */
  readonly prefer: "tools" | "format"
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

const providerOptions = (request: Request, { hooks, span }: Direct): LanguageModel.ProviderOptions => {
  const { format, toolChoice = "auto" } = request
  const all = Object.values(request.toolkit.tools)
  const isEither = format !== undefined && all.length > 0 && hooks.structuredOutput !== "with-tools"
  const tools = isEither && format.prefer === "format" ? [] : all
  return {
    prompt: request.prompt,
    tools: typeof toolChoice === "object" && "oneOf" in toolChoice
      ? tools.filter((tool) => toolChoice.oneOf.includes(tool.name))
      : tools,
    toolChoice: tools.length === 0 ? "none" : toolChoice,
    responseFormat: format === undefined || (isEither && format.prefer === "tools")
      ? { type: "text" }
      : { type: "json", objectName: format.objectName, schema: format.schema as never },
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

const generateStandard = (
  model: LanguageModel.LanguageModel,
  request: Request
): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError> =>
  request.format !== undefined && Object.keys(request.toolkit.tools).length === 0
    ? generateObject(model, request.prompt, request.format)
    : Effect.map(model.generateText(options(request)), (response) => response.content) as unknown as Effect.Effect<
      ReadonlyArray<Response.AnyPart>,
      AiError.AiError
    >

/** What was said; whether it fits is looked at where the answer is read. */
const generateObject = (model: LanguageModel.LanguageModel, prompt: Prompt.Prompt, { objectName, schema }: Format) =>
  Effect.map(
    model.generateObject({ prompt, objectName, schema: schema as never }) as unknown as Effect.Effect<
      { readonly content: ReadonlyArray<Response.AnyPart> },
      AiError.AiError
    >,
    ({ content }) => content
  ).pipe(Effect.catchReason(
    "AiError",
    "StructuredOutputError",
    ({ responseText }) =>
      Effect.succeed<ReadonlyArray<Response.AnyPart>>([
        Response.makePart("text", { text: responseText }),
        Response.makePart("finish", {
          reason: "stop",
          usage: new Response.Usage({
            inputTokens: { uncached: undefined, total: undefined, cacheRead: undefined, cacheWrite: undefined },
            outputTokens: { total: undefined, text: undefined, reasoning: undefined }
          }),
          response: undefined
        })
      ])
  ))

const streamStandard = (model: LanguageModel.LanguageModel, request: Request) =>
  model.streamText(options(request)) as unknown as Stream.Stream<Response.AnyPart, AiError.AiError>

const generateDirect = (provider: Direct, request: Request) =>
  provider.hooks.generateText(providerOptions(request, provider))

const streamDirect = (provider: Direct, request: Request) =>
  provider.hooks.streamText(providerOptions(request, provider))

/** Models that refused a request with a format and answered the same one without. */
const refusing = new WeakSet<LanguageModel.LanguageModel>()

/** Asks with the format that a request has, and without it where the provider or the schema cannot have one. */
const inFormat = <A, R>(
  model: LanguageModel.LanguageModel,
  request: Request,
  ask: (request: Request) => Effect.Effect<A, AiError.AiError, R>,
  isHeard: () => boolean = () => false
): Effect.Effect<A, AiError.AiError, R> => {
  if (request.format === undefined) return ask(request)
  const { format: _, ...plain } = request
  if (refusing.has(model)) return ask(plain)
  return Effect.catchIf(
    ask(request),
    ({ reason }) => !isHeard() && (reason._tag === "UnsupportedSchemaError" || reason._tag === "InvalidRequestError"),
    (error) =>
      isContextLength(error) ? Effect.fail(error) : Effect.tap(ask(plain), () =>
        Effect.sync(() => {
          if (error.reason._tag === "InvalidRequestError") refusing.add(model)
        }))
  )
}

/** The parts of a whole answer. */
export const generate = (
  model: LanguageModel.LanguageModel,
  request: Request,
  context: Context.Context<never>
): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError, IdGenerator.IdGenerator> => {
  const provider = direct(model, context)
  return inFormat(
    model,
    request,
    (request): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError, IdGenerator.IdGenerator> =>
      provider === undefined
        ? generateStandard(model, request)
        : Effect.map(generateDirect(provider, request), (parts) => parts.map(decodePart))
  )
}

/** Hears the parts of a streamed answer, as they come. */
export const listen = (
  model: LanguageModel.LanguageModel,
  request: Request,
  context: Context.Context<never>,
  onParts: (parts: ReadonlyArray<Response.AnyPart>) => Effect.Effect<void>
): Effect.Effect<void, AiError.AiError, IdGenerator.IdGenerator> => {
  const provider = direct(model, context)
  let isHeard = false
  const hear = (parts: ReadonlyArray<Response.AnyPart>) => {
    isHeard = true
    return onParts(parts)
  }
  return inFormat(
    model,
    request,
    (request): Effect.Effect<void, AiError.AiError, IdGenerator.IdGenerator> =>
      provider === undefined
        ? Stream.runForEachArray(streamStandard(model, request), hear)
        : Stream.runForEachArray(streamDirect(provider, request), (parts) => hear(parts.map(decodePart))),
    () => isHeard
  )
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
