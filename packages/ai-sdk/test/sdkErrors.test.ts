/** Errors of the AI SDK itself. */

import {
  InvalidArgumentError,
  InvalidPromptError,
  JSONParseError,
  LoadAPIKeyError,
  LoadSettingError,
  NoContentGeneratedError,
  NoSuchModelError,
  NoSuchProviderReferenceError,
  TooManyEmbeddingValuesForCallError,
  TypeValidationError,
  UnsupportedFunctionalityError
} from "@ai-sdk/provider"
import type { LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { ProviderResponse } from "@recourse/core"
import { Effect, Redacted, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { v4 } from "./support/models.ts"
import { api, factsOf, failureOf, wordsOf } from "./support/apiFailures.ts"

describe("errors of the AI SDK", () => {
  it.effect("name the fault in their own words", () =>
    Effect.gen(function*() {
      const message = "prose"
      const cases: ReadonlyArray<readonly [unknown, Readonly<Record<string, unknown>>]> = [
        [new LoadAPIKeyError({ message: "Set EXAMPLE_API_KEY" }), {
          kind: "MissingKey",
          description: "Set EXAMPLE_API_KEY"
        }],
        [new LoadSettingError({ message: "Set EXAMPLE_REGION" }), { description: "Set EXAMPLE_REGION" }],
        [new NoSuchModelError({ modelId: "m-1", modelType: "languageModel" }), {
          parameter: "model",
          constraint: "must name a model of the provider",
          description: "There is no languageModel \"m-1\""
        }],
        [new UnsupportedFunctionalityError({ functionality: "audio" }), {
          description: "The provider package does not support: audio"
        }],
        [new InvalidPromptError({ prompt: "secret", message }), {
          parameter: "prompt",
          constraint: "was refused by the provider package"
        }],
        [new InvalidArgumentError({ argument: "seed", message }), {
          parameter: "seed",
          constraint: "was refused by the provider package"
        }],
        [
          new TooManyEmbeddingValuesForCallError({ provider: "p", modelId: "m", maxEmbeddingsPerCall: 2, values: [] }),
          { parameter: "values", constraint: "must hold at most 2 values" }
        ],
        [new NoSuchProviderReferenceError({ provider: "p", reference: {} }), {
          parameter: "file",
          constraint: "has no reference for the provider \"p\""
        }],
        [new NoContentGeneratedError({ message }), { description: "The model generated no content" }],
        [new JSONParseError({ text: "secret", cause: new Error(message) }), {
          description: "The provider's answer does not follow its protocol",
          metadata: { aiSdk: { error: "AI_JSONParseError" } }
        }],
        [new DOMException(message, "AbortError"), {
          description: "The request was aborted before it was answered",
          url: ""
        }],
        [new RangeError(message), {
          description: "The provider package failed for a reason it does not classify",
          metadata: { aiSdk: { error: "RangeError" } }
        }],
        ["secret", {
          description: "The provider package failed for a reason it does not classify",
          metadata: { aiSdk: { error: "string" } }
        }],
        [
          {
            get statusCode() {
              throw new Error(message)
            }
          },
          { description: "The provider package failed with a value that cannot be read" }
        ],
        [undefined, { metadata: { aiSdk: { error: "undefined" } } }],
        [api({ statusCode: 400 }), {
          metadata: { aiSdk: { error: "AI_APICallError", codes: [], kind: "unexplained" } }
        }]
      ]
      for (const [thrown, expected] of cases) assert.deepInclude((yield* failureOf(thrown)).reason, expected)
    }))

  it.effect("in words alone are unexplained in place of an answer only", () =>
    Effect.gen(function*() {
      const kindOf = (error: unknown, ...before: ReadonlyArray<LanguageModelV4StreamPart>) =>
        LanguageModel.streamText({ prompt: "Hi" }).pipe(
          Stream.runDrain,
          Effect.flip,
          Effect.map((failure) => factsOf(failure)?.["kind"]),
          Effect.provide(AiSdk.layer(v4({ stream: [...before, { type: "error", error }] }).model))
        )
      for (const words of ["too long", { message: "too long" }, { error: { message: "too long" } }]) {
        assert.strictEqual(yield* kindOf(words), "unexplained")
        assert.strictEqual(yield* kindOf(words, { type: "stream-start", warnings: [] }), "unexplained")
        const text = [{ type: "text-start", id: "t" }, { type: "text-delta", id: "t", delta: "Hi" }] as const
        assert.isUndefined(yield* kindOf(words, ...text))
      }
      assert.isUndefined(yield* kindOf({ message: "slow", code: "rate_limit_exceeded" }))
      assert.isUndefined(yield* kindOf(new RangeError("too long")))
    }))

  it.effect("are decoded by status or code if they only look alike", () =>
    Effect.gen(function*() {
      class Gateway extends Error {
        override readonly name = "GatewayError"
        readonly statusCode: unknown
        readonly type: unknown
        constructor(statusCode: unknown, type?: unknown) {
          super("prose")
          this.statusCode = statusCode
          this.type = type
        }
      }
      const unclassified = "The provider package failed for a reason it does not classify"
      const cases: ReadonlyArray<readonly [unknown, string, string | undefined]> = [
        [new Gateway(401), "Authentication InvalidKey", "GatewayError"],
        [new Gateway(undefined, "rate_limit_exceeded"), "RateLimit again", "GatewayError"],
        [{ statusCode: 401 }, "Authentication InvalidKey", "error"],
        [{ name: 7, statusCode: 401 }, "Authentication InvalidKey", "error"],
        [new Gateway("401"), "Unknown", "GatewayError"],
        [new Gateway(401.5), "Unknown", "GatewayError"],
        [{ statusCode: 401, data: { error: { code: "insufficient_quota" } } }, "QuotaExhausted", "error"]
      ]
      for (const [thrown, expected, name] of cases) {
        const error = yield* failureOf(thrown)
        assert.strictEqual(wordsOf(error), expected)
        assert.strictEqual(factsOf(error)?.["error"], name)
        const description = "description" in error.reason ? error.reason.description : undefined
        assert.strictEqual(description === unclassified, expected === "Unknown")
      }
    }))

  it.effect("have codes only in the servers' error fields", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [unknown, string]> = [
        [{ error: { code: "rate_limit_exceeded" } }, "RateLimit again"],
        // A part of an answer may have a type or a code, too.
        [{ type: "server_error", code: 503 }, "InvalidResponse"],
        [{ error: "server_error", code: 503 }, "InvalidResponse"],
        [{ error: {} }, "InvalidResponse"],
        [undefined, "InvalidResponse"]
      ]
      for (const [value, expected] of cases) {
        assert.strictEqual(wordsOf(yield* failureOf(new TypeValidationError({ value, cause: "prose" }))), expected)
      }
    }))

  it.effect("attach the body for operators: text, or its JSON", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [unknown, string | undefined]> = [
        [api({ statusCode: 400, responseBody: "text", data: { error: { code: "x" } } }), "text"],
        [api({ statusCode: 400, responseBody: { a: 1 } as never }), "{\"a\":1}"],
        [api({ statusCode: 400, data: { error: { code: "x" } } }), "{\"error\":{\"code\":\"x\"}}"],
        [api({ statusCode: 400 }), undefined],
        [new RangeError("prose"), "prose"],
        ["prose", undefined]
      ]
      for (const [thrown, expected] of cases) {
        const body = ProviderResponse.bodyOf(yield* failureOf(thrown))
        assert.strictEqual(body === undefined ? undefined : Redacted.value(body), expected)
      }
    }))

  it.effect("an answer that ends before its end is a broken connection", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(
        Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" })).pipe(
          Effect.provide(AiSdk.layer(v4({ stream: [{ type: "text-start", id: "t" }] }).model))
        )
      )
      assert.strictEqual(wordsOf(error), "Network again")
      assert.deepInclude(error.reason, {
        description: "The answer ended before the provider marked it as complete",
        url: ""
      })
    }))
})
