/** Requests that are sent again, over HTTP. */

import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { codeOf, http, post, until } from "../support/shopServer.ts"

const version = { "mcp-protocol-version": "2025-11-25" }

/** Begins a session; answers the headers of its requests. */
const session = (url: URL) =>
  Effect.gen(function*() {
    const { session } = yield* post(url, {
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } }
    })
    const headers = { ...version, "mcp-session-id": session }
    yield* post(url, { jsonrpc: "2.0", method: "notifications/initialized" }, headers)
    return headers
  })

const charge = (id: number, order: string, meta?: Record<string, unknown>) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name: "charge", arguments: { order }, ...(meta === undefined ? undefined : { _meta: meta }) }
})

describe("requests that are sent again, over HTTP", () => {
  it.live(
    "equal requests of a session are one call; others are separate",
    () =>
      Effect.gen(function*() {
        const { done, url } = yield* http
        const one = yield* session(url)
        const two = yield* session(url)
        yield* Effect.all([post(url, charge(1, "A-1"), one), post(url, charge(1, "A-1"), one)], { concurrency: 2 })
        const again = yield* post(url, charge(1, "A-1"), one)
        assert.strictEqual(again.body.result.content[0].text, "charged")
        assert.deepStrictEqual(done(), ["charge A-1"])
        yield* post(url, charge(1, "A-1"), two)
        yield* post(url, charge(1, "A-2"), one)
        yield* post(url, charge(2, "A-1"), one)
        assert.deepStrictEqual(done(), ["charge A-1", "charge A-1", "charge A-2", "charge A-1"])
      }).pipe(Effect.scoped),
    30_000
  )

  it.live("a write with a broken connection is unknown and not rerun", () =>
    Effect.gen(function*() {
      const { done, url } = yield* http
      const headers = yield* session(url)
      const abort = new AbortController()
      yield* Effect.forkChild(Effect.exit(post(url, charge(1, "slow"), headers, abort.signal)))
      yield* until(() => done().includes("charge slow"))
      abort.abort()
      yield* until(() => done().includes("interrupted slow"))
      assert.strictEqual(codeOf(yield* post(url, charge(1, "slow"), headers)), "outcome_unknown")
      assert.deepStrictEqual(done(), ["charge slow", "interrupted slow"])
    }).pipe(Effect.scoped), 30_000)

  it.live("a call runs as long as one of its requests waits", () =>
    Effect.gen(function*() {
      const { done, requests, url } = yield* http
      const headers = yield* session(url)
      const abort = new AbortController()
      yield* Effect.forkChild(Effect.exit(post(url, charge(1, "slow"), headers, abort.signal)))
      yield* until(() => done().includes("charge slow"))
      const before = requests()
      const second = new AbortController()
      const waits = yield* Effect.forkChild(Effect.exit(post(url, charge(1, "slow"), headers, second.signal)))
      yield* until(() => requests() > before)
      yield* Effect.sleep(50)
      abort.abort()
      yield* Effect.sleep(50)
      assert.deepStrictEqual(done(), ["charge slow"])
      assert.isUndefined(waits.pollUnsafe())
      second.abort()
      yield* until(() => done().includes("interrupted slow"))
    }).pipe(Effect.scoped), 30_000)

  it.live("an idempotency key belongs to one client", () =>
    Effect.gen(function*() {
      const { done, url } = yield* http
      const key = { "recourse/idempotency-key": "k" }
      const anna = { ...yield* session(url), authorization: "Bearer anna" }
      const anna2 = { ...yield* session(url), authorization: "Bearer anna" }
      const bert = { ...yield* session(url), authorization: "Bearer bert" }
      yield* post(url, charge(1, "A-1", key), anna)
      yield* post(url, charge(7, "A-1", key), anna2)
      assert.deepStrictEqual(done(), ["charge A-1"])
      yield* post(url, charge(1, "A-1", key), bert)
      assert.deepStrictEqual(done(), ["charge A-1", "charge A-1"])
      const wrong = yield* post(url, charge(2, "A-1", { "recourse/idempotency-key": 5 }), anna)
      assert.isTrue(wrong.body.result.isError)
    }).pipe(Effect.scoped), 30_000)
})
