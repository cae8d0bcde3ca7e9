import { assert, describe, it } from "@effect/vitest"
import { AiSdk } from "@recourse/ai-sdk"
import { ProviderResponse } from "@recourse/core"
import { Cause, Duration, Effect, Exit, Fiber, Redacted, Schedule, Schema, Stream } from "effect"
import { type AiError, LanguageModel, type Response, Tool, Toolkit } from "effect/ai"
import * as TestServer from "./support/testServer.ts"
import { apiKey, type Provider, providers } from "./support/wires.ts"

const Add = Tool.make("add", {
  description: "Adds two numbers",
  parameters: Schema.Struct({ a: Schema.Int, b: Schema.Int }),
  success: Schema.Int
})
const toolkit = Toolkit.make(Add)
const good = `{"a":1,"b":2}`

const callOnce = LanguageModel.generateText({
  prompt: "Add 1 and 2",
  toolkit,
  disableToolCallResolution: true,
  toolCallValidation: "deferred"
})

const generate = Effect.asVoid(callOnce)

/** The parts that came, and how the stream ended. */
const collect = Effect.gen(function*() {
  const parts: Array<Response.AnyPart> = []
  const exit = yield* LanguageModel.streamText({
    prompt: "Add 1 and 2",
    toolkit,
    disableToolCallResolution: true,
    toolCallValidation: "deferred"
  }).pipe(Stream.runForEach((part) => Effect.sync(() => parts.push(part))), Effect.exit)
  return { parts, types: parts.map((part) => part.type), exit }
})

const failureOf = <A>(exit: Exit.Exit<A, AiError.AiError>): AiError.AiError => {
  assert.isTrue(Exit.isFailure(exit), "it should have failed")
  const error = Exit.isFailure(exit) ? Cause.findErrorOption(exit.cause) : undefined
  if (error?._tag !== "Some") throw new Error("no typed failure")
  return error.value
}

const assertNoSecrets = (error: AiError.AiError) => {
  for (const text of [error.message, String(error), error.reason.message, error.stack ?? ""]) {
    assert.notInclude(text, apiKey)
    assert.notInclude(text, "prose")
  }
}

const withModel = (provider: Provider, url: string) => Effect.provide(AiSdk.layer(provider.model(url)))

describe.each(providers)("$name", (provider) => {
  const { wire } = provider

  it.live("emits text at once and the tool call at the end", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(
        TestServer.events([...wire.begin, ...wire.call(good), ...wire.finish])
      )
      const { exit, parts, types } = yield* collect.pipe(withModel(provider, server.url))
      assert.isTrue(Exit.isSuccess(exit), String(exit))
      assert.strictEqual(parts.map((part) => part.type === "text-delta" ? part.delta : "").join(""), "Adding")
      assert.deepStrictEqual(types.slice(-2).filter((type) => type !== "text-end").slice(-1), ["finish"])
      const call = parts.find((part) => part.type === "tool-call")
      assert.deepInclude(call, { id: "call_1", name: "add", params: { a: 1, b: 2 }, providerExecuted: false })
      assert.isBelow(types.indexOf("text-start"), types.indexOf("tool-call"))
      assert.deepInclude(parts.find((part) => part.type === "finish"), { reason: "tool-calls" })
      assert.lengthOf(server.received, 1)
    }))

  it.live("a stream without its end mark fails and yields no call", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.events([...wire.begin, ...wire.call(good)]))
      const { exit, types } = yield* collect.pipe(withModel(provider, server.url))
      const error = failureOf(exit)
      assert.strictEqual(error.reason._tag, "NetworkError")
      assert.isTrue(error.isRetryable)
      assert.notInclude(types, "tool-call")
      assert.notInclude(types, "finish")
      assert.include(types, "text-delta")
    }))

  it.live("a stream that is cut in mid-text fails", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.events(wire.begin))
      const { exit, types } = yield* collect.pipe(withModel(provider, server.url))
      assert.strictEqual(failureOf(exit).reason._tag, "NetworkError")
      assert.notInclude(types, "finish")
    }))

  it.live("a stream without a single event fails", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.events([]))
      const { exit, types } = yield* collect.pipe(withModel(provider, server.url))
      assert.strictEqual(failureOf(exit).reason._tag, "NetworkError")
      assert.deepStrictEqual(types, [])
    }))

  it.live("a connection that is reset in mid-stream fails and yields no call", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.events([...wire.begin, ...wire.call(good)], "reset"))
      const { exit, types } = yield* collect.pipe(withModel(provider, server.url))
      const error = failureOf(exit)
      assert.strictEqual(error.reason._tag, "NetworkError")
      assert.isTrue(error.isRetryable)
      assert.notInclude(types, "tool-call")
    }))

  it.live("an error event inside a stream is that error", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(
        TestServer.events([...wire.begin, ...wire.call(good), wire.errorEvent.frame])
      )
      const { exit, types } = yield* collect.pipe(withModel(provider, server.url))
      const error = failureOf(exit)
      assert.strictEqual(error.reason._tag, wire.errorEvent.tag)
      assertNoSecrets(error)
      assert.notInclude(types, "tool-call")
    }))

  it.live("an event that is not JSON is an invalid response", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.events([...wire.begin, "data: {nonsense}\n\n"]))
      const { exit } = yield* collect.pipe(withModel(provider, server.url))
      const error = failureOf(exit)
      assert.strictEqual(error.reason._tag, "InvalidResponseError")
      assert.notInclude(error.message, "nonsense")
    }))

  if (wire.name !== "google") {
    it.live("malformed arguments come as their text, streamed", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.make(
          TestServer.events([...wire.begin, ...wire.call(`{"a":1,`), ...wire.finish])
        )
        const { exit, parts } = yield* collect.pipe(withModel(provider, server.url))
        assert.isTrue(Exit.isSuccess(exit), String(exit))
        assert.deepInclude(parts.find((part) => part.type === "tool-call"), { params: `{"a":1,` })
      }))
  }

  if (wire.name === "chat" || wire.name === "responses") {
    it.live("malformed arguments come as their text", () =>
      Effect.gen(function*() {
        const server = yield* TestServer.make(TestServer.json(wire.whole(`{"a":1,`)))
        const response = yield* callOnce.pipe(withModel(provider, server.url))
        assert.deepStrictEqual(response.toolCalls.map((call): unknown => call.params), [`{"a":1,`])
      }))
  }

  it.live("429 is a rate limit that keeps retry-after-ms", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.json(wire.error("rate_limit_exceeded"), {
        status: 429,
        headers: { "retry-after-ms": "1500", "retry-after": "60" }
      }))
      for (const run of [Effect.exit(generate), Effect.map(collect, (_) => _.exit)]) {
        const error = failureOf(yield* run.pipe(withModel(provider, server.url)))
        assert.strictEqual(error.reason._tag, "RateLimitError")
        assert.deepStrictEqual(error.retryAfter, Duration.millis(1500))
        assertNoSecrets(error)
      }
      assert.lengthOf(server.received, 2)
    }))

  it.live("529 is the provider's own failure, worth a retry, and keeps retry-after", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(
        TestServer.json(wire.error("overloaded_error"), { status: 529, headers: { "retry-after": "0.5" } })
      )
      for (const run of [Effect.exit(generate), Effect.map(collect, (_) => _.exit)]) {
        const error = failureOf(yield* run.pipe(withModel(provider, server.url)))
        assert.strictEqual(error.reason._tag, "InternalProviderError")
        assert.isTrue(error.isRetryable)
        assert.deepStrictEqual(error.retryAfter, Duration.millis(500))
        assertNoSecrets(error)
      }
    }))

  for (const status of [408, 409, 425, 500, 502, 503, 504]) {
    it.live(`${status} is worth a retry`, () =>
      Effect.gen(function*() {
        const server = yield* TestServer.make(TestServer.json("", { status }))
        const error = failureOf(yield* Effect.exit(generate).pipe(withModel(provider, server.url)))
        assert.strictEqual(error.reason._tag, "InternalProviderError")
        assert.isTrue(error.isRetryable)
      }))
  }

  it.live("401 is an authentication error without the key", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.json(wire.error("whatever"), { status: 401 }))
      const error = failureOf(yield* Effect.exit(generate).pipe(withModel(provider, server.url)))
      assert.strictEqual(error.reason._tag, "AuthenticationError")
      assert.isFalse(error.isRetryable)
      assertNoSecrets(error)
      // the operator has it all
      assert.include(Redacted.value(ProviderResponse.bodyOf(error)!), "prose")
    }))

  it.live("a code wins over its status", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(
        TestServer.json(wire.error(wire.authCode), { status: 400 }),
        ...(wire.quotaCode === undefined ? [] : [TestServer.json(wire.error(wire.quotaCode), { status: 429 })])
      )
      const model = withModel(provider, server.url)
      const first = failureOf(yield* Effect.exit(generate).pipe(model))
      assert.deepInclude(first.reason, { _tag: "AuthenticationError", kind: "InvalidKey" })
      if (wire.quotaCode !== undefined) {
        const second = failureOf(yield* Effect.exit(generate).pipe(model))
        assert.strictEqual(second.reason._tag, "QuotaExhaustedError")
        assert.isFalse(second.isRetryable)
      }
    }))

  it.live("a request that is refused is not retried", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.json(wire.error("whatever"), { status: 422 }))
      const error = failureOf(yield* Effect.exit(generate).pipe(withModel(provider, server.url)))
      assert.strictEqual(error.reason._tag, "InvalidRequestError")
      assert.isFalse(error.isRetryable)
      assertNoSecrets(error)
    }))

  it.live("200 with a body off the protocol is an invalid response", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.json("<html>prose</html>"), TestServer.json({ pro: "prose" }))
      // the packages for OpenAI Responses throw an error of no certain class for the latter
      for (
        const tag of ["InvalidResponseError", wire.name === "responses" ? "UnknownError" : "InvalidResponseError"]
      ) {
        const error = failureOf(yield* Effect.exit(generate).pipe(withModel(provider, server.url)))
        assert.strictEqual(error.reason._tag, tag)
        assert.isFalse(error.isRetryable)
        assertNoSecrets(error)
      }
    }))

  it.live("200 with a page instead of a stream is an invalid response", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(
        TestServer.json("<html>prose</html>", { headers: { "content-type": "text/html; charset=utf-8" } })
      )
      const { exit } = yield* collect.pipe(withModel(provider, server.url))
      const error = failureOf(exit)
      assert.strictEqual(error.reason._tag, "InvalidResponseError")
      assertNoSecrets(error)
    }))

  it.live("425 that says not to be retried is not", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(
        TestServer.json("", { status: 425, headers: { "x-should-retry": "false" } })
      )
      const error = failureOf(yield* Effect.exit(generate).pipe(withModel(provider, server.url)))
      assert.isFalse(error.isRetryable)
    }))

  it.live("a refused connection and a reset before the answer are network errors", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.reset)
      for (const url of [server.url, "http://127.0.0.1:1"]) {
        const error = failureOf(yield* Effect.exit(generate).pipe(withModel(provider, url)))
        assert.deepInclude(error.reason, { _tag: "NetworkError", reason: "TransportError" })
        assert.isTrue(error.isRetryable)
      }
    }))

  it.live("a body that is cut short is a network error", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make((response) => {
        response.writeHead(200, { "content-type": "application/json", "content-length": "1000" })
        response.write(`{"id":`)
        setTimeout(() => response.destroy(), 20)
      })
      const error = failureOf(yield* Effect.exit(generate).pipe(withModel(provider, server.url)))
      assert.deepInclude(error.reason, { _tag: "NetworkError", reason: "TransportError" })
    }))

  it.live("interruption aborts the request", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.silence)
      const fiber = yield* Effect.forkChild(generate.pipe(withModel(provider, server.url)))
      const request = yield* firstRequest(server)
      yield* Fiber.interrupt(fiber)
      yield* Effect.promise(() => request.closed)
    }))

  it.live("interruption aborts the request before and within a stream", () =>
    Effect.gen(function*() {
      const server = yield* TestServer.make(TestServer.silence, TestServer.events(wire.begin, "hang"))
      const model = withModel(provider, server.url)
      const waiting = yield* Effect.forkChild(collect.pipe(model))
      const first = yield* firstRequest(server)
      yield* Fiber.interrupt(waiting)
      yield* Effect.promise(() => first.closed)

      // a consumer that has seen enough ends the request too
      yield* LanguageModel.streamText({ prompt: "Add 1 and 2" }).pipe(
        Stream.filter((part) => part.type === "text-delta"),
        Stream.take(1),
        Stream.runDrain,
        model
      )
      assert.lengthOf(server.received, 2)
      yield* Effect.promise(() => server.received[1]!.closed)
    }))
})

const firstRequest = (server: TestServer.TestServer) =>
  Effect.suspend(() => {
    const request = server.received[0]
    return request === undefined ? Effect.fail("not yet") : Effect.succeed(request)
  }).pipe(Effect.retry({ times: 500, schedule: Schedule.spaced("10 millis") }))
