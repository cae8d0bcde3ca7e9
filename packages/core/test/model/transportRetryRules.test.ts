/** Waits, observers, bodies and composition of the transport's retries. */

import { assert, describe, it } from "@effect/vitest"
import { Clock, Duration, Effect, Exit, Fiber, Layer, Random, Ref, Schedule, Stream } from "effect"
import { Headers, HttpClient, HttpClientResponse } from "effect/http"
import { TransportRetry } from "@recourse/core"
import { TestClock } from "effect/testing"
import { connectionError, drive, exact, scripted, url } from "../support/scriptedTransport.ts"

describe("TransportRetry", () => {
  describe("how long is waited", () => {
    const cases: ReadonlyArray<readonly [string, Record<string, string>, number]> = [
      ["retry-after in seconds", { "retry-after": "2" }, 2000],
      ["retry-after in fractions of a second", { "retry-after": "1.2345" }, 1235],
      ["retry-after as a date", { "retry-after": "Thu, 01 Jan 1970 00:00:03 GMT" }, 3000],
      ["retry-after-ms before retry-after", { "retry-after-ms": "1300", "retry-after": "2" }, 1300],
      ["an unreadable retry-after-ms is skipped", { "retry-after-ms": "soon", "retry-after": "2" }, 2000],
      ["the backoff if the server asks for less", { "retry-after-ms": "10" }, 250],
      ["the backoff if the header is unreadable", { "retry-after": "soon" }, 250],
      ["the backoff if the date is past", { "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }, 250]
    ]
    for (const [name, headers, expected] of cases) {
      it.effect(`${name}: ${expected} ms`, () =>
        Effect.gen(function*() {
          const { client, at } = scripted({ status: 429, headers }, { status: 200 })
          yield* drive(TransportRetry.transform(client, { schedule: exact }).get(url))
          assert.deepStrictEqual(at, [0, expected])
        }))
    }

    it.effect("waits up to 60 seconds; above it returns the response at once", () =>
      Effect.gen(function*() {
        const within = scripted({ status: 429, headers: { "retry-after": "60" } }, { status: 200 })
        yield* drive(TransportRetry.transform(within.client).get(url), "1 second")
        assert.deepStrictEqual(within.at, [0, 60_000])

        const above = scripted({ status: 429, headers: { "retry-after": "61" } })
        const response = yield* TransportRetry.transform(above.client).get(url)
        assert.deepStrictEqual(above.at, [60_000])
        assert.deepStrictEqual(TransportRetry.retryAfter(response.headers, 0), Duration.seconds(61))
      }))

    it.effect("up to the user's own limit", () =>
      Effect.gen(function*() {
        const { client, at } = scripted({ status: 503, headers: { "retry-after": "2" } })
        yield* TransportRetry.transform(client, { maxRetryAfter: "1999 millis" }).get(url)
        assert.deepStrictEqual(at, [0])
      }))

    it.effect("the default jitters by 20 %, from the Random of the context", () =>
      Effect.gen(function*() {
        const run = (seed: string) =>
          Effect.gen(function*() {
            const { client, at } = scripted({ status: 503 })
            const start = yield* Clock.currentTimeMillis
            yield* drive(TransportRetry.transform(client).get(url).pipe(Random.withSeed(seed)))
            return at.map((time) => time - start)
          })
        const [first, second, third] = [yield* run("a"), yield* run("a"), yield* run("b")]
        assert.deepStrictEqual(first, second)
        assert.notDeepEqual(first, third)
        for (const [, one, two] of [first, third]) {
          assert.isTrue(one! >= 200 && one! <= 300, `${one}`)
          assert.isTrue(two! - one! >= 400 && two! - one! <= 600, `${two! - one!}`)
        }
      }))

    it.effect("a schedule that ends, ends the attempts", () =>
      Effect.gen(function*() {
        const { client, at } = scripted({ status: 503 })
        const schedule = Schedule.spaced("10 millis").pipe(Schedule.upTo({ times: 1 }))
        yield* drive(TransportRetry.transform(client, { schedule, attempts: 9 }).get(url))
        assert.deepStrictEqual(at, [0, 10])
      }))
  })

  it.effect("the observer sees each wait before it, without path, query or credentials", () =>
    Effect.gen(function*() {
      const seen = yield* Ref.make<ReadonlyArray<TransportRetry.Retry & { readonly now: number }>>([])
      const { client } = scripted("refused", { status: 429, headers: { "retry-after": "2" } }, { status: 200 })
      yield* drive(
        TransportRetry.transform(client, { schedule: exact }).post(url).pipe(
          Effect.provideService(TransportRetry.Observer, (retry) =>
            Effect.flatMap(Clock.currentTimeMillis, (now) =>
              Ref.update(seen, (all) => [...all, { ...retry, now }])))
        )
      )
      assert.deepStrictEqual(yield* Ref.get(seen), [
        {
          attempt: 1,
          maxAttempts: 3,
          delay: Duration.millis(250),
          failure: { _tag: "Transport", code: "ECONNREFUSED" },
          retryAfter: undefined,
          method: "POST",
          host: "models.test:8080",
          now: 0
        },
        {
          attempt: 2,
          maxAttempts: 3,
          delay: Duration.millis(2000),
          failure: { _tag: "Status", status: 429 },
          retryAfter: Duration.millis(2000),
          method: "POST",
          host: "models.test:8080",
          now: 250
        }
      ])
    }))

  it.effect("an observer that dies ends the request at once", () =>
    Effect.gen(function*() {
      const { client, at } = scripted({ status: 503 })
      const exit = yield* TransportRetry.transform(client).get(url).pipe(
        Effect.provideService(TransportRetry.Observer, () => Effect.die("budget")),
        Effect.exit
      )
      assert.isTrue(Exit.hasDies(exit))
      assert.deepStrictEqual(at, [0])
    }))

  it.effect("two of them around each other do not multiply", () =>
    Effect.gen(function*() {
      const { client, at } = scripted({ status: 503 })
      const twice = TransportRetry.transform(TransportRetry.transform(client, { attempts: 5 }), { schedule: exact })
      yield* drive(twice.get(url))
      assert.deepStrictEqual(at, [0, 250, 750])
    }))

  it.effect("releases a discarded answer and leaves the last one to the caller", () =>
    Effect.gen(function*() {
      const cancelled: Array<number> = []
      let number = 0
      const client = HttpClient.make((request, _url, signal) =>
        Effect.sync(() => {
          const id = ++number
          signal.addEventListener("abort", () => cancelled.push(id))
          return HttpClientResponse.fromWeb(request, new Response(`body ${id}`, { status: 503 }))
        })
      )
      const response = yield* drive(TransportRetry.transform(client, { schedule: exact }).get(url))
      assert.deepStrictEqual(cancelled, [1, 2])
      assert.strictEqual(yield* response.text, "body 3")
    }))

  it.effect("sends no request after an interruption during a wait", () =>
    Effect.gen(function*() {
      const { client, at } = scripted({ status: 503 })
      const fiber = yield* Effect.forkChild(TransportRetry.transform(client, { schedule: exact }).get(url), {
        startImmediately: true
      })
      yield* TestClock.adjust("100 millis")
      yield* Fiber.interrupt(fiber)
      yield* TestClock.adjust("10 seconds")
      assert.deepStrictEqual(at, [0])
    }))

  it.effect("layer wraps the client of the context", () =>
    Effect.gen(function*() {
      const { client, at } = scripted({ status: 503 }, { status: 200 })
      const response = yield* drive(
        HttpClient.get(url).pipe(
          Effect.provide(
            TransportRetry.layer({ schedule: exact }).pipe(Layer.provide(Layer.succeed(HttpClient.HttpClient, client)))
          )
        )
      )
      assert.strictEqual(response.status, 200)
      assert.deepStrictEqual(at, [0, 250])
    }))

  it.effect("retry takes a whole attempt, the body included", () =>
    Effect.gen(function*() {
      const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("x")) })
      const { client, at } = scripted({ status: 200, body: broken }, { status: 200, body: "whole" })
      const attempt = client.get(url).pipe(
        Effect.flatMap((response) =>
          response.stream.pipe(
            Stream.decodeText(),
            Stream.mkString,
            Effect.map((text) => ({
              status: response.status,
              headers: response.headers,
              request: response.request,
              text
            })),
            Effect.mapError((error) => connectionError(response.request, error))
          )
        )
      )
      const answer = yield* drive(TransportRetry.retry(attempt, { schedule: exact }))
      assert.strictEqual(answer.text, "whole")
      assert.deepStrictEqual(at, [0, 250])
    }))

  it("retryAfter is a year at most", () => {
    const year = Duration.days(365)
    for (
      const [asked, told] of [["31536000", year], ["31535999", Duration.seconds(31_535_999)], [
        "9".repeat(300),
        year
      ]] as const
    ) {
      assert.deepStrictEqual(TransportRetry.retryAfter(Headers.fromInput({ "retry-after": asked }), 0), told)
    }
  })

  it("retryAfter reads no negative, empty or infinite value", () => {
    for (const value of ["", "-1", "Infinity", "1e3", "NaN"]) {
      assert.isUndefined(
        TransportRetry.retryAfter(Headers.fromInput({ "retry-after": value, "retry-after-ms": value }), 0)
      )
    }
  })
})
