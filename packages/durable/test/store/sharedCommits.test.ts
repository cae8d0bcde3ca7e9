/** Shared commits on SQLite: concurrent changes are one transaction, and none depends on another one. */
import { assert, describe, it } from "@effect/vitest"
import { NodeSqliteClient } from "@recourse/sql"
import { Effect, Exit, Fiber } from "effect"
import { SqlClient } from "effect/sql"
import { fileURLToPath } from "node:url"
import type * as sharedCommitsModule from "../../src/internal/sql/sqlSharedCommits.ts"

const { sqlSharedCommits } = await import(
  fileURLToPath(new URL("../../src/internal/sql/sqlSharedCommits.ts", import.meta.url))
) as typeof sharedCommitsModule

/** A table, and shared commits over a client that counts its transactions. */
const opened = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  yield* sql`CREATE TABLE orders (id INTEGER PRIMARY KEY)`
  let transactions = 0
  const counted: SqlClient.SqlClient = Object.assign(
    ((...args: Parameters<SqlClient.SqlClient>) => sql(...args)) as unknown as SqlClient.SqlClient,
    sql,
    {
      withTransaction: <A, E, R>(effect: Effect.Effect<A, E, R>) => {
        const transaction = sql.withTransaction(effect)
        return Effect.suspend(() => {
          transactions++
          return transaction
        })
      }
    }
  )
  const add = (id: number) => sql`INSERT INTO orders ${sql.insert({ id })} RETURNING id`
  const ids = Effect.map(
    sql<{ readonly id: number }>`SELECT id FROM orders ORDER BY id`,
    (rows) => rows.map(({ id }) => id)
  )
  return { sql, add, ids, commits: sqlSharedCommits(counted), transactions: () => transactions }
})

const numbers = Array.from({ length: 20 }, (_, n) => n)

describe("changes on SQLite", () => {
  const test = <E>(title: string, effect: Effect.Effect<void, E, SqlClient.SqlClient>) =>
    it.live(title, () => Effect.provide(effect, NodeSqliteClient.layer({ filename: ":memory:" })))

  test(
    "are committed in one transaction if they are concurrent",
    Effect.gen(function*() {
      const { add, commits, ids, transactions } = yield* opened
      const added = yield* Effect.forEach(numbers, (id) => commits.transaction(add(id)), { concurrency: "unbounded" })
      assert.deepStrictEqual(added, numbers.map((id) => [{ id }]))
      assert.deepStrictEqual(yield* ids, numbers)
      assert.strictEqual(transactions(), 1)
    })
  )

  test(
    "start no transaction for a statement alone",
    Effect.gen(function*() {
      const { add, commits, ids, transactions } = yield* opened
      yield* commits.statement(add(1))
      assert.deepStrictEqual(yield* ids, [1])
      assert.strictEqual(transactions(), 0)
    })
  )

  test(
    "fail alone, and are rolled back",
    Effect.gen(function*() {
      const { add, commits, ids } = yield* opened
      const exits = yield* Effect.forEach(
        numbers,
        (id) => Effect.exit(commits.transaction(id === 7 ? Effect.andThen(add(100), Effect.fail("seven")) : add(id))),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(exits[7], Exit.fail("seven"))
      assert.deepStrictEqual(exits.flatMap((exit, id) => Exit.isSuccess(exit) ? [id] : []), yield* ids)
      assert.strictEqual((yield* ids).length, 19)
    })
  )

  test(
    "are committed for others if a caller is interrupted",
    Effect.gen(function*() {
      const { add, commits, ids } = yield* opened
      const fibers = yield* Effect.forEach(
        numbers,
        (id) => Effect.forkChild(commits.transaction(add(id)), { startImmediately: true })
      )
      yield* Fiber.interrupt(fibers[0]!)
      yield* Fiber.joinAll(fibers.slice(1))
      assert.deepStrictEqual((yield* ids).slice(-19), numbers.slice(1))
    })
  )

  test(
    "belong to the transaction of their caller",
    Effect.gen(function*() {
      const { add, commits, ids, sql } = yield* opened
      const both = Effect.andThen(commits.transaction(add(1)), commits.statement(add(2)))
      yield* Effect.exit(sql.withTransaction(Effect.andThen(both, Effect.fail("rolled back"))))
      assert.deepStrictEqual(yield* ids, [])
    })
  )
})
