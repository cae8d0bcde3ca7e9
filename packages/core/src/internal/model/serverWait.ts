/**
 * Server wait: how long a server asks to wait before the next request, wherever it says so: in headers for waiting, in headers of rate
 * limits, or in the error of the body. Dates are measured against the server's own clock. Spellings are data; prose is not read.
 */
import * as Duration from "effect/Duration"
import * as Headers from "effect/http/Headers"
import * as Result from "effect/Result"
import { givenJson } from "../foundation/json/givenJson.ts"

/** The parts of an answer that may name a wait. */
export interface Answer {
  readonly status: number
  readonly headers: Headers.Headers
  /** The body: JSON as text, or its value. */
  readonly body?: unknown
}

/** The longest wait that is returned: a header can hold any number of digits, and sums and dates are made of it. */
const longestWait = 365 * 24 * 60 * 60 * 1000

const waitOf = (millis: number): Duration.Duration => Duration.millis(Math.min(Math.ceil(millis), longestWait))

const decimal = (value: string | undefined): number | undefined =>
  value !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined

/** The server's time in milliseconds, if it says it, else ours. */
const serverTime = (headers: Headers.Headers, now: number): number => {
  const date = Date.parse(headers["date"] ?? "")
  return Number.isNaN(date) ? now : date
}

const inMillis: ReadonlyArray<string> = ["retry-after-ms", "x-ms-retry-after-ms"]

/** The wait of `retry-after-ms`, else of `Retry-After`. */
export const retryAfter = (headers: Headers.Headers, now: number): Duration.Duration | undefined => {
  for (const name of inMillis) {
    const millis = decimal(headers[name])
    if (millis !== undefined) return waitOf(millis)
  }
  const value = headers["retry-after"]
  if (value === undefined) return undefined
  const seconds = decimal(value)
  if (seconds !== undefined) return waitOf(seconds * 1000)
  const parsed = Headers.parseRetryAfter(value)
  return Result.isSuccess(parsed)
    ? waitOf(Duration.toMillis(Headers.retryAfterDelay(parsed.success, serverTime(headers, now))))
    : undefined
}

const units: Readonly<Record<string, number>> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Milliseconds of a reset: a span such as `6m0.5s`, seconds, a time since the epoch, or an ISO date. */
const resetMillis = (text: string, now: number): number | undefined => {
  const value = text.trim()
  const number = decimal(value)
  if (number !== undefined) {
    if (number >= 1e11) return Math.max(0, number - now)
    return number >= 1e9 ? Math.max(0, number * 1000 - now) : number * 1000
  }
  if (/^(?:\d+(?:\.\d+)?(?:ms|s|m|h|d))+$/.test(value)) {
    return [...value.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h|d)/g)]
      .reduce((sum, [, amount, unit = ""]) => sum + Number(amount) * units[unit]!, 0)
  }
  const date = /^\d{4}-\d{2}-\d{2}T/.test(value) ? Date.parse(value) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Headers of a rate limit's reset, with `{}` for the limit's name, and the header of its remaining amount. */
const resets: ReadonlyArray<readonly [reset: string, remaining: string]> = [
  ["x-ratelimit-reset{}", "x-ratelimit-remaining{}"],
  ["x-rate-limit-reset{}", "x-rate-limit-remaining{}"],
  ["ratelimit-reset{}", "ratelimit-remaining{}"],
  ["anthropic-ratelimit{}-reset", "anthropic-ratelimit{}-remaining"]
]
const limits: ReadonlyArray<string> = [
  "",
  "-requests",
  "-tokens",
  "-input-tokens",
  "-output-tokens",
  "-requests-day",
  "-tokens-minute",
  "-after"
]

/** The fields of a `RateLimit` header: `limit=10, remaining=0, reset=5`, or `"default";r=0;t=5`. */
const combined = (value: string): ReadonlyArray<readonly [string | undefined, string | undefined]> =>
  value.split(/,(?=\s*")/).map((item) => {
    const field = (names: string) => new RegExp(`(?:^|[\\s,;])(?:${names})=(\\d+(?:\\.\\d+)?)`, "i").exec(item)?.[1]
    return [field("reset|t"), field("remaining|r")] as const
  })

/** The wait until the limits that are used up are reset; if none is known to be used up, until the first reset. */
const rateLimitReset = (headers: Headers.Headers, now: number): number | undefined => {
  const found = resets.flatMap(([reset, remaining]) =>
    limits.map((limit) => [headers[reset.replace("{}", limit)], headers[remaining.replace("{}", limit)]] as const)
  )
  const usedUp: Array<number> = []
  const others: Array<number> = []
  for (const [reset, remaining] of [...found, ...combined(headers["ratelimit"] ?? "")]) {
    const millis = reset === undefined ? undefined : resetMillis(reset, now)
    if (millis === undefined) continue
    if (decimal(remaining) === 0) usedUp.push(millis)
    else others.push(millis)
  }
  return usedUp.length > 0 ? Math.max(...usedUp) : others.length > 0 ? Math.min(...others) : undefined
}

const own = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined

const numeric = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isFinite(value) && value >= 0
    ? value
    : typeof value === "string"
    ? decimal(value)
    : undefined

/** A protobuf duration: `"2.5s"`, or its seconds and nanoseconds. */
const protobufMillis = (value: unknown): number | undefined => {
  if (typeof value === "string") return /^\d+(\.\d+)?s$/.test(value) ? Number(value.slice(0, -1)) * 1000 : undefined
  const seconds = numeric(own(value, "seconds"))
  return seconds === undefined ? undefined : seconds * 1000 + (numeric(own(value, "nanos")) ?? 0) / 1e6
}

const fields: ReadonlyArray<readonly [name: string, unit: number]> = [
  ["retry_after_ms", 1],
  ["retryAfterMs", 1],
  ["retry_after", 1000],
  ["retryAfter", 1000],
  ["retry_after_seconds", 1000]
]

const fieldMillis = (value: unknown): number | undefined => {
  for (const [name, unit] of fields) {
    const amount = numeric(own(value, name))
    if (amount !== undefined) return amount * unit
  }
  return undefined
}

/** Headers that a gateway passes on within the error, as fields. */
const innerHeaders = (error: unknown): Headers.Headers =>
  Headers.fromInput(
    Object.entries(own(own(error, "metadata"), "headers") ?? {}).flatMap(([name, value]): Array<[string, string]> =>
      typeof value === "string" || typeof value === "number" ? [[name, String(value)]] : []
    )
  )

const bodyWait = (answer: Answer, now: number): number | undefined => {
  const json = givenJson(answer.body)
  const body: unknown = Array.isArray(json) ? json[0] : json
  const error = own(body, "error") ?? body
  const details = own(error, "details")
  for (const detail of Array.isArray(details) ? details : []) {
    const millis = protobufMillis(own(detail, "retryDelay") ?? own(detail, "retry_delay"))
    if (millis !== undefined) return millis
  }
  const named = fieldMillis(error) ?? fieldMillis(own(error, "metadata")) ?? fieldMillis(body)
  if (named !== undefined) return named
  const headers = innerHeaders(error)
  const wait = retryAfter(headers, now)
  return wait !== undefined
    ? Duration.toMillis(wait)
    : answer.status === 429
    ? rateLimitReset(headers, now)
    : undefined
}

/** The wait that an answer asks for. Resets of rate limits count for status 429 alone: servers send them with every answer. */
export const serverWait = (answer: Answer, now: number): Duration.Duration | undefined => {
  const wait = retryAfter(answer.headers, now)
  if (wait !== undefined) return wait
  const clock = serverTime(answer.headers, now)
  const millis = bodyWait(answer, clock) ??
    (answer.status === 429 ? rateLimitReset(answer.headers, clock) : undefined)
  return millis === undefined ? undefined : waitOf(millis)
}
