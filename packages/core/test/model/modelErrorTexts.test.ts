/**
 * A user's texts of failures, code by code: of a failed model call that ends a run, and of a tool's error that recovery
 * escalates.
 */
import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Duration, Effect, Schema } from "effect"
import { AiError } from "effect/ai"
import { Agent, Catalogue, ErrorProjection, Recovery, Tool } from "@recourse/core"
import { collect } from "../support/kit.ts"

const description = "postgres://root:hunter2@10.0.0.7"
const toolName = "none"

/** Each reason of `effect/ai` by its tag, with the user's code; the rest of a name marks variants. */
const reasons: Readonly<Record<string, readonly [AiError.AiErrorReason, code: string, retryAfter?: number]>> = {
  RateLimitError: [new AiError.RateLimitError({ retryAfter: Duration.seconds(90) }), "rate_limited", 90_000],
  "RateLimitError, no time": [new AiError.RateLimitError({}), "rate_limited"],
  "RateLimitError, a part of a millisecond": [
    new AiError.RateLimitError({ retryAfter: Duration.micros(1_500n) }),
    "rate_limited",
    2
  ],
  QuotaExhaustedError: [new AiError.QuotaExhaustedError({}), "quota_exhausted"],
  AuthenticationError: [new AiError.AuthenticationError({ kind: "InvalidKey", description }), "authentication"],
  ContentPolicyError: [new AiError.ContentPolicyError({ description }), "unsafe_output"],
  InvalidRequestError: [new AiError.InvalidRequestError({ description }), "invalid_request"],
  "InvalidRequestError, of the model": [
    new AiError.InvalidRequestError({ parameter: "model", description }),
    "model_not_found"
  ],
  "InvalidRequestError, of another parameter": [
    new AiError.InvalidRequestError({ parameter: "messages", description }),
    "invalid_request"
  ],
  NetworkError: [
    new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "http://10.0.0.7/", description }),
    "upstream_error"
  ],
  InternalProviderError: [new AiError.InternalProviderError({ description }), "upstream_error"],
  InvalidResponseError: [new AiError.InvalidResponseError({ description }), "execution_error"],
  InvalidOutputError: [new AiError.InvalidOutputError({ description }), "execution_error"],
  StructuredOutputError: [new AiError.StructuredOutputError({ description, responseText: "" }), "execution_error"],
  UnsupportedSchemaError: [new AiError.UnsupportedSchemaError({ description }), "execution_error"],
  UnknownError: [new AiError.UnknownError({ description }), "execution_error"],
  ToolNotFoundError: [new AiError.ToolNotFoundError({ toolName, availableTools: [] }), "execution_error"],
  ToolParameterValidationError: [
    new AiError.ToolParameterValidationError({ toolName, description }),
    "execution_error"
  ],
  InvalidToolResultError: [new AiError.InvalidToolResultError({ toolName, description }), "execution_error"],
  ToolResultEncodingError: [
    new AiError.ToolResultEncodingError({ toolName, toolResult: null, description }),
    "execution_error"
  ],
  ToolConfigurationError: [new AiError.ToolConfigurationError({ toolName, description }), "execution_error"],
  ToolkitRequiredError: [
    new AiError.ToolkitRequiredError({ pendingApprovals: [], description }),
    "execution_error"
  ],
  InvalidUserInputError: [new AiError.InvalidUserInputError({ description }), "execution_error"]
}

const failing = (reason: AiError.AiErrorReason) =>
  ScriptedModel.failWith(AiError.make({ module: "test", method: "call", reason }))

const languages = { en: Catalogue.en, "zh-CN": Catalogue.zh } as const

it("each reason of the library is in the table", () => {
  const tags = Object.keys(AiError).filter((name) =>
    name !== "AiError" && name.endsWith("Error") &&
    typeof (AiError as unknown as Record<string, { readonly prototype?: unknown }>)[name]?.prototype === "object"
  )
  assert.deepStrictEqual(tags.filter((tag) => !Object.hasOwn(reasons, tag)), [])
  assert.strictEqual(tags.length, 19)
})

describe("the user's text of a failed model call that ends a run", () => {
  for (const [name, [reason, code, retryAfter]] of Object.entries(reasons)) {
    for (const [locale, texts] of Object.entries(languages)) {
      it.effect(`${name}, ${locale}`, () =>
        Effect.gen(function*() {
          const { events, layer } = collect()
          yield* Effect.exit(Agent.make("m", {}).run("x")).pipe(
            Effect.provide([ScriptedModel.layer([failing(reason)]), layer, Catalogue.layerLocale(locale)])
          )
          const last = events.at(-1)
          if (last?._tag !== "RunFinished") return assert.fail("no end")
          assert.deepStrictEqual([last.code, last.userMessage, last.retryAfter], [code, texts[code], retryAfter])
          assert.notMatch(JSON.stringify(last), /hunter2|10\.0\.0\.7/)
        }))
    }
  }
})

it("differs for failures that a user can act on", () => {
  for (const texts of Object.values(languages)) {
    const codes = ["model_not_found", "invalid_request", "quota_exhausted", "rate_limited", "upstream_error"]
    assert.lengthOf(new Set([texts.execution_error, ...codes.map((code) => texts[code])]), codes.length + 1)
  }
})

/** The result of a call in an event. */
const reportOf = (tool: Tool.Any, options: object, args: object, model: ReadonlyArray<ScriptedModel.Turn> = []) =>
  Effect.gen(function*() {
    const { events, layer } = collect()
    const agent = Agent.make("a", { tools: [tool as never], ...options })
    yield* Effect.exit(agent.run("x") as Effect.Effect<unknown, unknown>).pipe(
      Effect.provide([
        ScriptedModel.layer([ScriptedModel.call("act", args), ...model, ScriptedModel.text("ok")]),
        layer
      ])
    )
    const results = events.flatMap((event) => event._tag === "ToolResult" && event.callId === "call_1" ? [event] : [])
    assert.lengthOf(results, 1)
    return results[0]!
  })

describe("the user's text of a failed inner model call", () => {
  for (const [name, [reason, code, retryAfter]] of Object.entries(reasons)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const act = Agent.make("inner", {}).pipe(Agent.asTool("act", { description: "", effects: "read" }))
        const result = yield* reportOf(act as never, { defaults: { onError: Recovery.keepGoing } }, { input: "x" }, [
          failing(reason),
          ScriptedModel.text("ok")
        ])
        assert.deepStrictEqual([result.isFailure, result.code, result.retryAfter], [true, code, retryAfter])
        assert.strictEqual(result.userMessage, Catalogue.en[code])
        assert.strictEqual((result.result as ErrorProjection.ToolFailure).retry_after_ms, retryAfter)
        assert.notMatch(JSON.stringify(result), /hunter2|10\.0\.0\.7/)
      }))
  }
})

const declaredCodes = Object.keys(Catalogue.en).concat("seat_taken")

const recoveries: Readonly<Record<string, (call: Effect.Effect<unknown, never, never>) => Effect.Effect<unknown>>> = {
  escalate: Recovery.escalate("ExecutionError") as never,
  escalateWith: Recovery.escalateWith("ExecutionError", () => ({ reason: "In other words" })) as never,
  "a table": Recovery.policy({ ExecutionError: "escalate" }) as never,
  "a table that fixes": Recovery.policy({
    ExecutionError: {
      fix: Agent.fromFunction("no", () => Effect.succeed(Recovery.declined)),
      otherwise: "escalate"
    } as never
  }) as never,
  keepGoing: Recovery.keepGoing as never
}

describe("an error that recovery hands to the model reaches the user with its code, its text and when to try again", () => {
  for (const code of declaredCodes) {
    for (const [by, recovery] of Object.entries(recoveries)) {
      it.effect(`${code}, by ${by}`, () =>
        Effect.gen(function*() {
          class Failed extends Schema.TaggedError<Failed>()(
            "Failed",
            {},
            ErrorProjection.declare({ code, transient: false, retryAfter: () => "1500 millis" })
          ) {}
          const Act = Tool.make("act", {
            success: Schema.String,
            effects: "read",
            failure: Failed,
            execute: () => Effect.fail(new Failed())
          }).pipe(Tool.onError(recovery as never))
          const result = yield* reportOf(Act as never, {}, {})
          assert.deepStrictEqual([result.isFailure, result.code, result.retryAfter], [true, code, 1_500])
          assert.strictEqual(result.userMessage, Catalogue.en[code] ?? Catalogue.en.execution_error)
          assert.strictEqual((result.result as ErrorProjection.ToolFailure).retry_after_ms, 1_500)
        }))
    }
  }
})
