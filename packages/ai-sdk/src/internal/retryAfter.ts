import { Duration, Option, Result } from "effect"
import * as Headers from "effect/http/Headers"

const decimal = /^\d+(\.\d+)?$/

/**
 * How long the server asks to wait, measured from `now` (epoch milliseconds). `retry-after-ms` is more exact than
 * `retry-after` and wins; `retry-after` may be whole or fractional seconds, or an HTTP-date. Anything else is ignored.
 */
export const fromHeaders = (headers: Headers.Headers, now: number): Duration.Duration | undefined => {
  const millis = Option.getOrElse(Headers.get(headers, "retry-after-ms"), () => "").trim()
  if (decimal.test(millis)) return Duration.millis(Math.ceil(Number(millis)))
  const value = Option.getOrElse(Headers.get(headers, "retry-after"), () => "").trim()
  if (decimal.test(value)) return Duration.millis(Math.ceil(Number(value) * 1000))
  return Option.getOrUndefined(
    Option.map(Result.getSuccess(Headers.parseRetryAfter(value)), (parsed) => Headers.retryAfterDelay(parsed, now))
  )
}

/** A protobuf `Duration` in JSON, as in Google's `RetryInfo.retryDelay`: seconds with an `s`, e.g. `"34.07s"`. */
export const fromProtobuf = (value: unknown): Duration.Duration | undefined => {
  if (typeof value !== "string" || !value.endsWith("s") || !decimal.test(value.slice(0, -1))) return undefined
  return Duration.millis(Math.ceil(Number(value.slice(0, -1)) * 1000))
}
