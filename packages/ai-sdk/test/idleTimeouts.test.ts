import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider"
import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { Drive } from "@recourse/testing"
import { Clock, Duration, Effect, Schedule, Stream } from "effect"
import { LanguageModel, type Response } from "effect/ai"
import { finish, stop, usage } from "./support/models.ts"
import * as TestServer from "./support/testServer.ts"
import { providers } from "./support/wires.ts"

/** Parts, waits in seconds, or silence for ever. */
type Step = LanguageModelV4StreamPart | number | "silence"

/** A model in virtual time, and how often its requests were aborted. */
const timed = (steps: ReadonlyArray<Step>, head = 0) =>
  Effect.gen(function*() {
    const context = yield* Effect.context<never>()
    const run = Effect.runPromiseWith(context)
    let aborted = 0
    const model: LanguageModelV4 = {
      specificationVersion: "v4",
      provider: "test",
      modelId: "test-1",
      supportedUrls: {},
      doGenerate: async ({ abortSignal }) => {
        abortSignal?.addEventListener("abort", () => aborted++)
        await run(Effect.sleep(Duration.seconds(head)), { signal: abortSignal! })
        return { content: [{ type: "text", text: "fine" }], finishReason: stop, usage, warnings: [] }
      },
      doStream: async ({ abortSignal }) => {
        abortSignal?.addEventListener("abort", () => aborted++)
        await run(Effect.sleep(Duration.seconds(head)), { signal: abortSignal! })
        const parts = Stream.fromIterable(steps).pipe(
          Stream.mapEffect((step) =>
            step === "silence"
              ? Effect.never
              : typeof step === "number"
              ? Effect.sleep(Duration.seconds(step))
              : Effect.succeed(step)
          ),
          Stream.filter((part) => part !== undefined)
        )
        return { stream: await run(Stream.toReadableStreamEffect(parts, { strategy: { highWaterMark: 0 } })) }
      }
    }
    return { model, aborted: () => aborted }
  })

const stream = (steps: ReadonlyArray<Step>, options: AiSdk.ModelOptions = {}, head = 0) =>
  Effect.gen(function*() {
    const { aborted, model } = yield* timed(steps, head)
    const parts: Array<Response.AnyPart> = []
    const error = yield* LanguageModel.streamText({ prompt: "Hi" }).pipe(
      Stream.runForEach((part) => Effect.sync(() => parts.push(part))),
      Effect.match({ onSuccess: () => undefined, onFailure: (error) => error }),
      Effect.provide(AiSdk.layer(model, options)),
      (self) => Drive.drive(self, { step: "500 millis" })
    )
    return {
      types: parts.map(({ type }) => type),
      reason: error?.reason._tag,
      retryable: error?.isRetryable,
      description: error?.reason._tag === "NetworkError" ? error.reason.description : undefined,
      aborted: aborted(),
      seconds: Math.round((yield* Clock.currentTimeMillis) / 1000)
    }
  })

const begin: ReadonlyArray<LanguageModelV4StreamPart> = [
  { type: "stream-start", warnings: [] },
  { type: "raw", rawValue: {} },
  { type: "response-metadata", id: "1" }
]
const text: ReadonlyArray<LanguageModelV4StreamPart> = [
  { type: "text-start", id: "t" },
  { type: "text-delta", id: "t", delta: "half" }
]
const end: ReadonlyArray<LanguageModelV4StreamPart> = [{ type: "text-end", id: "t" }, finish]
const idle = "The server fell silent in the middle of its answer, for 1m"
const empty = "The server sent no content for 10m"

describe("a stream", () => {
  it.effect("that stalls fails after a minute, retryable, with an aborted request", () =>
    Effect.gen(function*() {
      const outcome = yield* stream([...begin, ...text, "silence"])
      assert.deepInclude(outcome, {
        reason: "NetworkError",
        retryable: true,
        description: idle,
        aborted: 1,
        seconds: 60
      })
      assert.include(outcome.types, "text-delta")
      assert.notInclude(outcome.types, "finish")
    }))

  it.effect("that stops behind a call yields no call", () =>
    Effect.gen(function*() {
      const outcome = yield* stream([
        ...begin,
        { type: "tool-call", toolCallId: "a", toolName: "add", input: "{}" },
        "silence"
      ])
      assert.deepInclude(outcome, { reason: "NetworkError", description: idle })
      assert.notInclude(outcome.types, "tool-call")
    }))

  it.effect("of pings is kept alive until the content timeout", () =>
    Effect.gen(function*() {
      const beats: ReadonlyArray<LanguageModelV4StreamPart> = [
        { type: "ping" },
        { type: "raw", rawValue: {} },
        { type: "text-delta", id: "t", delta: "" }
      ]
      for (const beat of beats) {
        const alive = Array.from({ length: 15 }, (): ReadonlyArray<Step> => [beat, 30]).flat()
        const good = yield* stream([...begin, ...text, ...alive, text[1]!, ...alive, ...end])
        assert.deepInclude(good, { reason: undefined })
        assert.include(good.types, "finish")
        const dead = yield* stream([...begin, ...text, ...alive, ...alive, ...end])
        assert.deepInclude(dead, { reason: "NetworkError", retryable: true, description: empty, aborted: 1 })
      }
    }))

  it.effect("may take longer to begin, and to begin to think", () =>
    Effect.gen(function*() {
      const thinking = yield* stream(
        [...begin, 200, { type: "reasoning-start", id: "r" }, 300, { type: "reasoning-end", id: "r" }, ...text, ...end],
        {},
        90
      )
      assert.deepInclude(thinking, { reason: undefined })
      const dead = yield* stream([...begin, "silence"])
      assert.deepInclude(dead, { reason: "NetworkError", description: empty, aborted: 1 })
      const headless = yield* stream([], {}, 10_000)
      assert.deepInclude(headless, { reason: "NetworkError", description: empty, aborted: 1 })
    }))

  it.effect("that is silent after its end is whole", () =>
    Effect.gen(function*() {
      const outcome = yield* stream([...begin, ...text, ...end, "silence"])
      assert.deepInclude(outcome, { reason: undefined, aborted: 1, seconds: 60 })
      assert.include(outcome.types, "finish")
    }))

  it.effect("has the limits of its options", () =>
    Effect.gen(function*() {
      const outcome = yield* stream([...begin, ...text, "silence"], { idleTimeout: "5 seconds" })
      assert.strictEqual(outcome.seconds, 5)
      const none = yield* stream([...begin, ...text, "silence"], { idleTimeout: "Infinity" })
      assert.deepInclude(none, { description: empty })
    }))
})

describe("a whole answer", () => {
  it.effect("is left after ten minutes, or as its options say", () =>
    Effect.gen(function*() {
      const { aborted, model } = yield* timed([], 10_000)
      for (const options of [{}, { contentTimeout: "1 minute" }] as const) {
        const error = yield* LanguageModel.generateText({ prompt: "Hi" }).pipe(
          Effect.provide(AiSdk.layer(model, options)),
          Effect.flip,
          (self) => Drive.drive(self, { step: "1 second" })
        )
        assert.strictEqual(error.reason._tag, "NetworkError")
        assert.isTrue(error.isRetryable)
      }
      assert.strictEqual(aborted(), 2)
      assert.strictEqual(yield* Clock.currentTimeMillis, 660_000)
    }))
})

describe.each(providers)("$name, whose server stops in the middle", (provider) => {
  it.live("is left, and its connection closed", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(
        TestServer.events([...provider.wire.begin, ...provider.wire.call("{}")], "hang")
      )
      const layer = AiSdk.layer(provider.model(server.url), { idleTimeout: "400 millis", contentTimeout: "600 millis" })
      const types: Array<string> = []
      const error = yield* LanguageModel.streamText({ prompt: "Hi" }).pipe(
        Stream.runForEach((part) => Effect.sync(() => types.push(part.type))),
        Effect.flip,
        Effect.provide(layer)
      )
      assert.include(error.message, "The server")
      assert.isTrue(error.isRetryable)
      assert.include(types, "text-delta")
      assert.notInclude(types, "tool-call")
      yield* Effect.retry(
        Effect.suspend(() => server.received.length === 1 ? Effect.void : Effect.fail("not yet")),
        { times: 5, schedule: Schedule.spaced("10 millis") }
      )
      yield* Effect.promise(() => server.received[0]!.closed)
    }))
})
