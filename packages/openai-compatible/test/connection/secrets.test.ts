/** For any echo of a server, no printed error shows the key or the body. */
import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { ProviderResponse, Redaction } from "@recourse/core"
import { Effect, Layer, Redacted } from "effect"
import type { AiError } from "effect/ai"
import { HttpClient, HttpClientResponse } from "effect/http"
import { printsOf } from "../../../../test/support/prints.ts"
import { generate, ids, observe, stream } from "../support/harness.ts"

/** A key that no rule of a redaction knows. */
const key = "our-own-gateway"
const prose = `PROSE with ${key}, and with sk-proj-0123456789abcdef`

const fields = {
  message: prose,
  code: key,
  type: key,
  param: key,
  status: key,
  innererror: { code: key },
  details: [{ reason: key }]
}

const headers = {
  "x-request-id": key,
  "request-id": `req_${key}`,
  "retry-after": key,
  "x-ratelimit-remaining": key,
  server: key,
  "set-cookie": key,
  "x-echo": `Bearer ${key}`,
  [`x-${key}`]: prose
}

interface Reply {
  readonly status: number
  readonly type: string
  readonly body: string
}

const replies: ReadonlyArray<Reply> = [200, 400, 401, 402, 403, 404, 408, 413, 418, 422, 429, 500, 503].flatMap((
  status
) => [
  { status, type: "application/json", body: JSON.stringify({ error: fields }) },
  {
    status,
    type: "application/json",
    body: JSON.stringify({ [key]: key, choices: [{ message: { content: [[prose]] } }] })
  },
  { status, type: "text/html", body: `<h1>${prose}</h1>` },
  { status, type: "text/event-stream", body: `event: error\ndata: ${JSON.stringify(fields)}\n\n` },
  { status, type: "text/event-stream", body: `event: error\ndata: ${prose}\n\n` },
  { status, type: "text/event-stream", body: `data: ${prose}\n\n` },
  { status, type: "text/event-stream", body: `data: ${JSON.stringify({ choices: key, [key]: prose })}\n\n` },
  { status, type: "text/event-stream", body: `data: ${JSON.stringify({ choices: [] })}\n\n` }
])

const failures = (reply: Reply, redactor?: Redaction.Redactor) => {
  const client = HttpClient.make((request) =>
    Effect.sync(() =>
      HttpClientResponse.fromWeb(
        request,
        new Response(reply.body, { status: reply.status, headers: { ...headers, "content-type": reply.type } })
      )
    )
  )
  const layer = OpenAiCompatible.layer({
    baseUrl: "http://host/v1",
    model: "m",
    apiKey: Redacted.make(key),
    headers: { "x-other": key },
    retry: false
  }).pipe(Layer.provide([Layer.succeed(HttpClient.HttpClient, client), ids]))
  return Effect.gen(function*() {
    const whole = yield* Effect.flip(Effect.asVoid(generate()))
    const { error: streamed } = yield* observe(stream())
    return [whole as AiError.AiError, streamed!]
  }).pipe(
    Effect.provide(layer),
    redactor === undefined ? (self) => self : Effect.provideService(Redaction.Redaction, redactor)
  )
}

describe("an error of a server that echoes everything", () => {
  it.effect("is printed without the key and without the body", () =>
    Effect.gen(function*() {
      for (const reply of replies) {
        for (const error of yield* failures(reply)) {
          for (const print of yield* printsOf(error)) {
            assert.notInclude(print.replaceAll(`x-${key}`, ""), key, JSON.stringify(reply))
            assert.notInclude(print, "PROSE", JSON.stringify(reply))
          }
        }
      }
    }), 30_000)

  it.effect("has the body for operators, redacted by the redaction of the request", () =>
    Effect.gen(function*() {
      const reply = replies.find(({ status }) => status === 418)!
      for (const error of yield* failures(reply)) {
        const body = Redacted.value(ProviderResponse.bodyOf(error)!)
        assert.include(body, "PROSE with <redacted>")
        assert.notInclude(body, key)
        assert.notInclude(body, "sk-proj")
      }
      const own = Redaction.make({ rules: [{ kind: "prose", pattern: /PROSE/g }] })
      for (const error of yield* failures(reply, own)) {
        assert.include(Redacted.value(ProviderResponse.bodyOf(error)!), "[redacted: prose]")
      }
    }))

  it.effect("keeps a long body cut, and one body for each error", () =>
    Effect.gen(function*() {
      const long = { status: 400, type: "text/plain", body: `${"x".repeat(16_380)}${key}${"y".repeat(100_000)}` }
      const [error] = yield* failures(long)
      const body = Redacted.value(ProviderResponse.bodyOf(error!)!)
      assert.lengthOf(body, 16_384)
      assert.notInclude(body, "our-")
      const nameless = (text: string) => ({
        status: 200,
        type: "application/json",
        body: JSON.stringify({ choices: [{ message: { content: text, tool_calls: [{ id: "a" }] } }] })
      })
      const [first] = yield* failures(nameless("first"))
      const [second] = yield* failures(nameless("second"))
      assert.include(Redacted.value(ProviderResponse.bodyOf(first!)!), "first")
      assert.include(Redacted.value(ProviderResponse.bodyOf(second!)!), "second")
    }))
})
