import { assert, describe, it } from "@effect/vitest"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Effect, Layer, Stream } from "effect"
import { FetchHttpClient } from "effect/http"
import { generate, ids, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

const whole = JSON.stringify({ choices: [{ message: { content: "fine" }, finish_reason: "stop" }] })
const events = [Server.chunk({ content: "fi" }), Server.chunk({ content: "ne" }), Server.chunk({}, "stop"), Server.done]

/** A `fetch` that sends these pieces, and sees how their reading ends. */
const watched = (pieces: ReadonlyArray<string>, type: string) => {
  const seen = { aborted: false, cancelled: false, sent: 0 }
  const fetch: typeof globalThis.fetch = async (_, init) => {
    init?.signal?.addEventListener("abort", () => {
      seen.aborted = true
    })
    const encoder = new TextEncoder()
    const body = new ReadableStream<Uint8Array>({
      pull: (controller) => {
        const piece = pieces[seen.sent++]
        if (piece === undefined) controller.close()
        else controller.enqueue(encoder.encode(piece))
      },
      cancel: () => {
        seen.cancelled = true
      }
    }, { highWaterMark: 0 })
    return new Response(body, { headers: { "content-type": type } })
  }
  const layer = OpenAiCompatible.layer({ baseUrl: "http://host/v1", model: "m", maxBodySize: 2_000 }).pipe(
    Layer.provide([FetchHttpClient.layer, ids]),
    Layer.provide(Layer.succeed(FetchHttpClient.Fetch, fetch))
  )
  return { layer: Layer.provideMerge(layer, Layer.succeed(FetchHttpClient.Fetch, fetch)), seen }
}

describe("the body of an answer", () => {
  it.effect("is read whole without an abort of its request", () =>
    Effect.gen(function*() {
      const { layer, seen } = watched([whole.slice(0, 9), whole.slice(9)], "application/json")
      const { text } = yield* Effect.provide(generate(), layer)
      assert.strictEqual(text, "fine")
      assert.deepStrictEqual(seen, { aborted: false, cancelled: false, sent: 3 })
    }))

  it.effect("is cancelled behind the end of a stream's answer", () =>
    Effect.gen(function*() {
      const { layer, seen } = watched([...events, Server.chunk({ content: "more" })], "text/event-stream")
      const parts = yield* Effect.provide(Stream.runCollect(stream()), layer)
      assert.deepStrictEqual(parts.map((part) => part.type === "text-delta" ? part.delta : "").join(""), "fine")
      assert.deepStrictEqual(seen, { aborted: false, cancelled: true, sent: 4 })
    }))

  it.effect("is cancelled if the reader of a stream leaves", () =>
    Effect.gen(function*() {
      const { layer, seen } = watched(events, "text/event-stream")
      yield* Effect.provide(
        Stream.runDrain(Stream.takeUntil(stream(), (part) => part.type === "text-delta")),
        layer
      )
      assert.isTrue(seen.cancelled)
      assert.isBelow(seen.sent, events.length)
    }))

  it.effect("is cancelled if it is larger than the limit", () =>
    Effect.gen(function*() {
      const { layer, seen } = watched(Array.from({ length: 20 }, () => " ".repeat(1_500)), "application/json")
      const error = yield* Effect.flip(Effect.provide(generate(), layer))
      assert.strictEqual(error._tag === "AiError" && error.reason._tag, "InvalidResponseError")
      assert.deepStrictEqual(seen, { aborted: false, cancelled: true, sent: 16 })
    }))
})
