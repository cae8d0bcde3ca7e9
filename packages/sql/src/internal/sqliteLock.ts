/**
 * Waits for the lock of a file of SQLite. SQLite's own wait blocks the process with all its timers and answers, so it is
 * short: other fibers run during the rest of the wait.
 */
import * as Effect from "effect/Effect"
import type { SqlError } from "effect/sql/SqlError"

/** Milliseconds of SQLite's own wait. A lock is mostly shorter. */
export const blockedMillis = 20

/** Milliseconds between two tries. */
const interval = 10

/** `SQLITE_BUSY`, with the reasons in its higher bits. */
const busy = 5

/** `SQLITE_BUSY_SNAPSHOT`: a transaction that has read before another process wrote. It fails at each further try. */
const staleSnapshot = 517

const isBusy = ({ reason: { cause } }: SqlError): boolean => {
  const code = cause instanceof Error && "errcode" in cause ? cause.errcode : undefined
  return typeof code === "number" && (code & 0xff) === busy && code !== staleSnapshot
}

/** The time of a real clock: another process has the lock. */
const pause = Effect.callback<void>((resume) => {
  const timer = setTimeout(() => resume(Effect.void), interval)
  return Effect.sync(() => clearTimeout(timer))
})

/** Executes a statement again while another process has the lock, for so many milliseconds. */
export const whenFree = <A>(statement: Effect.Effect<A, SqlError>, millis: number): Effect.Effect<A, SqlError> => {
  const attempt = (end?: number): Effect.Effect<A, SqlError> =>
    Effect.catch(statement, (error) => {
      if (!isBusy(error)) return Effect.fail(error)
      const now = performance.now()
      const until = end ?? now + millis - blockedMillis
      return now < until ? Effect.andThen(pause, attempt(until)) : Effect.fail(error)
    })
  return attempt()
}
