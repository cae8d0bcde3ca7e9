import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import { HttpClient, HttpClientError, HttpClientRequest } from "effect/http"
import { TransportRetry } from "@recourse/core"
import { connectionError, drive, exact, scripted, url } from "../support/scriptedTransport.ts"

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
})
