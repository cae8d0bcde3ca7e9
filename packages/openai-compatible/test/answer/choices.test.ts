/** Omitted parts of an answer and of an error: other choices than the first, and the query of the address. */
import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Layer, Redacted, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { printsOf } from "../../../../test/support/prints.ts"
import { answering, generate, ids } from "../support/harness.ts"

const layerOf = (client: HttpClient.HttpClient, baseUrl = "http://host/v1") =>
  OpenAiCompatible.layer({ baseUrl, model: "m", apiKey: Redacted.make("our-own-gateway"), retry: false }).pipe(
    Layer.provide([Layer.succeed(HttpClient.HttpClient, client), ids])
  )

describe("a stream with several choices", () => {
  const chunks = [
    { choices: [{ index: 1, delta: { content: "other" } }, { index: 0, delta: { content: "first" } }] },
    { choices: [{ index: 1, delta: {}, finish_reason: "length" }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }
  ]
  const body = [...chunks.map((chunk) => JSON.stringify(chunk)), "[DONE]"].map((data) => `data: ${data}\n\n`).join("")
  const client = HttpClient.make((request) =>
    Effect.sync(() =>
      HttpClientResponse.fromWeb(request, new Response(body, { headers: { "content-type": "text/event-stream" } }))
    )
  )

  it.effect("is the first of them", () =>
    Effect.gen(function*() {
      const parts = yield* Stream.runCollect(LanguageModel.streamText({ prompt: "go" }))
      assert.strictEqual(parts.flatMap((part) => part.type === "text-delta" ? [part.delta] : []).join(""), "first")
      assert.deepStrictEqual(parts.flatMap((part) => part.type === "finish" ? [part.reason] : []), ["stop"])
    }).pipe(Effect.provide(layerOf(client))))
})

describe("an answer whose text and calls are in two choices", () => {
  const partsOf = (...indexes: ReadonlyArray<number | undefined>) => {
    const call = { id: "a", type: "function", function: { name: "now", arguments: "{}" } }
    const messages = [{ role: "assistant", content: "I look." }, {
      role: "assistant",
      content: null,
      tool_calls: [call]
    }]
    const choices = messages.map((message, at) => ({ index: indexes[at], message, finish_reason: "tool_calls" }))
    return Effect.map(
      generate().pipe(Effect.provide(answering({ body: JSON.stringify({ choices }) }))),
      ({ content }) =>
        content.flatMap((part) => part.type === "text" ? [part.text] : part.type === "tool-call" ? [part.id] : [])
    )
  }

  it.effect("has both, unless the second one is another answer", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* partsOf(), ["I look.", "a"])
      assert.deepStrictEqual(yield* partsOf(0, 0), ["I look.", "a"])
      assert.deepStrictEqual(yield* partsOf(0, 1), ["I look."])
    }))
})

it.effect("an error names the address without its query", () =>
  Effect.gen(function*() {
    const client = HttpClient.make((request) =>
      Effect.fail(
        new HttpClientError.HttpClientError({
          reason: new HttpClientError.TransportError({ request, cause: new Error("ECONNREFUSED") })
        })
      )
    )
    const error = yield* Effect.flip(Effect.asVoid(generate())).pipe(
      Effect.provide(layerOf(client, "http://host/v1?subscription=s3cr3t-of-ours"))
    )
    for (const print of yield* printsOf(error)) assert.notInclude(print, "s3cr3t-of-ours")
    assert.include(JSON.stringify(error), "http://host/v1")
  }))
