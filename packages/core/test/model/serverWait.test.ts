/** Waits that servers request outside of `Retry-After`, in a table. */
import { assert, describe, it } from "@effect/vitest"
import { TransportRetry } from "@recourse/core"
import { Duration } from "effect"
import { Headers } from "effect/http"

const now = Date.UTC(2026, 0, 1)
const at = (millis: number) => new Date(now + millis)

interface Row {
  readonly headers?: Record<string, string>
  readonly body?: unknown
  readonly status?: number
  /** In milliseconds; absent without a request. */
  readonly wait: number | undefined
}

const retryInfo = (retryDelay: unknown) => ({
  error: { details: [{ reason: "x" }, { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay }] }
})

const rows: Readonly<Record<string, Row>> = {
  "a google.rpc.RetryInfo": { body: JSON.stringify(retryInfo("2.5s")), wait: 2500 },
  "a google.rpc.RetryInfo in a list": { body: JSON.stringify([retryInfo("2s")]), wait: 2000 },
  "a google.rpc.RetryInfo of seconds and nanoseconds": {
    body: retryInfo({ seconds: "1", nanos: 500_000_000 }),
    wait: 1500
  },
  "a field of the error": { body: { error: { retry_after: 3 } }, wait: 3000 },
  "a field of the body in milliseconds": { body: { retry_after_ms: 70 }, wait: 70 },
  "headers within the error": {
    body: { error: { metadata: { headers: { "X-RateLimit-Reset": String(now + 4000) } } } },
    wait: 4000
  },
  "a header over the body": { headers: { "retry-after": "1" }, body: retryInfo("9s"), wait: 1000 },
  "a span of requests": { headers: { "x-ratelimit-reset-requests": "6m0.5s" }, wait: 360_500 },
  "the span of the limit that is used up": {
    headers: {
      "x-ratelimit-remaining-requests": "9",
      "x-ratelimit-reset-requests": "20ms",
      "x-ratelimit-remaining-tokens": "0",
      "x-ratelimit-reset-tokens": "7.66s"
    },
    wait: 7660
  },
  "seconds since the epoch": { headers: { "x-ratelimit-reset": String(now / 1000 + 5) }, wait: 5000 },
  "milliseconds since the epoch": { headers: { "x-ratelimit-reset": String(now + 5000) }, wait: 5000 },
  "seconds of a draft": { headers: { "ratelimit-reset": "8" }, wait: 8000 },
  "fields of a draft": { headers: { ratelimit: "limit=10, remaining=0, reset=8" }, wait: 8000 },
  "fields of a later draft": { headers: { ratelimit: "\"a\";r=5;t=1, \"b\";r=0;t=9" }, wait: 9000 },
  "an ISO date": { headers: { "anthropic-ratelimit-tokens-reset": at(6000).toISOString() }, wait: 6000 },
  "a date of a server whose clock is behind": {
    headers: { date: at(-3_600_000).toUTCString(), "retry-after": at(-3_600_000 + 7000).toUTCString() },
    wait: 7000
  },
  "a reset of a server whose clock is ahead": {
    headers: { date: at(60_000).toUTCString(), "x-ratelimit-reset": String((now + 62_000) / 1000) },
    wait: 2000
  },
  "a reset in the past": { headers: { "x-ratelimit-reset": String(now / 1000 - 5) }, wait: 0 },
  "no reset of a failure that is no rate limit": {
    status: 500,
    headers: { "x-ratelimit-reset-requests": "6m0s" },
    wait: undefined
  },
  "no prose": { body: { error: { message: "Please retry in 20s" } }, wait: undefined },
  "no inherited field": { body: "{\"error\":{\"__proto__\":{\"retry_after\":3}}}", wait: undefined },
  "nothing that is no number": {
    headers: { "x-ratelimit-reset": "soon", "x-ratelimit-reset-tokens": "-1s" },
    body: "{",
    wait: undefined
  }
}

describe("a wait that a server asks for", () => {
  for (const [title, { body, headers = {}, status = 429, wait }] of Object.entries(rows)) {
    it(`is read from ${title}`, () => {
      const asked = TransportRetry.serverWait({ status, headers: Headers.fromInput(headers), body }, now)
      assert.strictEqual(asked && Duration.toMillis(asked), wait)
    })
  }
})
