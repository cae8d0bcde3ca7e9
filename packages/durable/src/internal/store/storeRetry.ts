/** Schedule by which an operation of a store that fails is tried again. */
import * as Schedule from "effect/Schedule"

/** 50 milliseconds and more, up to a second. */
export const storeRetry = Schedule.min([Schedule.exponential("50 millis"), Schedule.spaced("1 second")])
