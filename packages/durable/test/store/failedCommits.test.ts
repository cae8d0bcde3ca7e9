/** Shared commits that fail, on SQLite in a file: for one of the changes, for all of them, or for a while. */
import { assert, describe, it } from "@effect/vitest"
import { NodeSqliteClient } from "@recourse/sql"
import { Context, Effect, Exit, Fiber, Layer, Scope } from "effect"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import type * as sharedCommitsModule from "../../src/internal/sql/sqlSharedCommits.ts"

const { sqlSharedCommits } = await import(
  fileURLToPath(new URL("../../src/internal/sql/sqlSharedCommits.ts", import.meta.url))
) as typeof sharedCommitsModule

const numbers = Array.from({ length: 20 }, (_, n) => n)

const directory = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "recourse-commits-"))),
  (path) => Effect.sync(() => rmSync(path, { recursive: true, force: true }))
)

/** A client of a file. Its waits for the lock are short. */
const clientOf = (filename: string) =>
  Effect.map(
    Layer.build(NodeSqliteClient.layer({ filename, busyTimeout: "20 millis" })),
    (context) => Context.get(context, SqlClient.SqlClient)
  )

/** A table in a file, its changes, and a second process. */
const opened = Effect.gen(function*() {
  const filename = join(yield* directory, "orders.db")
  const scope = yield* Scope.make()
  const sql = yield* Scope.provide(clientOf(filename), scope)
  const other = yield* clientOf(filename)
  yield* sql`CREATE TABLE orders (id INTEGER PRIMARY KEY, text TEXT)`
  const executions: Array<number> = []
  const add = (id: number, text = "") =>
    Effect.andThen(
      Effect.sync(() => executions.push(id)),
      sql<{ readonly id: number }>`INSERT INTO orders ${sql.insert({ id, text })} RETURNING id`
    )
  return {
    sql,
    other,
    add,
    executions,
    close: Scope.close(scope, Exit.void),
    commits: sqlSharedCommits(sql),
    ids: Effect.map(
      other<{ readonly id: number }>`SELECT id FROM orders ORDER BY id`,
      (rows) => rows.map(({ id }) => id)
    )
  }
})

/** Commits changes concurrently. */
const allOf = <A, E>(changes: ReadonlyArray<Effect.Effect<A, E>>) =>
  Effect.forEach(changes, Effect.exit, { concurrency: "unbounded" })

const succeeded = (exits: ReadonlyArray<Exit.Exit<unknown, unknown>>) =>
  exits.flatMap((exit, id) => Exit.isSuccess(exit) ? [id] : [])

describe("a shared commit that fails", () => {
  const test = <E>(title: string, effect: Effect.Effect<void, E, Scope.Scope>) => it.live(title, () => effect)

  test(
    "keeps the result of each change if one breaks a constraint",
    Effect.gen(function*() {
      const { add, commits, ids, sql } = yield* opened
      yield* sql`INSERT INTO orders ${sql.insert({ id: 7, text: "before" })}`
      const exits = yield* allOf(numbers.map((id) => commits.transaction(add(id))))
      assert.deepStrictEqual(succeeded(exits), numbers.filter((id) => id !== 7))
      exits.forEach((exit, id) => id === 7 || assert.deepStrictEqual(exit, Exit.succeed([{ id }])))
      assert.deepStrictEqual(yield* ids, numbers)
    })
  )

  test(
    "stores exactly the changes that succeed on a full disk",
    Effect.gen(function*() {
      const { add, commits, ids, sql } = yield* opened
      yield* sql.unsafe("PRAGMA max_page_count = 12")
      const exits = yield* allOf(numbers.map((id) => commits.transaction(add(id, "x".repeat(id % 2 === 0 ? 9000 : 9)))))
      assert.deepStrictEqual(succeeded(exits), yield* ids)
      // The small ones have room.
      assert.includeMembers(succeeded(exits), numbers.filter((id) => id % 2 === 1))
      assert.isBelow(succeeded(exits).length, numbers.length)
    })
  )

  test(
    "executes no change if another process has the lock",
    Effect.gen(function*() {
      const { add, commits, executions, ids, other } = yield* opened
      yield* other.withTransaction(Effect.gen(function*() {
        const exits = yield* allOf(numbers.map((id) => commits.statement(add(id))))
        assert.deepStrictEqual(succeeded(exits), [])
      }))
      assert.deepStrictEqual([executions, yield* ids], [[], []])
      const exits = yield* allOf(numbers.map((id) => commits.statement(add(id))))
      assert.deepStrictEqual([succeeded(exits), yield* ids], [numbers, numbers])
    })
  )

  test(
    "waits once if another process takes the lock before the second try",
    Effect.gen(function*() {
      const { add, commits, executions, ids, other } = yield* opened
      const lock = Effect.forkChild(other.withTransaction(Effect.never), { startImmediately: true })
      let locking: Fiber.Fiber<unknown, unknown> | undefined
      const failing = Effect.suspend(() =>
        executions.length === 0
          ? Effect.fail("first")
          : Effect.andThen(Effect.map(lock, (fiber) => void (locking = fiber)), Effect.fail("second"))
      )
      const exits = yield* allOf([
        commits.transaction(Effect.andThen(add(0), Effect.fail("zero"))),
        commits.statement(failing),
        ...numbers.slice(2).map((id) => commits.statement(add(id)))
      ])
      assert.deepStrictEqual(exits[1], Exit.fail("second"))
      assert.deepStrictEqual(succeeded(exits), [])
      yield* Fiber.interrupt(locking!)
      // Only the first of the others has waited for the lock.
      assert.deepStrictEqual(executions, [0, 0, 2])
      assert.deepStrictEqual(yield* ids, [])
    })
  )

  test(
    "waits once if the first statement of a transaction finds the lock",
    Effect.gen(function*() {
      const { add, commits, executions, ids, other, sql } = yield* opened
      const deferred = Effect.provideService(SqlClient.BeginTransaction, "BEGIN")
      yield* other.withTransaction(
        Effect.gen(function*() {
          const exits = yield* deferred(allOf(numbers.map((id) => commits.transaction(add(id)))))
          assert.deepStrictEqual(succeeded(exits), [])
        })
      )
      assert.deepStrictEqual(executions, [0])
      assert.deepStrictEqual(yield* ids, [])
      yield* sql`SELECT 1`
    })
  )

  test(
    "ends each caller if the connection is closed",
    Effect.gen(function*() {
      const { add, close, commits, ids } = yield* opened
      const exits = yield* allOf([
        ...numbers.map((id) => commits.transaction(add(id))),
        Effect.as(close, [])
      ])
      assert.deepStrictEqual(succeeded(exits.slice(0, -1)), yield* ids)
      const later = yield* allOf(numbers.map((id) => commits.transaction(add(id))))
      assert.deepStrictEqual(succeeded(later), [])
    })
  )
})
