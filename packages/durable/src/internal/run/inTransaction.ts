/**
 * Executors of tools with `transaction`: their writes are committed with the entry of the call, and they record no
 * others.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { ConfigurationError } from "@recourse/core/ConfigurationError"

/** True if the executor of a tool with `transaction` runs. */
export const InTransaction = Context.Reference<boolean>("@recourse/durable/InTransaction", {
  defaultValue: () => false
})

/**
 * Refuses an operation within a transaction: on SQLite it would wait for the end of it, and elsewhere it would not be
 * rolled back with it.
 */
export const outside = <A, E, R>(what: string, effect: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(InTransaction, (isWithin) =>
    isWithin
      ? Effect.die(
        new ConfigurationError({
          subject: "A tool with `transaction`",
          problem: `its executor writes to the database, without other recorded work such as ${what}`
        })
      )
      : effect())
