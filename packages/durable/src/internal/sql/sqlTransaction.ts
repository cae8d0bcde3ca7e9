/** Transactions in SQL: a tool's writes are committed with the step of its outcome. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as SqlClient from "effect/sql/SqlClient"
import { ConfigurationError } from "@recourse/core/ConfigurationError"
import { type Committed, type RunLog, RunStoreError, type Step } from "../store/store.ts"
import type { Parts } from "./sqlParts.ts"
import type { sqlSteps } from "./sqlSteps.ts"
import { storeRetry } from "../store/storeRetry.ts"

/**
 * Time for which PostgreSQL keeps an uncommitted idle transaction: its process may be frozen, and its run is to be
 * taken over.
 */
const idle = "10s"

/** The operation `transaction` of a store. */
export const sqlTransaction = (
  { isPg, sql }: Parts,
  { added, append }: Pick<ReturnType<typeof sqlSteps>, "added" | "append">
): NonNullable<RunLog["transaction"]> => {
  const failed = (reason: unknown) => new RunStoreError({ operation: "transaction", reason })
  /**
   * A step instead of one whose commit has no answer. If it is added, the other never will be: a running transaction is
   * awaited.
   */
  const isThere = (step: Step): Effect.Effect<"committed" | "undone" | "lost"> =>
    Effect.orDie(Effect.retry(
      Effect.gen(function*() {
        const [isFree] = yield* append([{ ...step, kind: "void", key: `void ${step.key}` }])
        if (isFree === "added") return "undone"
        const [isCommitted] = yield* append([step])
        return isCommitted === "added" ? "committed" : "lost"
      }),
      storeRetry
    ))
  const isOther = Effect.map(
    Effect.serviceOption(SqlClient.SqlClient),
    Option.exists((client) => client.transactionService.key !== sql.transactionService.key)
  )
  return <A, E, R>(
    effect: Effect.Effect<A, E, R>,
    { onFate, stepOf }: {
      readonly stepOf: (value: A) => Effect.Effect<Step, unknown>
      readonly onFate: (fate: "done" | "undone" | "unknown") => void
    }
  ): Effect.Effect<Committed<A>, E | RunStoreError, R> =>
    Effect.uninterruptibleMask((restore) => {
      let own: Exit.Exit<A, E> | undefined
      let step: Step | undefined
      let isLost = false
      const within = Effect.gen(function*() {
        own = yield* Effect.exit(effect)
        if (Exit.isFailure(own)) return yield* Effect.failCause(own.cause)
        yield* Effect.uninterruptible(Effect.map(stepOf(own.value), (made) => step = made))
        if (isPg) yield* sql`SET LOCAL idle_in_transaction_session_timeout = ${sql.literal(`'${idle}'`)}`
        const [isAdded] = yield* added([step!])
        isLost = isAdded !== "added"
        return isAdded === "added" ? own.value : yield* Effect.fail(failed("lost"))
      })
      const committed = (value: A): Effect.Effect<Committed<A>> => {
        onFate("done")
        return Effect.succeed({ _tag: "Committed", value })
      }
      const result = (exit: Exit.Exit<A, unknown>): Effect.Effect<Committed<A>, E | RunStoreError> => {
        if (Exit.isSuccess(exit)) return committed(exit.value)
        if (own !== undefined && Exit.isFailure(own)) return Effect.failCause(own.cause)
        if (isLost) return Effect.succeed({ _tag: "Lost" })
        const rolledBack = Cause.hasInterruptsOnly(exit.cause)
          ? Effect.failCause(exit.cause as Cause.Cause<never>)
          : Effect.fail(failed(Cause.squash(exit.cause)))
        // No step has its position.
        if (step === undefined) return rolledBack
        const { value } = own as Exit.Success<A, E>
        onFate("unknown")
        return Effect.flatMap(restore(isThere(step)), (fate): Effect.Effect<Committed<A>, E | RunStoreError> => {
          if (fate === "committed") return committed(value)
          if (fate === "lost") return Effect.succeed({ _tag: "Lost" })
          onFate("undone")
          return rolledBack
        })
      }
      return Effect.flatMap(isOther, (isOther) =>
        isOther
          ? Effect.die(
            new ConfigurationError({
              subject: "A tool with `transaction`",
              problem: "its SqlClient is another one than that of the RunStore: provide both with the same layer"
            })
          )
          : Effect.flatMap(Effect.exit(restore(sql.withTransaction(within))), result))
    })
}
