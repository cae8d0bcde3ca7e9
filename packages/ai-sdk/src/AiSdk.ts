/**
 * Any model of a Vercel AI SDK provider package (`@ai-sdk/openai`, `@ai-sdk/anthropic`, `@ai-sdk/google`, …) as an
 * effect/ai `LanguageModel`.
 */
import type {
  LanguageModelV3,
  LanguageModelV4,
  LanguageModelV4CallOptions,
  LanguageModelV4GenerateResult,
  SharedV4ProviderOptions,
  SharedV4Warning
} from "@ai-sdk/provider"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import * as AnthropicStructuredOutput from "effect/ai/AnthropicStructuredOutput"
import * as LanguageModel from "effect/ai/LanguageModel"
import * as OpenAiStructuredOutput from "effect/ai/OpenAiStructuredOutput"
import type * as Response from "effect/ai/Response"
import * as Telemetry from "effect/ai/Telemetry"
import { dual } from "effect/Function"
import * as Struct from "effect/Struct"
import * as IdleTimeout from "@recourse/core/IdleTimeout"
import * as ModelProvider from "@recourse/core/ModelProvider"
import * as TextCall from "@recourse/core/TextCall"
import * as Errors from "./internal/errors.ts"
import { checkModel, checkRequestOptions } from "./internal/optionKinds.ts"
import * as NormalAnswer from "./internal/normalAnswer.ts"
import { toCallOptions } from "./internal/request.ts"
import { leftCall, type Reader, toParts } from "./internal/response.ts"
import { toStreamParts } from "./internal/stream.ts"
import * as Tools from "./internal/tools.ts"
import { toV4 } from "./internal/v3.ts"

/**
 * A model object as the provider packages make them: `anthropic("…")`, `openai.chat("…")`.
 *
 * @category models
 * @since 0.2.0
 */
export type Model = LanguageModelV4 | LanguageModelV3

/**
 * The settings of one request, named like in the AI SDK. `providerOptions` is keyed by provider, then by the provider's
 * own option. `reasoning` is for V4 models; V3 models do not have it.
 *
 * `idleTimeout` (60 seconds) and `contentTimeout` (10 minutes) bound how long an answer may be silent; see `make`.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options extends
  Pick<
    LanguageModelV4CallOptions,
    | "maxOutputTokens"
    | "temperature"
    | "stopSequences"
    | "topP"
    | "topK"
    | "presencePenalty"
    | "frequencyPenalty"
    | "seed"
    | "reasoning"
    | "headers"
    | "providerOptions"
  >,
  IdleTimeout.Options
{}

/**
 * Settings of a model: those for each of its requests, and how it writes schemas.
 *
 * @category options
 * @since 0.2.0
 */
export interface ModelOptions extends Options {
  /**
   * The dialect of JSON Schema for structured output and for tools with `Tool.Strict`. Left out, it follows from the
   * provider's id: OpenAI's and Anthropic's own dialects, else plain JSON Schema.
   */
  readonly codecTransformer?: LanguageModel.CodecTransformer
}

/**
 * Settings for every request made below, over those given to `layer` or `make`. For streams, provide it with
 * `Stream.provideService`; for Effects, `withOptions` adds to the present ones.
 *
 * ```ts
 * import { AiSdk } from "@recourse/ai-sdk"
 * import { Effect } from "effect"
 *
 * Effect.runSync(Effect.service(AiSdk.CurrentOptions)) // => {}
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const CurrentOptions = Context.Reference<Options>("@recourse/ai-sdk/AiSdk/CurrentOptions", {
  defaultValue: () => ({})
})

/**
 * Runs an Effect with more request settings. They win over those of an outer `withOptions` and of the layer;
 * `headers` and the options of each provider are merged key by key.
 *
 * ```ts
 * import { AiSdk } from "@recourse/ai-sdk"
 * import { Effect } from "effect"
 *
 * const settings = Effect.service(AiSdk.CurrentOptions).pipe(
 *   AiSdk.withOptions({ temperature: 0 }),
 *   AiSdk.withOptions({ temperature: 1, seed: 7 })
 * )
 * Effect.runSync(settings) // => { temperature: 0, seed: 7 }
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const withOptions: {
  (options: Options): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, options: Options): Effect.Effect<A, E, R>
} = dual(
  2,
  <A, E, R>(self: Effect.Effect<A, E, R>, options: Options): Effect.Effect<A, E, R> =>
    Effect.updateService(self, CurrentOptions, (outer) => merge(outer, options))
)

/**
 * A tool annotation: provider options of that one tool, keyed by provider.
 *
 * ```ts
 * import { AiSdk } from "@recourse/ai-sdk"
 * import { Context } from "effect"
 * import { Tool } from "effect/ai"
 *
 * const cached = Tool.make("search").annotate(AiSdk.ToolProviderOptions, {
 *   anthropic: { cacheControl: { type: "ephemeral" } }
 * })
 * Context.get(cached.annotations, AiSdk.ToolProviderOptions) // => { anthropic: { cacheControl: { type: "ephemeral" } } }
 * ```
 *
 * @category annotations
 * @since 0.2.0
 */
export const ToolProviderOptions: Context.Reference<SharedV4ProviderOptions> = Tools.ToolProviderOptions

/**
 * A `fetch` for provider packages that follows no redirect: a redirect is the final `InvalidRequestError`, with its status. Packages
 * make their requests by themselves, and without it a redirect takes the conversation, and some keys, to another origin.
 *
 * ```ts
 * import { AiSdk } from "@recourse/ai-sdk"
 *
 * // import { createAnthropic } from "@ai-sdk/anthropic"
 * // const anthropic = createAnthropic({ fetch: AiSdk.fetch })
 * typeof AiSdk.fetch // => "function"
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, { ...init, redirect: "manual" })

/**
 * A `LanguageModel` service over a model of the AI SDK.
 *
 * Failures are `AiError`s, classified by the class, status, and code of the AI SDK's error: rate limit, quota,
 * authentication, content policy, invalid request (also context length and unknown model), and retryable ones (408,
 * 409, 425, 429, 5xx, broken connections), with the server's `retryAfter`. They contain neither keys nor the server's
 * text; the body is attached for operators, see `ProviderResponse.bodyOf`.
 *
 * A server that falls silent is left: a stream after `idleTimeout` without an event (after `contentTimeout` before the first
 * one and while a model begins to think), or after `contentTimeout` with pings alone; a whole answer, whose bytes only the
 * provider package sees, after `contentTimeout`. The error is a retryable `NetworkError`.
 *
 * Interruption aborts the request. A tool call whose arguments are not JSON has its text as `params`. A stream hands
 * out its tool calls only once the provider has marked the message as complete; one that ends before that fails.
 *
 * Throws `ConfigurationError` for a model or options that the compiler refuses.
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (model: Model, options: ModelOptions = {}): Effect.Effect<LanguageModel.LanguageModel> => {
  checkModel(model, options)
  const { codecTransformer = dialectOf(model.provider), ...settings } = options
  const v4 = model.specificationVersion === "v4" ? model : toV4(model)

  const prepare = Effect.fnUntraced(function*(method: Errors.Method, request: LanguageModel.ProviderOptions) {
    const ofRequest = yield* CurrentOptions
    checkRequestOptions(ofRequest)
    const current = merge(settings, ofRequest)
    const call: LanguageModelV4CallOptions = {
      ...Struct.omit(current, ["idleTimeout", "contentTimeout"]),
      ...(yield* toCallOptions(v4, method, request, codecTransformer))
    }
    annotateRequest(request, v4, call)
    const reader: Reader = {
      tools: new Map(request.tools.map((tool) => [tool.name, tool])),
      transformer: codecTransformer,
      offered: request.responseFormat.type === "json" ? [] : request.tools.map(({ name }) => name),
      dropped: new Set()
    }
    return { call, reader, limits: IdleTimeout.make(current) }
  })

  const openStream = Effect.fnUntraced(function*(request: LanguageModel.ProviderOptions) {
    const { call, limits, reader } = yield* prepare("streamText", request)
    // one signal for the whole stream: it outlives the promise of the response's head
    const controller = yield* Effect.acquireRelease(
      Effect.sync(() => new AbortController()),
      (controller) => Effect.sync(() => controller.abort())
    )
    const result = yield* Errors.orSilent(
      "streamText",
      limits.wait(Errors.attempt(
        "streamText",
        // raw chunks show that a server is alive if its events become no parts
        () => v4.doStream({ ...call, includeRawChunks: true, abortSignal: controller.signal })
      ))
    )
    if (!isStream(result?.stream) || isPage(result.response?.headers)) {
      return yield* Effect.fail(Errors.blank("streamText"))
    }
    return toStreamParts(result.stream, reader, limits, (warnings) => logWarnings(v4, warnings)).pipe(
      Stream.tap((part) => Effect.sync(() => annotateResponse(request, part))),
      Stream.ensuring(logDropped(v4, reader))
    )
  })

  return ModelProvider.make({
    codecTransformer,
    model: { provider: model.provider, name: model.modelId },
    generateText: Effect.fnUntraced(function*(request) {
      const { call, limits, reader } = yield* prepare("generateText", request)
      const given = yield* Errors.orSilent(
        "generateText",
        limits.wait(Errors.attempt("generateText", (abortSignal) => v4.doGenerate({ ...call, abortSignal })))
      )
      const result = NormalAnswer.wholeAnswer(given)
      if (result === undefined) return yield* Effect.fail(Errors.blank("generateText"))
      yield* logWarnings(v4, result.warnings)
      if (result.finishReason.unified === "interrupted") {
        return yield* Effect.fail(Errors.cut("generateText"))
      }
      if (isBlank(result)) return yield* Effect.fail(Errors.blank("generateText"))
      const parts = toParts(result, reader, call.responseFormat?.type === "json")
      for (const part of parts) annotateResponse(request, part)
      const text = parts.map((part) => part.type === "text" ? part.text : "").join("")
      if (!parts.some(({ type }) => type === "tool-call") && TextCall.isLeftIn(text, reader.offered)) {
        return yield* Effect.fail(Errors.make("generateText", leftCall()))
      }
      yield* logDropped(v4, reader)
      return parts
    }),
    streamText: (request) => Stream.unwrap(openStream(request))
  })
}

/**
 * A `LanguageModel` layer over a model of the AI SDK; see `make`.
 *
 * ```ts
 * import { AiSdk } from "@recourse/ai-sdk"
 * import type { LanguageModelV4 } from "@ai-sdk/provider"
 * import { Effect } from "effect"
 * import { LanguageModel } from "effect/ai"
 *
 * // in a program: import { anthropic } from "@ai-sdk/anthropic", and anthropic("claude-…")
 * const parrot: LanguageModelV4 = {
 *   specificationVersion: "v4",
 *   provider: "parrot",
 *   modelId: "parrot-1",
 *   supportedUrls: {},
 *   doGenerate: async () => ({
 *     content: [{ type: "text", text: "Hello" }],
 *     finishReason: { unified: "stop", raw: "stop" },
 *     usage: {
 *       inputTokens: { total: 1, noCache: 1, cacheRead: 0, cacheWrite: 0 },
 *       outputTokens: { total: 1, text: 1, reasoning: 0 }
 *     },
 *     warnings: []
 *   }),
 *   doStream: () => Promise.reject(new Error("not in this example"))
 * }
 *
 * const program = LanguageModel.generateText({ prompt: "Say hello" }).pipe(
 *   Effect.map((response) => response.text),
 *   Effect.provide(AiSdk.layer(parrot, { temperature: 0 }))
 * )
 * await Effect.runPromise(program) // => "Hello"
 * ```
 *
 * @category layers
 * @since 0.2.0
 */
export const layer = (model: Model, options?: ModelOptions): Layer.Layer<LanguageModel.LanguageModel> =>
  Layer.effect(LanguageModel.LanguageModel, make(model, options))

const merge = (outer: Options, inner: Options): Options => {
  const headers = { ...outer.headers, ...inner.headers }
  const providerOptions = { ...outer.providerOptions }
  for (const [provider, own] of Object.entries(inner.providerOptions ?? {})) {
    providerOptions[provider] = { ...providerOptions[provider], ...own }
  }
  return {
    ...outer,
    ...inner,
    ...(Object.keys(headers).length === 0 ? undefined : { headers }),
    ...(Object.keys(providerOptions).length === 0 ? undefined : { providerOptions })
  }
}

/** Provider ids are dotted paths: `openai.responses`, `azure.chat`, `vertex.anthropic.messages`. */
const dialectOf = (provider: string): LanguageModel.CodecTransformer => {
  const names = provider.split(".")
  if (names.includes("anthropic")) return AnthropicStructuredOutput.toCodecAnthropic
  if (names.includes("openai") || names.includes("azure")) return OpenAiStructuredOutput.toCodecOpenAI
  return LanguageModel.defaultCodecTransformer
}

/** Packages with lenient schemas read JSON of another protocol as an empty answer without a finish reason. */
const isBlank = ({ content, finishReason }: LanguageModelV4GenerateResult): boolean =>
  content.length === 0 && finishReason.unified === "other" && finishReason.raw === undefined

const isStream = (value: unknown): boolean =>
  typeof value === "object" && value !== null && "getReader" in value && typeof value.getReader === "function"

/** A proxy's page in place of a stream: packages read it as a stream without events. */
const isPage = (headers: Readonly<Record<string, string>> | undefined): boolean =>
  /^\s*text\/html\b/i.test(
    Object.entries(headers ?? {}).find(([name]) => name.toLowerCase() === "content-type")?.[1] ?? ""
  )

const logWarnings = (model: LanguageModelV4, warnings: ReadonlyArray<SharedV4Warning>): Effect.Effect<void> =>
  Effect.forEach(
    warnings,
    (warning) => Effect.logDebug("AI SDK warning", { provider: model.provider, model: model.modelId, ...warning }),
    { discard: true }
  )

const logDropped = (model: LanguageModelV4, reader: Reader): Effect.Effect<void> =>
  Effect.suspend(() =>
    reader.dropped.size === 0 ? Effect.void : Effect.logDebug("Content without a part in effect/ai was left out", {
      provider: model.provider,
      model: model.modelId,
      content: [...reader.dropped]
    })
  )

const annotateRequest = (
  { span }: LanguageModel.ProviderOptions,
  model: LanguageModelV4,
  call: LanguageModelV4CallOptions
): void =>
  Telemetry.addGenAIAnnotations(span, {
    provider: { name: model.provider },
    operation: { name: "chat" },
    request: {
      model: model.modelId,
      temperature: call.temperature,
      topK: call.topK,
      topP: call.topP,
      maxTokens: call.maxOutputTokens,
      stopSequences: call.stopSequences,
      frequencyPenalty: call.frequencyPenalty,
      presencePenalty: call.presencePenalty,
      seed: call.seed
    }
  })

const annotateResponse = (
  { span }: LanguageModel.ProviderOptions,
  part: Response.PartEncoded | Response.StreamPartEncoded
): void => {
  if (part.type === "response-metadata") {
    Telemetry.addGenAIAnnotations(span, { response: { id: part.id, model: part.modelId } })
  }
  if (part.type === "finish") {
    Telemetry.addGenAIAnnotations(span, {
      response: { finishReasons: [part.reason] },
      usage: { inputTokens: part.usage.inputTokens.total, outputTokens: part.usage.outputTokens.total }
    })
  }
}
