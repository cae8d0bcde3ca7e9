/**
 * A `LanguageModel` for every server that speaks chat completions, over any `effect/http` client.
 *
 * Rules on the wire:
 *
 * - connection errors, 408, 409, 429 and 5xx are tried again, see `TransportRetry`; a stream only before its first byte
 * - a stream that ends before it is complete fails with a retryable `NetworkError`, and no tool call of it is ever emitted
 * - an error inside an answer that began well is that error, with its own class
 * - a good status over a body that is not a chat completion fails with `InvalidResponseError`
 * - arguments that are not JSON are passed on as text, for the tool's own check to refuse
 * - a request that a server refuses for its native tools is sent again with inline ones; the client remembers it for the model
 *
 * Every error is an `AiError` whose reason comes from the status and the server's error code. Neither keys nor bodies stand
 * in it; the body is kept beside it for operators, see `ProviderResponse.bodyOf`.
 */
import * as AiError from "effect/ai/AiError"
import * as IdGenerator from "effect/ai/IdGenerator"
import * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import type * as Response from "effect/ai/Response"
import * as Telemetry from "effect/ai/Telemetry"
import * as Clock from "effect/Clock"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Stream from "effect/Stream"
import * as ModelProvider from "@recourse/core/ModelProvider"
import * as Redaction from "@recourse/core/Redaction"
import type * as TransportRetry from "@recourse/core/TransportRetry"
import * as Answer from "./internal/answer/answer.ts"
import * as ChatRequest from "./internal/request/chatRequest.ts"
import * as Connection from "./internal/connection/connection.ts"
import * as Listing from "./internal/connection/listing.ts"
import * as Presets from "./Presets.ts"
import * as ErrorCodes from "./internal/connection/errorCodes.ts"
import * as ProviderError from "./internal/connection/providerError.ts"
import * as Settings from "./Settings.ts"
import * as SetupError from "./SetupError.ts"
import * as Target from "./internal/connection/target.ts"
import * as ToolRefusal from "./internal/connection/toolRefusal.ts"

export { isContextLength } from "./internal/connection/providerError.ts"
export type { Quirks, ToolRefusal } from "./Quirks.ts"
export { ConfigOverride, type Override, type Settings, withConfigOverride } from "./Settings.ts"
export * from "./SetupError.ts"

export interface Options extends Target.Options, Settings.Settings {
  /** The largest answer, in bytes after decompression; of a stream, its whole length. Default 16 MiB. */
  readonly maxBodySize?: number | undefined
  /** How requests are tried again on the wire, or `false`. On by default. */
  readonly retry?: TransportRetry.Options | false | undefined
  /**
   * Asks the server for the list of its models while the client is made, and fails with `UnknownModel` where it has one without
   * `model`. A list that does not come within 10 seconds says nothing. Default: `false`, the first request says it.
   */
  readonly checkModel?: boolean | undefined
}

const defaultMaxBodySize = 16 * 1024 * 1024

type Method = "generateText" | "streamText"

const aiError = (method: Method) => (reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "OpenAiCompatible", method, reason })

/**
 * The model as a service. Fails with a `SetupError` if the options cannot work; the model is not asked before the first request.
 */
// oxlint-disable-next-line max-lines-per-function -- what is configured once is shared by both ways to ask
export const make = (
  options: Options
): Effect.Effect<LanguageModel.LanguageModel, SetupError.SetupError, HttpClient.HttpClient> =>
  // oxlint-disable-next-line max-lines-per-function -- what is configured once is shared by both ways to ask
  Effect.gen(function*() {
    const client = yield* HttpClient.HttpClient
    const configured = yield* Effect.fromResult(Target.make(options))
    const { maxBodySize = defaultMaxBodySize, retry } = options
    if (options.checkModel === true) {
      yield* Listing.check({ client, target: configured, maxBodySize, limits: options })
    }
    /** Models that refused native tools. */
    const inlineModels = new Set<string>()

    /** What is fixed for one request: settings, target, and the exchange in either tool mode. */
    const prepare = Effect.fnUntraced(function*(request: LanguageModel.ProviderOptions, stream: boolean) {
      const { model, ...settings } = Settings.merge<Settings.Override>(
        { ...options, model: configured.model },
        yield* Settings.ConfigOverride
      )
      const redactor = yield* Redaction.Redaction
      const target: Target.Target = {
        ...configured,
        model: model ?? configured.model,
        scrub: (text) => redactor.text(configured.scrub(text))
      }
      Telemetry.addGenAIAnnotations(request.span, {
        provider: { name: options.preset ?? target.host },
        operation: { name: "chat" },
        request: {
          model: target.model,
          temperature: settings.temperature,
          topP: settings.topP,
          maxTokens: settings.maxTokens,
          stopSequences: settings.stop
        }
      })
      const body = (toolMode: Answer.ToolMode) =>
        Effect.fromResult(
          ChatRequest.make(request, {
            quirks: target.quirks,
            settings,
            model: target.model,
            server: target.server,
            stream,
            toolMode
          })
        )
      const connection = (toolMode: Answer.ToolMode): Connection.Options => ({
        client,
        target,
        maxBodySize,
        limits: settings,
        retry: retry === false ? false : {
          ...retry,
          shouldRetry: (answer) => {
            if (answer._tag === "Received" && answer.status >= 400) {
              const codes = ErrorCodes.codesOfBody(answer.body)
              if (ProviderError.isQuota(answer.status, codes)) return false
              if (toolMode === "native" && ToolRefusal.matches(answer, request, target)) return false
            }
            return retry?.shouldRetry?.(answer)
          }
        }
      })
      /** One exchange, and a second one with inline tools if the server refuses native ones. */
      const exchange = <A extends Connection.Received | Connection.Opened, R>(
        run: (body: unknown, connection: Connection.Options) => Effect.Effect<A, AiError.AiErrorReason, R>
      ): Effect.Effect<{ readonly answer: A; readonly toolMode: Answer.ToolMode }, AiError.AiErrorReason, R> => {
        const once = (toolMode: Answer.ToolMode) =>
          Effect.map(
            Effect.flatMap(body(toolMode), (body) => run(body, connection(toolMode))),
            (answer) => ({ answer, toolMode })
          )
        return Effect.flatMap(
          once(inlineModels.has(target.model) ? "inline" : target.quirks.tools),
          (first) => {
            if (first.toolMode === "inline" || !ToolRefusal.matches(first.answer, request, target)) {
              return Effect.succeed(first)
            }
            return Effect.match(once("inline"), {
              onFailure: () => first,
              onSuccess: (second) => {
                if (second.answer.status >= 300) return first
                inlineModels.add(target.model)
                return second
              }
            })
          }
        )
      }
      const newId = yield* idSource
      const tools = request.responseFormat.type === "json" ? [] : request.tools.map(({ name }) => name)
      return { exchange, newId, settings, target, tools }
    })

    const generateText = Effect.fnUntraced(
      function*(request: LanguageModel.ProviderOptions) {
        const { exchange, newId, settings, target, tools } = yield* prepare(request, false)
        const { answer, toolMode } = yield* withTimeout(exchange(Connection.send), settings.timeout, target)
        const now = yield* Clock.currentTimeMillis
        const parts = yield* Effect.fromResult(Answer.whole(answer, { target, toolMode, newId, now, tools }))
        annotateResponse(request, parts)
        return parts
      },
      Effect.mapError(aiError("generateText"))
    )

    const prepareStream = Effect.fnUntraced(function*(request: LanguageModel.ProviderOptions) {
      const { exchange, newId, settings: { timeout }, target, tools } = yield* prepare(request, true)
      const answered = Effect.flatMap(exchange(Connection.stream), ({ answer, toolMode }) =>
        Effect.map(
          Clock.currentTimeMillis,
          (now) => Answer.streamed(answer, { target, toolMode, newId, now, tools })
        ))
      const stream = Stream.mapArray(Stream.unwrap(answered), (parts) => {
        annotateResponse(request, parts)
        return parts
      })
      return timeout === undefined
        ? stream
        : Stream.interruptWhen(stream, Effect.andThen(Effect.sleep(timeout), timedOut(timeout, target)))
    })
    const streamText = (request: LanguageModel.ProviderOptions) =>
      Stream.mapError(Stream.unwrap(prepareStream(request)), aiError("streamText"))

    return yield* ModelProvider.make({
      codecTransformer: toCodecOpenAI,
      generateText,
      streamText,
      model: { provider: options.preset ?? configured.host, name: configured.model }
    })
  })

/**
 * The model as a layer over the HttpClient of the context.
 *
 * ```ts
 * import { OpenAiCompatible } from "@recourse/openai-compatible"
 * import { Layer, Redacted } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * export const Ollama = OpenAiCompatible.layer({ preset: "ollama", model: "qwen3" }).pipe(Layer.provide(FetchHttpClient.layer))
 *
 * export const Own = OpenAiCompatible.layer({
 *   baseUrl: "https://models.example.com/v1",
 *   apiKey: Redacted.make("key"),
 *   model: "qwen3",
 *   timeout: "2 minutes"
 * })
 * ```
 */
export const layer = (
  options: Options
): Layer.Layer<LanguageModel.LanguageModel, SetupError.SetupError, HttpClient.HttpClient> =>
  Layer.effect(LanguageModel.LanguageModel, make(options))

/**
 * The model from the configuration, by default the environment: `LLM_PRESET`, `LLM_BASE_URL`, `LLM_MODEL` and `LLM_API_KEY`. With a preset its usual
 * variable, such as `OPENAI_API_KEY`, is the second place for the key. Options given in code outrank the configuration.
 *
 * ```ts
 * import { OpenAiCompatible } from "@recourse/openai-compatible"
 * import { ConfigProvider, Layer } from "effect"
 * import { FetchHttpClient } from "effect/http"
 *
 * export const Model = OpenAiCompatible.layerConfig({ temperature: 0 }).pipe(
 *   Layer.provide(FetchHttpClient.layer),
 *   Layer.provide(ConfigProvider.layer(ConfigProvider.fromUnknown({ LLM_PRESET: "ollama", LLM_MODEL: "qwen3" })))
 * )
 * ```
 */
export const layerConfig = (
  options: Partial<Omit<Options, "preset">> & {
    /** A known server by name, see `Presets`. Any text, as it may come from a configuration: fails with `UnknownPreset`. */
    readonly preset?: Presets.Name | (string & {}) | undefined
    /** In place of `LLM`. */
    readonly prefix?: string | undefined
  } = {}
): Layer.Layer<LanguageModel.LanguageModel, SetupError.SetupError | Config.ConfigError, HttpClient.HttpClient> =>
  Layer.effect(
    LanguageModel.LanguageModel,
    Effect.gen(function*() {
      const { prefix = "LLM", ...given } = options
      const read = (name: string) => Config.option(Config.String(name))
      const preset = given.preset ?? Option.getOrUndefined(yield* read(`${prefix}_PRESET`))
      const usual = Presets.get(preset ?? "")?.keyVariable
      const keyVariables = [`${prefix}_API_KEY`, ...(usual === undefined ? [] : [usual])]
      const keys = yield* Effect.forEach(keyVariables, read)
      return yield* make({
        ...given,
        preset: preset as Presets.Name | undefined,
        baseUrl: given.baseUrl ?? Option.getOrUndefined(yield* read(`${prefix}_BASE_URL`)),
        model: given.model ?? Option.getOrElse(yield* read(`${prefix}_MODEL`), () => ""),
        apiKey: given.apiKey ?? Option.getOrUndefined(
          Option.map(Option.firstSomeOf(keys), (text) => Redacted.make(text))
        )
      }).pipe(Effect.mapError((error) => namingVariables(error, prefix, keyVariables)))
    })
  )

/** Names the variables in which something was looked for. */
const namingVariables = (
  error: SetupError.SetupError,
  prefix: string,
  keyVariables: ReadonlyArray<string>
): SetupError.SetupError => {
  switch (error._tag) {
    case "MissingModel":
      return new SetupError.MissingModel({ variables: [`${prefix}_MODEL`] })
    case "MissingApiKey":
      return new SetupError.MissingApiKey({ ...error, variables: keyVariables })
    case "InvalidBaseUrl":
      return error.problem === "missing"
        ? new SetupError.InvalidBaseUrl({ ...error, variables: [`${prefix}_PRESET`, `${prefix}_BASE_URL`] })
        : error
    default:
      return error
  }
}

/** Ids for calls that the server left without one; drawn once for each answer, so that they can be made without effects. */
const idSource = Effect.flatMap(IdGenerator.IdGenerator, (generator) =>
  Effect.map(generator.generateId(), (base) => {
    let count = 0
    return () => count++ === 0 ? base : `${base}_${count}`
  }))

const timedOut = (timeout: Duration.Input, target: Target.Target) =>
  Effect.fail(
    Connection.broken(target, `No whole answer within ${Duration.format(Duration.fromInputUnsafe(timeout))}`, undefined)
  )

const withTimeout = <A, R>(
  self: Effect.Effect<A, AiError.AiErrorReason, R>,
  timeout: Duration.Input | undefined,
  target: Target.Target
): Effect.Effect<A, AiError.AiErrorReason, R> =>
  timeout === undefined
    ? self
    : Effect.timeoutOrElse(self, { duration: timeout, orElse: () => timedOut(timeout, target) })

const annotateResponse = (
  request: LanguageModel.ProviderOptions,
  parts: ReadonlyArray<Response.AllPartsEncoded>
): void => {
  for (const part of parts) {
    if (part.type === "response-metadata") {
      Telemetry.addGenAIAnnotations(request.span, { response: { id: part.id, model: part.modelId } })
    } else if (part.type === "finish") {
      Telemetry.addGenAIAnnotations(request.span, {
        response: { finishReasons: [part.reason] },
        usage: { inputTokens: part.usage.inputTokens.total, outputTokens: part.usage.outputTokens.total }
      })
    }
  }
}
