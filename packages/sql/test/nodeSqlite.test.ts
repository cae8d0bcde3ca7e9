import { NodeSqliteClient } from "@recourse/sql"
import { assert, describe, it } from "@effect/vitest"
import { Deferred, Effect, Exit, Fiber } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"

const memory = Effect.provide(NodeSqliteClient.layer({ filename: ":memory:" }))

const temporary = Effect.acquireRelease(
  Effect.sync(() => mkdtempSync(join(tmpdir(), "recourse-"))),
  (directory) => Effect.sync(() => rmSync(directory, { recursive: true, force: true }))
)

describe("a client of node:sqlite", () => {
  it.live("binds and reads values", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE t (id INTEGER, text TEXT, flag INTEGER, at TEXT, bytes BLOB)`
      const at = new Date(0)
      yield* sql`INSERT INTO t ${
        sql.insert({ id: 1795304334398, text: null, flag: true, at, bytes: new Uint8Array([1, 2]) })
      }`
      const rows = yield* sql`SELECT * FROM t`
      assert.deepStrictEqual(rows.map((row) => ({ ...row })), [
        { id: 1795304334398, text: null, flag: 1, at: "1970-01-01T00:00:00.000Z", bytes: new Uint8Array([1, 2]) }
      ])
      assert.deepStrictEqual(yield* sql`SELECT id, flag FROM t`.values, [[1795304334398, 1]])
    }).pipe(memory))

  it.live("names the file that cannot be opened, and the option that is missing", () =>
    Effect.gen(function*() {
      const sentenceOf = (options: unknown) =>
        Effect.map(
          Effect.flip(Effect.scoped(NodeSqliteClient.make(options as NodeSqliteClient.Options))),
          ({ message }) => message
        )
      assert.include(
        yield* sentenceOf({ filename: "/none/shop.db" }),
        "The database \"/none/shop.db\" cannot be opened"
      )
      for (const options of ["shop.db", undefined, {}, { file: "shop.db" }, { filename: 3 }]) {
        assert.include(yield* sentenceOf(options), "{ filename: \"shop.db\" }")
      }
    }).pipe(Effect.provide(Reactivity.layer)))

  it.live("rolls a transaction back that fails, and keeps others out of it", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* sql`CREATE TABLE t (id INTEGER UNIQUE)`
      const inside = sql.withTransaction(
        Effect.andThen(Effect.andThen(sql`INSERT INTO t VALUES (1)`, Effect.sleep("20 millis")), Effect.fail("no"))
      )
      const [exit] = yield* Effect.all([Effect.exit(inside), sql`INSERT INTO t VALUES (2)`], { concurrency: 2 })
      assert.deepStrictEqual(exit, Exit.fail("no"))
      assert.deepStrictEqual(yield* sql`SELECT id FROM t`.values, [[2]])
      const error = yield* Effect.flip(sql`INSERT INTO t VALUES (2)`)
      assert.strictEqual(error.reason._tag, "UniqueViolation")
    }).pipe(memory))

  it.live("opens a file for concurrent readers and writers, and waits", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "test.db")
      const client = (busyTimeout?: number) => NodeSqliteClient.make({ filename, busyTimeout })
      const first = yield* client()
      const [mode] = yield* first<{ readonly journal_mode: string }>`PRAGMA journal_mode`
      assert.strictEqual(mode?.journal_mode, "wal")
      yield* first`CREATE TABLE t (id INTEGER)`
      const second = yield* client(10)
      const locked = yield* first.withTransaction(
        Effect.andThen(first`INSERT INTO t VALUES (1)`, Effect.flip(second`INSERT INTO t VALUES (2)`))
      )
      assert.strictEqual(locked.reason._tag, "LockTimeoutError")
      assert.isTrue(locked.isRetryable)
      yield* second`INSERT INTO t VALUES (2)`
      assert.strictEqual((yield* first`SELECT id FROM t`).length, 2)
    }).pipe(Effect.scoped, Effect.provide(Reactivity.layer)))

  it.live("lets other fibers run while it waits for the lock", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "test.db")
      const first = yield* NodeSqliteClient.make({ filename })
      const second = yield* NodeSqliteClient.make({ filename })
      yield* first`CREATE TABLE t (id INTEGER)`
      const added = yield* Deferred.make<void>()
      const holding = first.withTransaction(
        Effect.andThen(
          first`INSERT INTO t VALUES (1)`,
          Effect.andThen(Deferred.succeed(added, undefined), Effect.sleep("200 millis"))
        )
      )
      const adding = Effect.andThen(
        Deferred.await(added),
        second.withTransaction(Effect.andThen(second`INSERT INTO t VALUES (2)`, second`INSERT INTO t VALUES (3)`))
      )
      yield* Effect.all([holding, adding], { concurrency: 2 })
      assert.deepStrictEqual(yield* first`SELECT id FROM t ORDER BY id`.values, [[1], [2], [3]])
    }).pipe(Effect.scoped, Effect.provide(Reactivity.layer)))

  it.live("fails at once if a transaction has read an earlier state", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "test.db")
      const first = yield* NodeSqliteClient.make({ filename, busyTimeout: "1 hour" })
      const second = yield* NodeSqliteClient.make({ filename })
      yield* first`CREATE TABLE t (id INTEGER)`
      const stale = yield* first.withTransaction(Effect.andThen(
        first`SELECT id FROM t`,
        Effect.andThen(second`INSERT INTO t VALUES (1)`, first`INSERT INTO t VALUES (2)`)
      )).pipe(Effect.provideService(SqlClient.BeginTransaction, "BEGIN"), Effect.flip)
      assert.strictEqual(stale.reason._tag, "LockTimeoutError")
      assert.deepStrictEqual(yield* first`SELECT id FROM t`.values, [[1]])
    }).pipe(Effect.scoped, Effect.provide(Reactivity.layer)))

  it.live("ends a wait for the lock that is interrupted", () =>
    Effect.gen(function*() {
      const filename = join(yield* temporary, "test.db")
      const first = yield* NodeSqliteClient.make({ filename })
      const second = yield* NodeSqliteClient.make({ filename })
      yield* first`CREATE TABLE t (id INTEGER)`
      yield* first.withTransaction(Effect.gen(function*() {
        const waiting = yield* Effect.forkChild(second`INSERT INTO t VALUES (1)`, { startImmediately: true })
        yield* Effect.sleep("50 millis")
        yield* Fiber.interrupt(waiting)
      }))
      yield* second`INSERT INTO t VALUES (2)`
      assert.deepStrictEqual(yield* first`SELECT id FROM t`.values, [[2]])
    }).pipe(Effect.scoped, Effect.provide(Reactivity.layer)))
})
