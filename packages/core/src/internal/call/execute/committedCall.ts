/**
 * Committed calls: the writes of a tool with `transaction`, and the entry of its outcome, are both stored or neither.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Journal, TransactionFailed } from "../../../Journal.ts"
import type { Run } from "../../run/run.ts"
import { type AttemptedCall, pathOfCall } from "../replay/attemptedCall.ts"

/** One execution in a transaction of the journal's database. */
export class Committing<A> {
  private readonly transaction: NonNullable<Journal["transaction"]>
  private readonly run: Run
  private readonly attempted: AttemptedCall
  private answer: { readonly value: A } | undefined = undefined
  /** Its known outcome. */
  fate: "done" | "undone" | "unknown" = "undone"

  constructor(transaction: NonNullable<Journal["transaction"]>, run: Run, attempted: AttemptedCall) {
    this.transaction = transaction
    this.run = run
    this.attempted = attempted
  }

  around<E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E | TransactionFailed, R> {
    const { attempted, run } = this
    const encode = Schema.encodeUnknownEffect(Schema.toCodecJson(attempted.success))
    return this.transaction(effect, {
      recordOf: (value) => {
        this.answer = { value }
        return Effect.map(encode(value) as Effect.Effect<unknown, Schema.SchemaError>, (encoded) => ({
          kind: "child",
          key: pathOfCall(run, attempted),
          value: (encoded ?? null) as Schema.Json
        }))
      },
      onFate: (fate) => {
        this.fate = fate
      }
    })
  }

  /** Returns the executor's answer, if it is committed. */
  get committed(): { readonly value: A } | undefined {
    return this.fate === "done" ? this.answer : undefined
  }
}

/** Returns the transaction of a call of a tool with `transaction`; `undefined` if the journal is in no database. */
export const committing = <A>(attempted: AttemptedCall): Committing<A> | undefined => {
  const { run } = attempted.attempt
  const transaction = run?.log?.transaction
  return transaction && new Committing<A>(transaction, run!, attempted)
}
