/** The body of an answer at its edges: its size, its type, its end, and who hears that it comes. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { answering, generate, observe, type Reply, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

const completion = JSON.stringify({ choices: [{ message: { content: "é€🌍" }, finish_reason: "stop" }] })
const events = [Server.chunk({ content: "Hi" }), Server.chunk({}, "stop"), Server.done].join("")
const bytes = (text: string) => new TextEncoder().encode(text)
const each = (text: string) => Array.from(bytes(text), (byte) => Uint8Array.of(byte))

const asked = (reply: Reply, options: Parameters<typeof answering>[1] = {}) =>
  generate().pipe(
    Effect.match({
      onFailure: ({ reason }) => ({ tag: reason._tag as string, reason }),
      onSuccess: ({ text }) => ({ tag: text, reason: undefined })
    }),
    Effect.provide(answering(reply, options))
  )

const streamed = (reply: Reply, options: Parameters<typeof answering>[1] = {}) =>
  Effect.map(observe(stream()).pipe(Effect.provide(answering(reply, options))), ({ error, parts }) => ({
    error,
    text: parts.map(({ delta }) => delta ?? "").join("")
  }))

describe("a body", () => {
  it.effect("may be as large as the limit, and no larger", () =>
    Effect.gen(function*() {
      const { length } = bytes(completion)
      assert.strictEqual((yield* asked({ body: completion }, { maxBodySize: length })).tag, "é€🌍")
      const { reason } = yield* asked({ body: completion }, { maxBodySize: length - 1 })
      assert.strictEqual(reason?._tag, "InvalidResponseError")
      assert.include(reason?.message, `larger than ${length - 1} bytes`)

      const type = "text/event-stream"
      const size = bytes(events).length
      assert.deepStrictEqual(
        yield* streamed({ type, body: each(events) }, { maxBodySize: size }),
        { error: undefined, text: "Hi" }
      )
      const { error } = yield* streamed({ type, body: each(events) }, { maxBodySize: size - 1 })
      assert.strictEqual(error?.reason._tag, "InvalidResponseError")
    }))

  it.effect("of a failure is read up to the limit, with its status", () =>
    Effect.gen(function*() {
      const error = JSON.stringify({ error: { code: "insufficient_quota" } })
      const { length } = bytes(error)
      const reply = { status: 400, body: each(`${error}xxx`) }
      assert.strictEqual((yield* asked(reply, { maxBodySize: length })).tag, "QuotaExhaustedError")
      assert.strictEqual((yield* asked(reply, { maxBodySize: length - 1 })).tag, "InvalidRequestError")
    }))

  it.effect("is text, however its bytes are split", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* asked({ body: each(completion) })).tag, "é€🌍")
    }))

  it.effect("that is empty is a broken answer, or the status alone", () =>
    Effect.gen(function*() {
      for (const body of [null, "", " \n"]) {
        assert.strictEqual((yield* asked({ body })).tag, "InvalidResponseError", JSON.stringify(body))
        assert.strictEqual((yield* asked({ status: 402, body })).tag, "QuotaExhaustedError")
      }
    }))

  it.effect("that ends too early is a broken connection", () =>
    Effect.gen(function*() {
      assert.strictEqual((yield* asked({ body: "{\"choices\":[" })).tag, "NetworkError")
    }))

  it.effect("is a stream by its type, or without one", () =>
    Effect.gen(function*() {
      for (const type of ["text/event-stream", " text/event-stream; charset=utf-8", "TEXT/EVENT-STREAM", null]) {
        assert.deepStrictEqual(yield* streamed({ type, body: events }), { error: undefined, text: "Hi" }, `${type}`)
      }
      for (const type of ["application/json", "application/text/event-stream", "xtext/event-stream"]) {
        assert.deepStrictEqual(yield* streamed({ type, body: completion }), { error: undefined, text: "é€🌍" }, type)
      }
      // A failure is read whole, for any type: 300 is no answer.
      for (const [status, tag] of [[300, "InvalidRequestError"], [402, "QuotaExhaustedError"]] as const) {
        const { error } = yield* streamed({ type: "text/event-stream", status, body: events })
        assert.strictEqual(error?.reason._tag, tag)
        assert.strictEqual((yield* asked({ status, body: completion })).tag, tag)
      }
    }))

  it.effect("that is off the protocol is reported with status and headers", () =>
    Effect.gen(function*() {
      const { reason } = yield* asked({ headers: { server: "proxy" }, body: "<html>" })
      assert.isTrue(reason !== undefined && "http" in reason)
      assert.deepInclude(JSON.parse(JSON.stringify(reason)).http.response, { status: 200 })
      assert.strictEqual(JSON.parse(JSON.stringify(reason)).http.response.headers.server, "proxy")
      for (
        const body of [
          "{}",
          "[]",
          "{\"choices\":{}}",
          "{\"choices\":[{}]}",
          "{\"choices\":[{\"message\":{\"tool_calls\":[7]}}]}"
        ]
      ) {
        assert.strictEqual((yield* asked({ body })).tag, "InvalidResponseError", body)
      }
      for (const tool_calls of [[{ function: 7 }], [{ function: { name: 7 } }], [{ index: {} }], [{ id: {} }]]) {
        const body = JSON.stringify({ choices: [{ message: { tool_calls } }] })
        assert.strictEqual((yield* asked({ body })).tag, "InvalidResponseError", body)
        const { error } = yield* streamed({
          type: "text/event-stream",
          body: Server.event({ choices: [{ delta: { tool_calls } }] })
        })
        assert.strictEqual(error?.reason._tag, "InvalidResponseError", body)
      }
    }))
})

describe("a retry", () => {
  it.effect("of an answer is up to the caller, if configured", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const shouldRetry = ({ status }: { readonly status: number }) => {
        seen.push(status)
        return status === 418
      }
      const requests: Array<never> = []
      const layer = answering(
        [{ status: 418, body: "{}" }, { status: 503, body: "{}" }],
        { retry: { schedule: Schedule.spaced("0 millis"), shouldRetry } },
        requests
      )
      const error = yield* Effect.flip(Effect.asVoid(generate())).pipe(Effect.provide(layer))
      assert.include(String(error), "503")
      assert.deepStrictEqual([seen, requests.length], [[418, 503], 2])
    }))
})
