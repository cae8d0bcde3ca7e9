/** Omitted parts of an answer and of an error: other choices than the first, and the query of the address. */
import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Layer, Redacted, Stream } from "effect"
import { LanguageModel } from "effect/ai"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { printsOf } from "../../../../test/support/prints.ts"
import { generate, ids } from "../support/harness.ts"

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
