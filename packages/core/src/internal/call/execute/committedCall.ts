/**
 * Committed calls: the writes of a tool with `transaction`, and the entry of its outcome, are both stored or neither.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Journal, TransactionFailed } from "../../../Journal.ts"
import type { Run } from "../../run/run.ts"
import { type AttemptedCall, pathOfCall } from "../replay/attemptedCall.ts"

export type Transaction = NonNullable<Journal["transaction"]>

/** Known outcome of a transaction. */
export type Fate = "done" | "undone" | "unknown"

/** Executes a tool in a transaction of the journal's database. `on` receives the executor's answer, and the outcome of the transaction. */
export const committed = <A, E, R>(
  transaction: Transaction,
  run: Run,
  attempted: AttemptedCall,
  effect: Effect.Effect<A, E, R>,
  on: { readonly answer: (value: A) => void; readonly fate: (fate: Fate) => void }
): Effect.Effect<A, E | TransactionFailed, R> => {
  const encode = Schema.encodeUnknownEffect(Schema.toCodecJson(attempted.success))
  return transaction(effect, {
    recordOf: (value) => {
      on.answer(value)
      return Effect.map(encode(value) as Effect.Effect<unknown, Schema.SchemaError>, (encoded) => ({
        kind: "child",
        key: pathOfCall(run, attempted),
        value: (encoded ?? null) as Schema.Json
      }))
    },
    onFate: on.fate
  })
}
