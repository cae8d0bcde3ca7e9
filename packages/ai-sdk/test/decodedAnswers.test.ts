/** The conversion of a whole answer. */

import type { LanguageModelV4GenerateResult } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Effect, Schema, Stream } from "effect"
import { LanguageModel, type Response, Tool, Toolkit } from "effect/ai"
import { finish, v4 } from "./support/models.ts"
import { generate, Search, text } from "./support/generatedAnswers.ts"

describe("the decoded answer", () => {
  it.effect("has the provider's selected text instead of others, and all sources", () =>
    Effect.gen(function*() {
      const source = { type: "source" as const, sourceType: "url" as const, id: "s", url: "https://a.example/" }
      const { model } = v4({
        content: [{ type: "text", text: "draft" }, source],
        result: { structuredOutputText: `{"n":1}` }
      })
      const response = yield* LanguageModel.generateObject({ prompt: "Hi", schema: Schema.Struct({ n: Schema.Int }) })
        .pipe(
          Effect.provide(AiSdk.layer(model))
        )
      assert.deepStrictEqual(response.content.map(({ type }) => type), ["source", "text", "finish"])
      assert.strictEqual(response.text, `{"n":1}`)
    }))

  it.effect("has any known id, model, time, unnamed document and future result", () =>
    Effect.gen(function*() {
      const run = (result: Partial<LanguageModelV4GenerateResult>) =>
        LanguageModel.generateText({ prompt: "Hi", toolkit: Toolkit.make(Search), disableToolCallResolution: true })
          .pipe(
            Effect.map(({ content }) => content as ReadonlyArray<Response.AnyPart>),
            Effect.provide(AiSdk.layer(v4({ content: text, result }).model))
          )
      const time = new Date("2026-01-02T03:04:05.678Z")
      const cases: ReadonlyArray<
        readonly [NonNullable<LanguageModelV4GenerateResult["response"]>, object | undefined]
      > = [
        [{}, undefined],
        [{ headers: {} }, undefined],
        [{ id: "r" }, { id: "r" }],
        [{ modelId: "m" }, { modelId: "m" }],
        [{ timestamp: time }, { timestamp: time.toISOString() }],
        [{ timestamp: new Date(Number.NaN) }, undefined]
      ]
      for (const [response, expected] of cases) {
        const part = (yield* run({ response })).find(({ type }) => type === "response-metadata")
        const { id, modelId, timestamp } = JSON.parse(JSON.stringify(part ?? {}))
        assert.deepStrictEqual(
          part && JSON.parse(JSON.stringify({ id, modelId, timestamp })),
          expected,
          JSON.stringify(response)
        )
      }
      const result = { type: "tool-result" as const, toolCallId: "c", toolName: "Search", result: 1 }
      const parts = yield* run({
        content: [
          { type: "source", sourceType: "document", id: "s", mediaType: "text/plain", title: "D" },
          { ...result, preliminary: true },
          { ...result, preliminary: false }
        ]
      })
      assert.notProperty(parts[0], "fileName")
      assert.deepStrictEqual(parts.slice(1, 3).map((part) => part.type === "tool-result" && part.preliminary), [
        true,
        false
      ])
    }))

  it.effect("is whole for another named finish reason; provider calls are marked", () =>
    Effect.gen(function*() {
      const start = (id: string, providerExecuted?: boolean) => ({
        type: "tool-input-start" as const,
        id,
        toolName: "Search",
        ...(providerExecuted === undefined ? undefined : { providerExecuted })
      })
      const { model } = v4({
        stream: [
          start("a", true),
          start("b", false),
          start("c"),
          { type: "finish", usage: finish.usage, finishReason: { unified: "other", raw: "safety" } }
        ]
      })
      const parts = yield* LanguageModel.streamText({
        prompt: "Hi",
        toolkit: Toolkit.make(Search),
        disableToolCallResolution: true
      }).pipe(Stream.runCollect, Effect.provide(AiSdk.layer(model)))
      assert.deepStrictEqual(
        [...parts].map((part) => part.type === "tool-params-start" ? part.providerExecuted : part.type),
        [true, false, false, "finish"]
      )
    }))

  it.effect("is a failure if empty without a finish reason", () =>
    Effect.gen(function*() {
      const other = (raw: string | undefined) => ({ finishReason: { unified: "other" as const, raw } })
      const cases: ReadonlyArray<readonly [Partial<LanguageModelV4GenerateResult>, boolean]> = [
        [other(undefined), false],
        [other("safety"), true],
        [{ content: text, ...other(undefined) }, true],
        [{ finishReason: { unified: "stop", raw: undefined } }, true]
      ]
      for (const [result, isAnswer] of cases) {
        const exit = yield* Effect.exit(Effect.provide(generate, AiSdk.layer(v4({ result }).model)))
        assert.strictEqual(exit._tag === "Success", isAnswer, JSON.stringify(result))
      }
    }))

  it.effect("is off the protocol for a page; other content is ignored", () =>
    Effect.gen(function*() {
      const cases: ReadonlyArray<readonly [Readonly<Record<string, string>> | undefined, boolean]> = [
        [{ "content-type": "text/html" }, false],
        [{ "x-a": "b", "Content-Type": " Text/HTML; charset=utf-8" }, false],
        [{ "content-type": "multipart/related; type=text/html" }, true],
        [{ "content-type": "text/html5" }, true],
        [{ "content-type": "text/event-stream" }, true],
        [{ "x-content-type": "text/html" }, true],
        [{}, true],
        [undefined, true]
      ]
      for (const [headers, isAnswer] of cases) {
        const { model } = v4({ stream: [finish] })
        const paged = {
          ...model,
          doStream: async (options: Parameters<typeof model.doStream>[0]) => ({
            ...await model.doStream(options),
            ...(headers === undefined ? undefined : { response: { headers } })
          })
        }
        const exit = yield* Effect.exit(
          Effect.provide(Stream.runDrain(LanguageModel.streamText({ prompt: "Hi" })), AiSdk.layer(paged))
        )
        assert.strictEqual(exit._tag === "Success", isAnswer, JSON.stringify(headers))
      }
    }))

  it.effect("arguments of calls: as the kind of tool has them", () =>
    Effect.gen(function*() {
      const Free = Tool.providerDefined({
        id: "p.free",
        customName: "Free",
        providerName: "free",
        parameters: Schema.Unknown,
        success: Schema.Unknown,
        requiresHandler: true
      })(undefined as never)
      const Described = Tool.dynamic("described", {
        parameters: { type: "object", properties: { n: { type: ["number", "null"] } } },
        success: Schema.Unknown
      }).annotate(Tool.Strict, true)
      const strictOf = (strict: boolean) =>
        Tool.make(strict ? "strict" : "lax", {
          parameters: Schema.Struct({ n: Schema.optionalKey(Schema.Int) }),
          success: Schema.Unknown
        }).annotate(Tool.Strict, strict)
      const cases: ReadonlyArray<readonly [tool: string, input: string, params: unknown]> = [
        ["Free", `"SELECT 1"`, "SELECT 1"],
        ["Free", "SELECT 1", "SELECT 1"],
        ["Free", "", ""],
        ["Free", `{"__proto__":1}`, `{"__proto__":1}`],
        ["described", `{"n":null}`, { n: null }],
        ["strict", `{"n":null}`, {}],
        ["lax", `{"n":null}`, { n: null }]
      ]
      const { model } = v4({
        provider: "openai.chat",
        content: cases.map(([toolName, input], index) => ({
          type: "tool-call",
          toolCallId: `c${index}`,
          toolName,
          input
        }))
      })
      const response = yield* LanguageModel.generateText({
        prompt: "Hi",
        toolkit: Toolkit.make(Free, Described, strictOf(true), strictOf(false)),
        disableToolCallResolution: true,
        toolCallValidation: "deferred"
      }).pipe(Effect.provide(AiSdk.layer(model)))
      assert.deepStrictEqual(
        response.toolCalls.map(({ params }): unknown => params),
        cases.map(([, , params]) => params)
      )
    }))
})
