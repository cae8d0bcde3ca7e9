/** Back-off between attempts, the default: exponential with jitter. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schedule from "effect/Schedule"
import { ConfigurationError } from "../../ConfigurationError.ts"

const longest = Duration.seconds(30)

/** Twice as long each time, up to 30 seconds, with jitter of a fifth either way, of the program's `Random`. */
export const backOff = (first: Duration.Input): Schedule.Schedule<unknown, unknown> =>
  Schedule.exponential(first).pipe(
    Schedule.modifyDelay(({ duration }) => Effect.succeed(Duration.min(duration, longest))),
    Schedule.jittered
  )

/** Refuses a number of times that is none. `Infinity` leaves the bound to the schedule. */
export const checkTimes = (subject: string, times: number): void => {
  if ((Number.isInteger(times) && times >= 0) || times === Infinity) return
  throw new ConfigurationError({ subject, problem: "times must be an integer >= 0, or Infinity" })
}
