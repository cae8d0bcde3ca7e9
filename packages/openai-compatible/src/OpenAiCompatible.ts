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
 * Every error is an `AiError` whose reason comes from the status and the server's error code. It contains neither keys
 * nor bodies; the body is attached for operators, see `ProviderResponse.bodyOf`.
 */
import * as AiError from "effect/ai/AiError"
import * as IdGenerator from "effect/ai/IdGenerator"
import * as LanguageModel from "effect/ai/LanguageModel"
import { toCodecOpenAI } from "effect/ai/OpenAiStructuredOutput"
import * as Arr from "effect/Array"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Config from "effect/Config"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as HttpClient from "effect/http/HttpClient"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Result from "effect/Result"
import * as Stream from "effect/Stream"
import * as ModelProvider from "@recourse/core/ModelProvider"
import * as Redaction from "@recourse/core/Redaction"
import type * as TransportRetry from "@recourse/core/TransportRetry"
import * as Answer from "./internal/answer/answer.ts"
import * as Connection from "./internal/connection/connection.ts"
import * as Listing from "./internal/connection/listing.ts"
import * as Presets from "./Presets.ts"
import * as Exchange from "./internal/exchange.ts"
import * as SpanAttributes from "./internal/answer/spanAttributes.ts"
import { checkClientOptions, checkOverride } from "./internal/optionKinds.ts"
import { readStrictCalls } from "./internal/request/toolDefinitions.ts"
import * as Settings from "./Settings.ts"
import * as SetupError from "./SetupError.ts"
import * as Target from "./internal/connection/target.ts"

export { isContextLength } from "./internal/connection/providerError.ts"
export type { TargetOptions } from "./internal/connection/target.ts"
export type { Quirks, ToolRefusal } from "./Quirks.ts"
export { ConfigOverride, type Override, type Settings, withConfigOverride } from "./Settings.ts"
export * from "./SetupError.ts"

/**
 * Options of a client: its server, its model, and the settings of its requests.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options extends Target.TargetOptions, Settings.Settings {
  /** The largest answer, in bytes after decompression; of a stream, its whole length. Default 16 MiB. */
  readonly maxBodySize?: number | undefined
  /** Options of retries on the wire, or `false`. On by default. */
  readonly retry?: TransportRetry.Options | false | undefined
  /**
   * Requests the list of the server's models while the client is made, and fails with `UnknownModel` if the list lacks
   * `model`. A list that does not arrive within 10 seconds is ignored. Default: `false`, the first request detects it.
   */
  readonly checkModel?: boolean | undefined
}

const defaultMaxBodySize = 16 * 1024 * 1024

type Method = "generateText" | "streamText"

const aiError = (method: Method) => (reason: AiError.AiErrorReason): AiError.AiError =>
  AiError.make({ module: "OpenAiCompatible", method, reason })

/**
 * The model as a service. Fails with a `SetupError` if the options cannot work; the model is not asked before the first request. Dies with a
 * `ConfigurationError` for options that the compiler refuses.
 *
 * @category constructors
 * @since 0.2.0
 */
export const make = (
  options: Options
): Effect.Effect<LanguageModel.LanguageModel, SetupError.SetupError, HttpClient.HttpClient> =>
  Effect.gen(function*() {
    checkClientOptions(options)
    const client = yield* HttpClient.HttpClient
    const configured = yield* Effect.fromResult(Target.make(options))
    const { maxBodySize = defaultMaxBodySize, retry } = options
    if (options.checkModel === true) {
      yield* Listing.check({ client, target: configured, maxBodySize, limits: options })
    }
    /** Models that refused native tools. */
    const inlineModels = new Set<string>()
    const base = { ...options, model: configured.model }

    /** Fixed parts of one request: settings, target, and the exchange in either tool mode. */
    const prepare = (request: LanguageModel.ProviderOptions, stream: boolean, fiber: Fiber.Fiber<unknown, unknown>) => {
      const override = fiber.getRef(Settings.ConfigOverride)
      checkOverride(override)
      const settings = Settings.merge<Settings.Override>(base, override)
      const redactor = fiber.getRef(Redaction.Redaction)
      const target: Target.Target = {
        ...configured,
        model: settings.model ?? configured.model,
        scrub: (text) => redactor.text(configured.scrub(text))
      }
      SpanAttributes.requested(request.span, options.preset ?? target.host, target.model, settings)
      return {
        exchange: Exchange.make({ client, inlineModels, maxBodySize, request, retry, settings, stream, target }),
        settings,
        target,
        tools: request.responseFormat.type === "json" ? [] : request.tools.map(({ name }) => name),
        readCall: readStrictCalls(request.tools),
        now: () => fiber.getRef(Clock.Clock).currentTimeMillisUnsafe()
      }
    }

    const generateText = (request: LanguageModel.ProviderOptions) =>
      Effect.withFiber((fiber) => {
        const { exchange, now, readCall, settings, target, tools } = prepare(request, false, fiber)
        return Effect.flatMap(idSource, (newId) =>
          Effect.flatMap(withTimeout(exchange(Connection.send), settings.timeout, target), ({ answer, toolMode }) => {
            const parts = Answer.whole(answer, { target, toolMode, newId, now: now(), tools })
            if (Result.isFailure(parts)) return Effect.fail(parts.failure)
            SpanAttributes.answered(request.span, parts.success)
            return Effect.succeed(readCall === undefined ? parts.success : parts.success.map(readCall))
          }))
      }).pipe(Effect.mapError(aiError("generateText")))

    const prepareStream = (request: LanguageModel.ProviderOptions) =>
      Effect.withFiber((fiber) => {
        const { exchange, now, readCall, settings: { timeout }, target, tools } = prepare(request, true, fiber)
        return Effect.map(idSource, (newId) => {
          const answered = Effect.map(
            exchange(Connection.stream),
            ({ answer, toolMode }) =>
              Answer.streamed(answer, { target, toolMode, newId, now: now(), tools })
          )
          const stream = Stream.mapArray(Stream.unwrap(answered), (parts) => {
            SpanAttributes.answered(request.span, parts)
            return readCall === undefined ? parts : Arr.map(parts, readCall)
          })
          return timeout === undefined
            ? stream
            : Stream.interruptWhen(stream, Effect.andThen(Effect.sleep(timeout), timedOut(timeout, target)))
        })
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
 *
 * @category layers
 * @since 0.2.0
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
 *
 * @category layers
 * @since 0.2.0
 */
export const layerConfig = (
  options: Partial<Omit<Options, "preset">> & {
    /**
     * A known server by name, see `Presets`. Any text, because it may be from a configuration: fails with
     * `UnknownPreset`.
     */
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

const numbered = (first: () => string) => {
  let base: string | undefined
  let count = 0
  return () => {
    base ??= first()
    return count++ === 0 ? base : `${base}_${count}`
  }
}

/**
 * Ids for calls that the server left without one, of one drawn id, so that they can be made without effects. Few answers need one: it is
 * drawn at its first use, unless the program's own generator may have to wait for it.
 */
const idSource = Effect.contextWith((context: Context.Context<IdGenerator.IdGenerator>) => {
  const generator = Context.get(context, IdGenerator.IdGenerator)
  return generator === IdGenerator.defaultIdGenerator
    ? Effect.succeed(numbered(() => Effect.runSyncWith(context)(generator.generateId())))
    : Effect.map(generator.generateId(), (id) => numbered(() => id))
})

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
