/**
 * Shared commits on SQLite: concurrent changes are committed in one transaction, because each commit there waits for the
 * disk, and for all others. PostgreSQL commits concurrent transactions together by itself.
 */
import * as Cause from "effect/Cause"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import type * as SqlClient from "effect/sql/SqlClient"
import * as SqlError from "effect/sql/SqlError"

/** Number of changes in one transaction: other writers wait for its end. */
const most = 100

type Change = Effect.Effect<unknown, unknown>
type Outcome = Exit.Exit<unknown, unknown>

interface Waiting {
  readonly change: Change
  /** The change if no other one is committed with it. */
  readonly alone: Change
  readonly done: (exit: Outcome) => void
}

/** True if another process has the lock. Each further try waits for it again, and blocks this process. */
const isLocked = (exit: Outcome): exit is Exit.Failure<never, unknown> =>
  Exit.isFailure(exit) && exit.cause.reasons.some((reason) => {
    const error = Cause.isFailReason(reason) ? reason.error : undefined
    return SqlError.isSqlError(error) && error.reason._tag === "LockTimeoutError"
  })

/** Makes the functions that commit changes, alone or with concurrent ones. A change may be executed twice, and is committed once. */
export const sqlSharedCommits = (sql: SqlClient.SqlClient) => {
  let queue: Array<Waiting> = []
  let isCommitting = false
  const separately = (batch: ReadonlyArray<Waiting>): Effect.Effect<void> => {
    let locked: Outcome | undefined
    return Effect.forEach(
      batch,
      ({ alone, done }) =>
        Effect.map(locked === undefined ? Effect.exit(alone) : Effect.succeed(locked), (exit) => {
          if (isLocked(exit)) locked = exit
          done(exit)
        }),
      { discard: true }
    )
  }
  const together = (batch: ReadonlyArray<Waiting>): Effect.Effect<void> => {
    let hasFailed = false
    const changes = Effect.forEach(
      batch,
      ({ change }) => Effect.onError(change, () => Effect.sync(() => hasFailed = true))
    )
    return Effect.flatMap(Effect.exit(sql.withTransaction(changes)), (exit) => {
      // The transaction of a change that fails is rolled back, and not those of others.
      if (hasFailed && !isLocked(exit)) return separately(batch)
      batch.forEach(({ done }, index) => done(Exit.map(exit, (values) => values[index])))
      return Effect.void
    })
  }
  const next = (): Effect.Effect<void> => {
    const batch = queue.slice(0, most)
    queue = queue.slice(most)
    isCommitting = batch.length > 0
    if (!isCommitting) return Effect.void
    return Effect.andThen(batch.length === 1 ? separately(batch) : together(batch), committing)
  }
  // Changes of fibers that are ready come first.
  const committing: Effect.Effect<void> = Effect.flatMap(Effect.yieldNow, next)
  const shared = (change: Change, alone: Change) =>
    Effect.suspend(() => {
      const committed = Deferred.makeUnsafe<unknown, unknown>()
      queue.push({ change, alone, done: (exit) => Deferred.doneUnsafe(committed, exit) })
      const wait = Deferred.await(committed)
      if (isCommitting) return wait
      isCommitting = true
      return Effect.andThen(Effect.forkDetach(committing), wait)
    })
  const isSqlite = sql.onDialectOrElse({ sqlite: () => true, orElse: () => false })
  const committed = <A, E, E1>(change: Effect.Effect<A, E>, alone: Effect.Effect<A, E1>) =>
    isSqlite
      ? Effect.flatMap(
        Effect.serviceOption(sql.transactionService),
        (transaction) => Option.isSome(transaction) ? alone : shared(change, alone) as Effect.Effect<A, E1>
      )
      : alone
  return {
    /** Commits a change of several statements. */
    transaction: <A, E>(change: Effect.Effect<A, E>) => committed(change, sql.withTransaction(change)),
    /** Commits a change of one statement, which is a transaction by itself. */
    statement: <A, E>(change: Effect.Effect<A, E>) => committed(change, change)
  }
}
