/** Sends one request to the model. Tool calls in the answer are returned, not run. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
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
import * as Base64 from "effect/encoding/Base64"
import { type Hooks, hooksOf } from "../../ModelProvider.ts"
import { offering, readAnswer } from "./answerTool.ts"
import { isContextLength } from "./contextLength.ts"
import { encodePart, encodeStreamPart } from "./responseParts.ts"
import type { Format, Request } from "./modelRequest.ts"

export type { Format, Request } from "./modelRequest.ts"

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

/** Returns the direct access if the hooks are known, and the context needs no further work of `LanguageModel`. */
const direct = (model: LanguageModel.LanguageModel, context: Context.Context<never>): Direct | undefined => {
  const hooks = hooksOf(model)
  if (hooks === undefined) return undefined
  const span = Context.getOrUndefined(context, Tracer.ParentSpan)
  return span?._tag !== "Span" ||
      Context.getOrUndefined(context, ResponseIdTracker.ResponseIdTracker) !== undefined ||
      Context.getOrUndefined(context, Telemetry.CurrentSpanTransformer) !== undefined
    ? undefined
    : { hooks, span }
}

/** Adds missing services of the hooks. */
export const withIds = (context: Context.Context<never>): Context.Context<IdGenerator.IdGenerator> =>
  Context.getOrUndefined(context, IdGenerator.IdGenerator) !== undefined
    ? context as Context.Context<IdGenerator.IdGenerator>
    : Context.add(context, IdGenerator.IdGenerator, IdGenerator.defaultIdGenerator)

const providerOptions = (request: Request, { hooks, span }: Direct): LanguageModel.ProviderOptions => {
  const { format, toolChoice = "auto" } = request
  const tools = format !== undefined && hooks.structuredOutput !== "with-tools"
    ? []
    : Object.values(request.toolkit.tools)
  return {
    prompt: request.prompt,
    tools: typeof toolChoice === "object" && "oneOf" in toolChoice
      ? tools.filter((tool) => toolChoice.oneOf.includes(tool.name))
      : tools,
    toolChoice: tools.length === 0 ? "none" : toolChoice,
    responseFormat: format === undefined
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
  request.format !== undefined
    ? generateObject(model, request.prompt, request.format)
    : Effect.map(model.generateText(options(request)), (response) => response.content) as unknown as Effect.Effect<
      ReadonlyArray<Response.AnyPart>,
      AiError.AiError
    >

/** Returns the model's text; its reader checks it. */
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

/**
 * Way to request a formatted answer: by a format, by a tool whose arguments are the answer, or by instructions alone.
 */
type Way = "format" | "tool" | "plain"

/** The ways in which models have refused to be asked, and answered the same request without. */
const refused = new WeakMap<LanguageModel.LanguageModel, Set<Way>>()

/** The ways in which a request may be sent, the best first. */
const waysOf = (
  model: LanguageModel.LanguageModel,
  { prefer }: Format,
  { toolkit }: Request,
  provider: Direct | undefined,
  isStreamed: boolean
): ReadonlyArray<Way> => {
  const hasTools = Object.keys(toolkit.tools).length > 0
  const takesFormat = provider === undefined
    ? !isStreamed && !hasTools
    : !hasTools || prefer === "format" || provider.hooks.structuredOutput === "with-tools"
  const ways: ReadonlyArray<Way> = takesFormat ? ["format", "tool", "plain"] : ["tool", "plain"]
  const known = refused.get(model)
  return known === undefined ? ways : ways.filter((way) => !known.has(way))
}

/** Stores a model's refusal. */
const remember = (model: LanguageModel.LanguageModel, way: Way): void => {
  const known = refused.get(model)
  if (known === undefined) refused.set(model, new Set([way]))
  else known.add(way)
}

const asItIs = (parts: ReadonlyArray<Response.AnyPart>) => parts

/** Asks for a form by the first way that the provider takes: it may refuse the format, the tool, or the schema of either. */
const inForm = <A, R>(
  model: LanguageModel.LanguageModel,
  request: Request,
  provider: Direct | undefined,
  ask: (
    request: Request,
    read: (parts: ReadonlyArray<Response.AnyPart>) => ReadonlyArray<Response.AnyPart>
  ) => Effect.Effect<A, AiError.AiError, R>,
  isHeard?: () => boolean
): Effect.Effect<A, AiError.AiError, R> => {
  if (request.format === undefined) return ask(request, asItIs)
  const { format, ...plain } = request
  const by = ([way, ...others]: ReadonlyArray<Way>): Effect.Effect<A, AiError.AiError, R> => {
    const offered = way === "tool" ? offering({ ...plain, format }) : undefined
    if (way === "tool" && offered === undefined) return by(others)
    const asked = way === "format"
      ? ask(request, asItIs)
      : offered === undefined
      ? ask(plain, asItIs)
      : ask(offered, readAnswer(format.objectName, isHeard !== undefined))
    return others.length === 0 || way === undefined ? asked : Effect.catchIf(
      asked,
      ({ reason }) =>
        isHeard?.() !== true && (reason._tag === "UnsupportedSchemaError" || reason._tag === "InvalidRequestError"),
      (error) =>
        isContextLength(error) ? Effect.fail(error) : Effect.tap(by(others), () =>
          Effect.sync(() => {
            if (error.reason._tag === "InvalidRequestError") remember(model, way)
          }))
    )
  }
  return by(waysOf(model, format, request, provider, isHeard !== undefined))
}

/** The parts of a whole answer. */
export const generate = (
  model: LanguageModel.LanguageModel,
  request: Request,
  context: Context.Context<never>
): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError, IdGenerator.IdGenerator> => {
  const provider = direct(model, context)
  return inForm(
    model,
    request,
    provider,
    (request, read): Effect.Effect<ReadonlyArray<Response.AnyPart>, AiError.AiError, IdGenerator.IdGenerator> =>
      provider === undefined
        ? Effect.map(generateStandard(model, request), read)
        : Effect.map(generateDirect(provider, request), (parts) => read(parts.map(decodePart)))
  )
}

/** Receives the parts of a streamed answer when they arrive. */
export const listen = (
  model: LanguageModel.LanguageModel,
  request: Request,
  context: Context.Context<never>,
  onParts: (parts: ReadonlyArray<Response.AnyPart>) => Effect.Effect<void>
): Effect.Effect<void, AiError.AiError, IdGenerator.IdGenerator> => {
  const provider = direct(model, context)
  let isHeard = false
  const receive = (parts: ReadonlyArray<Response.AnyPart>) => {
    isHeard = true
    return onParts(parts)
  }
  return inForm(
    model,
    request,
    provider,
    (request, read): Effect.Effect<void, AiError.AiError, IdGenerator.IdGenerator> =>
      provider === undefined
        ? Stream.runForEachArray(streamStandard(model, request), (parts) => receive(read(parts)))
        : Stream.runForEachArray(streamDirect(provider, request), (parts) => receive(read(parts.map(decodePart)))),
    () => isHeard
  )
}

/** {@link generate}, in the form of a provider's answer. */
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

/** The parts of a streamed answer, in the form of a provider's answer. */
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
