/** Executors of tools with `transaction`: their writes are committed with the record of the call, and they record nothing else. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { ConfigurationError } from "@recourse/core/ConfigurationError"

/** Whether the executor of a tool with `transaction` runs. */
export const InTransaction = Context.Reference<boolean>("@recourse/durable/InTransaction", {
  defaultValue: () => false
})

/** What is not to be done within a transaction: on SQLite it would wait for the end of it, and elsewhere not be undone with it. */
export const outside = <A, E, R>(what: string, effect: () => Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
  Effect.flatMap(InTransaction, (isWithin) =>
    isWithin
      ? Effect.die(
        new ConfigurationError({
          subject: "A tool with `transaction`",
          problem: `its executor writes to the database and does nothing else that is recorded, such as ${what}`
        })
      )
      : effect())
