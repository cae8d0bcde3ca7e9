import { assert, describe, it } from "@effect/vitest"
import { Cause, Clock, Duration, Effect, Exit, Fiber, Layer, Random, Ref, Schedule, Stream } from "effect"
import { Headers, HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TransportRetry } from "@recourse/core"
import { TestClock } from "effect/testing"

type Reply =
  | { readonly status: number; readonly headers?: Record<string, string>; readonly body?: BodyInit }
  | "refused"
  | "timeout"

const connectionError = (request: HttpClientRequest.HttpClientRequest, cause: unknown) =>
  new HttpClientError.HttpClientError({ reason: new HttpClientError.TransportError({ request, cause }) })

/** A client that plays the replies (the last one again and again) and notes the virtual time of each request. */
const scripted = (...replies: ReadonlyArray<Reply>) => {
  const at: Array<number> = []
  const client = HttpClient.make((request) =>
    Effect.gen(function*() {
      at.push(yield* Clock.currentTimeMillis)
      const reply = replies[Math.min(at.length, replies.length) - 1]!
      if (reply === "refused") {
        return yield* connectionError(request, Object.assign(new Error("x"), { code: "ECONNREFUSED" }))
      }
      if (reply === "timeout") {
        return yield* connectionError(request, new DOMException("x", "TimeoutError"))
      }
      return HttpClientResponse.fromWeb(
        request,
        new Response(reply.body ?? null, { status: reply.status, headers: reply.headers ?? {} })
      )
    })
  )
  return { client, at }
}

const drive = <A, E, R>(effect: Effect.Effect<A, E, R>, step: Duration.Input = "1 millis", max = 5_000) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    for (let i = 0; i < max && fiber.pollUnsafe() === undefined; i++) yield* TestClock.adjust(step)
    return yield* Fiber.join(fiber)
  })

const exact = Schedule.exponential("250 millis")
const url = "http://user:pass@models.test:8080/v1/chat?key=secret"

describe("TransportRetry", () => {
  describe("repeated requests", () => {
    for (const status of [408, 409, 429, 500, 502, 503, 504, 529, 599]) {
      it.effect(`status ${status}: makes three attempts at 0, 250, 750 ms, then returns the response`, () =>
        Effect.gen(function*() {
          const { client, at } = scripted({ status })
          const response = yield* drive(TransportRetry.transform(client, { schedule: exact }).get(url))
          assert.strictEqual(response.status, status)
          assert.deepStrictEqual(at, [0, 250, 750])
        }))
    }

    for (const status of [200, 204, 301, 400, 401, 403, 404, 418, 422, 425]) {
      it.effect(`status ${status}: one attempt`, () =>
        Effect.gen(function*() {
          const { client, at } = scripted({ status })
          const response = yield* TransportRetry.transform(client).get(url)
          assert.strictEqual(response.status, status)
          assert.deepStrictEqual(at, [0])
        }))
    }

    it.each([
      [407, false],
      [408, true],
      [409, true],
      [410, false],
      [429, true],
      [499, false],
      [500, true],
      [599, true],
      [600, false]
    ])("isRetryableStatus(%s) is %s", (status, isRetryable) => {
      assert.strictEqual(TransportRetry.isRetryableStatus(status), isRetryable)
    })

    it.effect("a connection error; on exhaustion the same error surfaces", () =>
      Effect.gen(function*() {
        const { client, at } = scripted("refused")
        const error = yield* drive(Effect.flip(TransportRetry.transform(client, { schedule: exact }).get(url)))
        assert.strictEqual(error._tag, "HttpClientError")
        assert.strictEqual(error.reason._tag, "TransportError")
        assert.strictEqual(TransportRetry.errorCode(error), "ECONNREFUSED")
        assert.deepStrictEqual(at, [0, 250, 750])
      }))

    it.effect("a status made into an error below", () =>
      Effect.gen(function*() {
        const { client, at } = scripted({ status: 503, headers: { "retry-after-ms": "400" } }, { status: 200 })
        const response = yield* drive(
          TransportRetry.transform(HttpClient.filterStatusOk(client), { schedule: exact }).get(url)
        )
        assert.strictEqual(response.status, 200)
        assert.deepStrictEqual(at, [0, 400])
      }))

    it.effect("not a timeout, neither the client's nor the caller's", () =>
      Effect.gen(function*() {
        const first = scripted("timeout")
        yield* Effect.flip(TransportRetry.transform(first.client).get(url))
        assert.deepStrictEqual(first.at, [0])

        const second = scripted({ status: 503 })
        const slow = HttpClient.transformResponse(second.client, (send) =>
          Effect.andThen(send, Effect.sleep("5 seconds")).pipe(Effect.andThen(send), Effect.timeout("2 seconds")))
        const error = yield* drive(Effect.flip(TransportRetry.transform(slow).get(url)), "1 second")
        assert.isTrue(Cause.isTimeoutError(error))
        assert.deepStrictEqual(second.at, [0])
      }))

    it.effect.each<readonly [name: string, cause: unknown, code: string | undefined, isRepeated: boolean]>([
      ["without a cause", undefined, undefined, true],
      ["that is a text", "broken", undefined, true],
      ["with a code that is no text", { code: 7 }, undefined, true],
      ["with a code", { code: "ECONNRESET" }, "ECONNRESET", true],
      ["with a code further within", { cause: { code: 7, cause: { code: "EPIPE" } } }, "EPIPE", true],
      ["with a reason that has a code", { code: null, reason: { code: "EPIPE" } }, "EPIPE", true],
      ["with a reason in words, and a cause", { reason: "odd", cause: { code: "EPIPE" } }, "EPIPE", true],
      ["with nothing as its reason", { reason: null, cause: { code: "EPIPE" } }, undefined, true],
      ["that waited for headers", { code: "UND_ERR_HEADERS_TIMEOUT" }, "UND_ERR_HEADERS_TIMEOUT", false],
      [
        "that waited for a body",
        new Error("x", { cause: { code: "UND_ERR_BODY_TIMEOUT" } }),
        "UND_ERR_BODY_TIMEOUT",
        false
      ],
      ["that took too long by its name", { name: "TimeoutError" }, undefined, false]
    ])(
      "a connection error %s, of which a timeout alone is not repeated",
      ([, cause, code, isRepeated]) =>
        Effect.gen(function*() {
          let requests = 0
          const client = HttpClient.make((request) =>
            Effect.suspend(() => {
              requests++
              return Effect.fail(connectionError(request, cause))
            })
          )
          const seen: Array<unknown> = []
          const error = yield* drive(
            Effect.flip(TransportRetry.transform(client, { schedule: exact }).get(url)).pipe(
              Effect.provideService(TransportRetry.Observer, ({ failure }) => Effect.sync(() => seen.push(failure)))
            )
          )
          assert.strictEqual(requests, isRepeated ? 3 : 1)
          assert.strictEqual(TransportRetry.errorCode(error), code)
          assert.deepStrictEqual(seen, isRepeated ? [{ _tag: "Transport", code }, { _tag: "Transport", code }] : [])
        })
    )

    it("errorCode searches eight levels, also for an error that causes itself", () => {
      const within = (levels: number): unknown => levels === 0 ? { code: "EPIPE" } : { cause: within(levels - 1) }
      assert.strictEqual(TransportRetry.errorCode(within(7)), "EPIPE")
      assert.isUndefined(TransportRetry.errorCode(within(8)))
      const round: { cause?: unknown } = {}
      round.cause = round
      assert.isUndefined(TransportRetry.errorCode(round))
      for (const none of [undefined, null, "ECONNRESET", 7]) assert.isUndefined(TransportRetry.errorCode(none))
    })

    it.effect("passes errors without a connection, and causes with several reasons", () =>
      Effect.gen(function*() {
        let runs = 0
        const once = <E>(cause: Cause.Cause<E>) =>
          Effect.exit(TransportRetry.retry(Effect.suspend(() => {
            runs++
            return Effect.failCause(cause)
          })))
        const request = HttpClientRequest.get(url)
        const refused = connectionError(request, { code: "ECONNREFUSED" })
        const odd = new HttpClientError.HttpClientError({
          reason: new HttpClientError.InvalidUrlError({ request, cause: new Error("x") })
        })
        for (
          const cause of [
            Cause.fail(odd),
            Cause.combine(Cause.fail(refused), Cause.die("bug")),
            Cause.combine(Cause.die("bug"), Cause.fail(refused)),
            Cause.combine(Cause.fail(refused), Cause.fail(connectionError(request, "reset"))),
            Cause.die(refused)
          ]
        ) {
          const before = runs
          assert.deepStrictEqual(yield* drive(once<unknown>(cause)), Exit.failCause(cause))
          assert.strictEqual(runs, before + 1)
        }
      }))

    it.effect("repeats no answer below 400; 400 only if header or override allows", () =>
      Effect.gen(function*() {
        for (const [status, requests] of [[200, 1], [304, 1], [399, 1], [400, 3]] as const) {
          for (const [headers, shouldRetry] of [[{ "x-should-retry": "true" }, false], [{}, true]] as const) {
            const { client, at } = scripted({ status, headers })
            yield* drive(
              TransportRetry.transform(client, { schedule: exact, shouldRetry: () => shouldRetry }).get(url)
            )
            assert.strictEqual(at.length, requests, `${status}`)
          }
        }
      }))

    it.effect("retry throws an answer away, and asks again", () =>
      Effect.gen(function*() {
        const { client, at } = scripted({ status: 503 }, { status: 200 })
        const answer = yield* drive(TransportRetry.retry(client.get(url), { schedule: exact }))
        assert.strictEqual(answer.status, 200)
        assert.deepStrictEqual(at, [0, 250])
      }))

    it.effect("a timeout around it ends attempts and waits together", () =>
      Effect.gen(function*() {
        const { client, at } = scripted({ status: 503 })
        const exit = yield* drive(
          TransportRetry.transform(client, { schedule: exact, attempts: 10 }).get(url).pipe(
            Effect.timeout("1 second"),
            Effect.exit
          )
        )
        assert.isTrue(Exit.isFailure(exit))
        assert.deepStrictEqual(at, [0, 250, 750])
      }))

    it.effect("a defect and an error of another kind go through untouched", () =>
      Effect.gen(function*() {
        let runs = 0
        const odd = Effect.suspend(() => {
          runs++
          return Effect.fail("odd" as const)
        })
        const failed: "odd" = yield* Effect.flip(TransportRetry.retry(odd))
        assert.strictEqual(failed, "odd")
        const exit = yield* Effect.exit(TransportRetry.retry(Effect.suspend(() => {
          runs++
          return Effect.die("bug")
        })))
        assert.isTrue(Exit.hasDies(exit))
        assert.strictEqual(runs, 2)
      }))

    it.effect("x-should-retry outranks the status and the override", () =>
      Effect.gen(function*() {
        const no = scripted({ status: 503, headers: { "x-should-retry": "false" } })
        yield* TransportRetry.transform(no.client, { shouldRetry: () => true }).get(url)
        assert.deepStrictEqual(no.at, [0])
        const yes = scripted({ status: 418, headers: { "x-should-retry": "true" } }, { status: 200 })
        yield* drive(TransportRetry.transform(yes.client, { schedule: exact, shouldRetry: () => false }).get(url))
        assert.deepStrictEqual(yes.at, [0, 250])
      }))

    it.effect("shouldRetry overrides the status", () =>
      Effect.gen(function*() {
        const { client, at } = scripted({ status: 429 })
        yield* TransportRetry.transform(client, { shouldRetry: ({ status }) => status === 429 ? false : undefined })
          .get(url)
        assert.deepStrictEqual(at, [0])
      }))
  })

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
