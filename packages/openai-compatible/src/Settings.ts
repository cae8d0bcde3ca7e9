/** Request settings: set for a client, changed for one request. */
import * as Context from "effect/Context"
import type * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { dual } from "effect/Function"
import type * as Schema from "effect/Schema"

/**
 * Settings of a request to a model.
 *
 * @category options
 * @since 0.2.0
 */
export interface Settings {
  /** Randomness of the answer, in the units of the server. Default: the server's. */
  readonly temperature?: number | undefined
  /** Share of the likeliest tokens to choose from, 0 to 1. Default: the server's. */
  readonly topP?: number | undefined
  /** The most tokens of an answer. */
  readonly maxTokens?: number | undefined
  /** Penalty of tokens by the number of their uses. Default: the server's. */
  readonly frequencyPenalty?: number | undefined
  /** Penalty of tokens that were used. Default: the server's. */
  readonly presencePenalty?: number | undefined
  /** Seed of the server's random choices, if it takes one. Default: none. */
  readonly seed?: number | undefined
  /** Texts at which the answer ends. Default: none. */
  readonly stop?: ReadonlyArray<string> | undefined
  /** True if one answer may have several tool calls. Default: the server's. */
  readonly parallelToolCalls?: boolean | undefined
  /** Effort of reasoning, by the server's names. Default: the server's. */
  readonly reasoningEffort?: string | undefined
  /** The whole time of a request: all attempts, all waits and the body; of a stream, until its end. No limit by default. */
  readonly timeout?: Duration.Input | undefined
  /**
   * The longest wait for the next bytes of a started answer, pings included. Default: 60 seconds; `"Infinity"` is none.
   * A request whose whole answer stalls is sent again; a stream that stalls fails with a retryable `NetworkError`.
   */
  readonly idleTimeout?: Duration.Input | undefined
  /**
   * The longest wait for content: from the request to its first piece, and from one to the next. Pings do not count. Not
   * repeated; a retryable `NetworkError`. Default: 10 minutes; `"Infinity"` is none.
   */
  readonly contentTimeout?: Duration.Input | undefined
  /** Further fields of the request body, over all others. */
  readonly body?: Readonly<Record<string, Schema.Json>> | undefined
}

/**
 * Settings of one request, with another model if one is given.
 *
 * @category options
 * @since 0.2.0
 */
export interface Override extends Settings {
  readonly model?: string | undefined
}

/**
 * Settings of the requests made inside an effect or a stream, over those of the client.
 *
 * ```ts
 * import { OpenAiCompatible } from "@recourse/openai-compatible"
 * import { Stream } from "effect"
 * import { LanguageModel } from "effect/ai"
 *
 * export const precise = LanguageModel.streamText({ prompt: "Count to three" }).pipe(
 *   Stream.provideService(OpenAiCompatible.ConfigOverride, { temperature: 0 })
 * )
 * ```
 *
 * @category services
 * @since 0.2.0
 */
export const ConfigOverride = Context.Reference<Override>("@recourse/openai-compatible/ConfigOverride", {
  defaultValue: () => ({})
})

/**
 * Changes settings for the requests of one effect. Nested overrides are merged, the inner one first. For a stream provide `ConfigOverride`.
 *
 * ```ts
 * import { OpenAiCompatible } from "@recourse/openai-compatible"
 * import { LanguageModel } from "effect/ai"
 *
 * export const short = LanguageModel.generateText({ prompt: "Say hello" }).pipe(
 *   OpenAiCompatible.withConfigOverride({ maxTokens: 10, model: "gpt-4.1-mini" })
 * )
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const withConfigOverride: {
  (override: Override): <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
  <A, E, R>(self: Effect.Effect<A, E, R>, override: Override): Effect.Effect<A, E, R>
} = dual(2, <A, E, R>(self: Effect.Effect<A, E, R>, override: Override): Effect.Effect<A, E, R> =>
  Effect.flatMap(
    ConfigOverride,
    (outer) => Effect.provideService(self, ConfigOverride, merge(outer, override))
  ))

/**
 * Overrides the first by the second; `undefined` changes no field, bodies are merged field by field.
 *
 * @category combinators
 * @since 0.2.0
 */
export const merge = <A extends Settings>(base: A, over: A): A => {
  const changes = Object.entries(over).filter(([, value]) => value !== undefined)
  return changes.length === 0
    ? base
    : { ...base, ...Object.fromEntries(changes), body: { ...base.body, ...over.body } }
}
