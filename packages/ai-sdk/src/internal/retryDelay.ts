/** Retry delay that a provider names in its answer. */
import * as Duration from "effect/Duration"

/** A protobuf `Duration` in JSON, as in Google's `RetryInfo.retryDelay`: seconds with an `s`, e.g. `"34.07s"`. */
export const retryDelayOf = (value: unknown): Duration.Duration | undefined =>
  typeof value === "string" && /^\d+(\.\d+)?s$/.test(value)
    ? Duration.millis(Math.min(Math.ceil(Number(value.slice(0, -1)) * 1000), year))
    : undefined

/** Any number of digits can stand there; nothing waits for longer, and sums and dates are made of it. */
const year = 365 * 24 * 60 * 60 * 1000
