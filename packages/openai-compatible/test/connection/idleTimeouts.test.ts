import { assert, describe, it } from "@effect/vitest"
import { FetchHttpClient, HttpClient, HttpClientResponse } from "effect/http"
import { NodeHttpClient } from "@effect/platform-node"
import { OpenAiCompatible } from "@recourse/openai-compatible"
import { Drive } from "@recourse/testing"
import { Clock, Duration, Effect, Layer, Schedule, Stream } from "effect"
import { generate, ids, model, observe, quick, stream } from "../support/harness.ts"
import * as Server from "../support/server.ts"

/** A server's steps: writes, waits for so many seconds, or is silent forever. */
type Step = string | number | "silence"

const second = 1000

/** A server in virtual time. Each request is answered with the next script, the last one again and again. */
const scripted = (type: string, status: number, scripts: ReadonlyArray<ReadonlyArray<Step>>, head = 0) => {
  const closed: Array<number> = []
  let requests = 0
  const client = HttpClient.make((request) =>
    Effect.gen(function*() {
      const script = scripts[Math.min(requests++, scripts.length - 1)]!
      yield* Effect.sleep(Duration.seconds(head))
      const number = requests
      const body = Stream.fromIterable(script).pipe(
        Stream.mapEffect((step) =>
          step === "silence"
            ? Effect.never
            : typeof step === "number"
            ? Effect.as(Effect.sleep(Duration.seconds(step)), "")
            : Effect.succeed(step)
        ),
        Stream.filter((text) => text !== ""),
        Stream.map((text) => new TextEncoder().encode(text)),
        Stream.ensuring(Effect.sync(() => closed.push(number)))
      )
      const readable = yield* Stream.toReadableStreamEffect(body, { strategy: { highWaterMark: 0 } })
      return HttpClientResponse.fromWeb(request, new Response(readable, { status, headers: { "content-type": type } }))
    })
  )
  return { client: Layer.succeed(HttpClient.HttpClient, client), closed, requests: () => requests }
}

interface Case {
  readonly scripts: ReadonlyArray<ReadonlyArray<Step>>
  readonly head?: number
  readonly status?: number
  readonly options?: Partial<OpenAiCompatible.Options>
  /** The time that each part is read for, in seconds. */
  readonly reading?: number
}

const run = (mode: "whole" | "stream", { head, options, reading, scripts, status }: Case) =>
  Effect.gen(function*() {
    const server = scripted(
      mode === "stream" ? "text/event-stream" : "application/json",
      status ?? 200,
      scripts,
      head
    )
    const layer = OpenAiCompatible.layer({ baseUrl: "http://host/v1", model: "m", ...quick, ...options }).pipe(
      Layer.provide([server.client, ids])
    )
    const call = mode === "stream"
      ? stream().pipe(Stream.tap(() => Effect.sleep(Duration.seconds(reading ?? 0))))
      : Stream.unwrap(Effect.map(generate(), (response) => Stream.fromIterable(response.content)))
    const { error, parts } = yield* Drive.drive(
      Effect.provide(observe<unknown, unknown, never>(call as never), layer),
      {
        step: "500 millis"
      }
    )
    const reason = (error as { reason?: { _tag: string; description?: string; message: string } } | undefined)?.reason
    return {
      parts: parts.map(({ type }) => type),
      text: parts.map(({ delta, text }) => delta ?? text ?? "").join(""),
      reason: reason?._tag,
      retryable: (error as { isRetryable?: boolean } | undefined)?.isRetryable,
      description: reason?.description,
      requests: server.requests(),
      closed: server.closed.length,
      seconds: Math.round((yield* Clock.currentTimeMillis) / second)
    }
  })

const half = Server.chunk({ content: "half" })
const end = [Server.chunk({}, "stop"), Server.done]
const body = JSON.stringify({ choices: [{ message: { content: "fine" }, finish_reason: "stop" }] })
const idle = "The server fell silent in the middle of its answer, for 1m"
const empty = "The server sent no content for 10m"

describe("a stream", () => {
  it.effect("that stalls fails after a minute, retryable, with a closed connection", () =>
    Effect.gen(function*() {
      const outcome = yield* run("stream", { scripts: [[half, "silence"]] })
      assert.deepInclude(outcome, {
        reason: "NetworkError",
        retryable: true,
        description: idle,
        requests: 1,
        closed: 1
      })
      assert.strictEqual(outcome.seconds, 60)
      assert.include(outcome.parts, "text-delta")
      assert.notInclude(outcome.parts, "finish")
    }))

  it.effect("that stops in the middle of a call yields no call", () =>
    Effect.gen(function*() {
      const call = Server.chunk({ tool_calls: [{ index: 0, id: "a", function: { name: "now", arguments: "{}" } }] })
      const outcome = yield* run("stream", { scripts: [[call, "silence"]] })
      assert.deepInclude(outcome, { reason: "NetworkError", description: idle, seconds: 60 })
      assert.notInclude(outcome.parts, "tool-call")
    }))

  it.effect("that is slow but not silent is read to its end", () =>
    Effect.gen(function*() {
      const slow = Array.from({ length: 20 }, () => [59, half]).flat()
      const outcome = yield* run("stream", { scripts: [[half, ...slow, 59, ...end]] })
      assert.deepInclude(outcome, { reason: undefined, text: "half".repeat(21), requests: 1 })
    }))

  it.effect("of pings is kept alive until the content timeout", () =>
    Effect.gen(function*() {
      const beats = [
        ": ping\n\n",
        Server.event({ type: "ping" }),
        Server.event({ choices: [] }),
        Server.chunk({ role: "assistant", content: "" })
      ]
      for (const beat of beats) {
        const alive = Array.from({ length: 15 }, () => [beat, 30]).flat()
        const good = yield* run("stream", { scripts: [[half, ...alive, half, ...alive, ...end]] })
        assert.deepInclude(good, { reason: undefined, text: "halfhalf" }, beat)
        const dead = yield* run("stream", { scripts: [[half, ...alive, ...alive, ...alive]] })
        assert.deepInclude(dead, { reason: "NetworkError", retryable: true, description: empty, requests: 1 }, beat)
      }
    }))

  it.effect("is kept alive by reasoning, call names, arguments and end reasons", () =>
    Effect.gen(function*() {
      const call = (more: object) => Server.chunk({ tool_calls: [{ index: 0, id: "a", function: more }] })
      const pieces = [
        Server.chunk({ reasoning_content: "Hm" }),
        call({ name: "now" }),
        call({ arguments: "[" }),
        Server.chunk({}, "stop")
      ]
      for (const piece of pieces) {
        const alive = Array.from({ length: 45 }, () => [piece, 30]).flat()
        const { reason } = yield* run("stream", { scripts: [[call({ name: "now" }), ...alive, ...end]] })
        assert.isUndefined(reason, piece)
      }
    }))

  it.effect("of which bytes have come, and no more, is silent", () =>
    Effect.gen(function*() {
      const outcome = yield* run("stream", { scripts: [[": ping\n\n", "silence"]] })
      assert.deepInclude(outcome, { reason: "NetworkError", description: idle, seconds: 60 })
    }))

  it.effect("that has not started may take longer: models think", () =>
    Effect.gen(function*() {
      const thinking = yield* run("stream", { scripts: [[500, half, ...end]], head: 90 })
      assert.deepInclude(thinking, { reason: undefined, text: "half" })
      const dead = yield* run("stream", { scripts: [["silence"]], head: 90 })
      assert.deepInclude(dead, { reason: "NetworkError", description: empty, retryable: true, requests: 1, closed: 1 })
    }))

  it.effect("without a head ends too", () =>
    Effect.gen(function*() {
      const outcome = yield* run("stream", { scripts: [[]], head: 10_000 })
      assert.deepInclude(outcome, { reason: "NetworkError", description: empty, requests: 1, seconds: 600 })
    }))

  it.effect("that is silent after its finish reason is whole", () =>
    Effect.gen(function*() {
      const outcome = yield* run("stream", { scripts: [[half, Server.chunk({}, "stop"), "silence"]] })
      assert.deepInclude(outcome, { reason: undefined, text: "half", seconds: 60, closed: 1 })
      assert.include(outcome.parts, "finish")
    }))

  it.effect("whose reader takes its time is not silent", () =>
    Effect.gen(function*() {
      const outcome = yield* run("stream", { scripts: [[half, half, half, ...end]], reading: 400 })
      assert.deepInclude(outcome, { reason: undefined, text: "halfhalfhalf" })
    }))

  it.effect("has the limits of its options, and of one request", () =>
    Effect.gen(function*() {
      const scripts = [[half, "silence"]] as const
      const short = yield* run("stream", { scripts, options: { idleTimeout: "5 seconds" } })
      assert.strictEqual(short.seconds, 5)
      const start = short.seconds
      const none = yield* run("stream", {
        scripts,
        options: { idleTimeout: "Infinity", contentTimeout: "5 minutes" }
      })
      assert.strictEqual(none.seconds - start, 300)
      const server = scripted("text/event-stream", 200, scripts)
      const { error } = yield* Drive.drive(
        observe(stream().pipe(Stream.provideService(OpenAiCompatible.ConfigOverride, { idleTimeout: "2 seconds" })))
          .pipe(
            Effect.provide(
              OpenAiCompatible.layer({ baseUrl: "http://host/v1", model: "m" }).pipe(
                Layer.provide([server.client, ids])
              )
            )
          )
      )
      assert.include(error?.reason.message, "for 2s")
    }))
})

describe("a whole answer", () => {
  it.effect("that stalls is asked for again", () =>
    Effect.gen(function*() {
      const outcome = yield* run("whole", { scripts: [[body.slice(0, 9), "silence"], [body]] })
      assert.deepInclude(outcome, { reason: undefined, text: "fine", requests: 2 })
      const dead = yield* run("whole", { scripts: [[body.slice(0, 9), "silence"]] })
      assert.deepInclude(dead, { reason: "NetworkError", retryable: true, description: idle, requests: 3, closed: 3 })
    }))

  it.effect("that has not started, or arrives slowly, may take longer", () =>
    Effect.gen(function*() {
      const dead = yield* run("whole", { scripts: [["silence"]] })
      assert.deepInclude(dead, { reason: "NetworkError", description: empty })
      const slow = body.split("").flatMap((letter) => [letter, 30])
      assert.deepInclude(yield* run("whole", { scripts: [slow] }), { reason: undefined, text: "fine" })
    }))

  it.effect("is kept open by blanks until the time for content has passed", () =>
    Effect.gen(function*() {
      const alive = Array.from({ length: 15 }, () => ["\n", 30]).flat()
      assert.deepInclude(yield* run("whole", { scripts: [[...alive, body]] }), { reason: undefined, text: "fine" })
      const dead = yield* run("whole", { scripts: [[...alive, ...alive, body]] })
      assert.deepInclude(dead, { reason: "NetworkError", description: empty, requests: 1 })
    }))

  it.effect("that failed is its status, even if its explanation stalls", () =>
    Effect.gen(function*() {
      const outcome = yield* run("whole", { scripts: [["{\"error\":", "silence"]], status: 400 })
      assert.deepInclude(outcome, { reason: "InvalidRequestError", requests: 1, seconds: 60 })
      const nothing = yield* run("whole", { scripts: [["silence"]], status: 400 })
      assert.deepInclude(nothing, { reason: "InvalidRequestError", requests: 1, seconds: 120 })
    }))
})

describe.each([
  ["fetch", FetchHttpClient.layer],
  ["node", NodeHttpClient.layerNodeHttp],
  ["undici", NodeHttpClient.layerUndici]
])("over %s, a server that stops in the middle", (_, client) => {
  it.live("is left, and its connection closed", () =>
    Effect.gen(function*() {
      const server = yield* Server.make({ chunks: [half], close: "hang" }, {
        headers: { "content-type": "application/json" },
        chunks: [body.slice(0, 9)],
        close: "hang"
      })
      const layer = OpenAiCompatible.layer({
        baseUrl: server.url,
        model: "m",
        retry: { schedule: Schedule.spaced("5 millis"), attempts: 2 },
        idleTimeout: "60 millis"
      }).pipe(Layer.provide([client, ids]))
      const { error, parts } = yield* observe(stream()).pipe(Effect.provide(layer))
      assert.include(error?.reason.message, "The server fell silent in the middle of its answer, for 60ms")
      assert.include(parts.map(({ type }) => type), "text-delta")
      const whole = yield* Effect.flip(generate().pipe(Effect.asVoid, Effect.provide(layer)))
      assert.include((whole as { message: string }).message, "The server fell silent in the middle of its answer")
      assert.strictEqual(server.requests.length, 3)
      yield* Effect.sleep("20 millis").pipe(
        Effect.repeat({ until: () => server.requests.every((request) => request.aborted()), times: 50 })
      )
      assert.isTrue(server.requests.every((request) => request.aborted()))
    }))
})

describe("the limits", () => {
  it.live("do not touch a good answer", () =>
    Effect.gen(function*() {
      const server = yield* Server.make(Server.completion({ content: "fine" }))
      const response = yield* generate().pipe(Effect.provide(model(server.url, { idleTimeout: "1 second" })))
      assert.strictEqual(response.text, "fine")
    }))
})
