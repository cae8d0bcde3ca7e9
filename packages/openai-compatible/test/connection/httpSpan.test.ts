import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { TestTracer } from "@recourse/testing"
import { Effect, Layer, Tracer } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { generate, ids } from "../support/harness.ts"

const body = JSON.stringify({
  id: "c",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }]
})

/** The trace headers of one request, sent within an effect's spans. */
const traceparentIn = (around: <A, E, R>(self: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>) => {
  const sent: Array<string | undefined> = []
  const client = HttpClient.make((request) => {
    sent.push(request.headers.traceparent)
    return Effect.succeed(
      HttpClientResponse.fromWeb(request, new Response(body, { headers: { "content-type": "application/json" } }))
    )
  })
  const layer = OpenAiCompatible.layer({ baseUrl: "http://host/v1", model: "m" }).pipe(
    Layer.provide([Layer.succeed(HttpClient.HttpClient, client), ids])
  )
  return around(generate()).pipe(Effect.as(sent), Effect.provide(layer))
}

const external = Tracer.externalSpan({ traceId: "0af7651916cd43dd8448eb211c80319c", spanId: "b7ad6b7169203331" })

describe("the HTTP span of a request", () => {
  it.effect("is left out if effect's own tracer has the whole trace", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* traceparentIn((self) => self), [undefined])
      assert.deepStrictEqual(
        yield* traceparentIn((self) => Effect.withSpan(Effect.withSpan(self, "inner"), "outer")),
        [undefined]
      )
    }))

  it.effect("continues a trace of another process", () =>
    Effect.gen(function*() {
      const [traceparent] = yield* traceparentIn((self) =>
        Effect.withParentSpan(Effect.withSpan(self, "inner"), external)
      )
      assert.match(traceparent!, /^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/)
    }))

  it.effect("goes to a tracer, which its headers name", () =>
    Effect.gen(function*() {
      const [traceparent] = yield* traceparentIn((self) => self)
      const spans = yield* (yield* TestTracer.TestTracer).spans
      const http = spans.find(({ attributes }) => attributes.has("http.response.status_code"))!
      assert.strictEqual(http.kind, "client")
      assert.strictEqual(traceparent, `00-${http.traceId}-${http.spanId}-01`)
    }).pipe(Effect.provide(TestTracer.layer)))
})
