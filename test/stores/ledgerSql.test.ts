/**
 * The ledger in SQL, statement by statement: other processes' changes between two of them, lost answers, and the
 * printed SQL.
 */
import { assert, describe, it } from "@effect/vitest"
import { IdempotencyLedger } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"
import { Duration, Effect, Layer } from "effect"
import { SqlClient, type SqlConnection, SqlError } from "effect/sql"
import { intent, paid } from "../support/intents.ts"
import { type Watch, watchedSql } from "../support/watchedSql.ts"

type Store = IdempotencyLedger.Store

const { sqlStore } = await import(
  new URL("../../packages/core/src/internal/idempotency/ledgerSqlStore.ts", import.meta.url).href
) as { readonly sqlStore: (sql: SqlClient.SqlClient, table: string) => Store }

const quiet: Watch = { before: () => Effect.void, after: () => Effect.void }

/** A store of which a test does something before or after a statement. */
const storeOf = (watch: Partial<Watch>) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    yield* sql.unsafe(IdempotencyLedger.createTableSql("sqlite", { table: "ledger" }))
    return { sql, store: sqlStore(sql, "ledger") }
  }).pipe((made) =>
    Effect.flatMap(
      Layer.build(
        watchedSql({ ...quiet, ...watch }).pipe(Layer.provide(NodeSqliteClient.layer({ filename: ":memory:" })))
      ),
      (context) => Effect.provideContext(made, context)
    )
  )

/** Runs an action at the first statement with this start, once enabled. */
const at = (
  start: string,
  act: (connection: SqlConnection.Connection) => Effect.Effect<unknown, SqlError.SqlError>
) => {
  let isArmed = false
  return {
    arm: Effect.sync(() => isArmed = true),
    hook: ((text, connection) =>
      Effect.suspend(() => {
        if (!isArmed || !text.startsWith(start)) return Effect.void
        isArmed = false
        return Effect.asVoid(act(connection))
      })) satisfies Watch["before"]
  }
}

const [a, b] = [intent("a"), intent("b")]
const hour = Duration.hours(1)

const remove = (connection: SqlConnection.Connection) => connection.executeRaw("DELETE FROM ledger", [])
const begins = ({ arguments: hash, callId, claim, id, tool }: IdempotencyLedger.Intent) =>
(
  connection: SqlConnection.Connection
) =>
  connection.executeRaw(
    "INSERT INTO ledger (id, tool, call_id, arguments_hash, claim, started_at, leased_until) VALUES (?, ?, ?, ?, ?, 1, 1)",
    [id, tool, callId, hash, claim]
  )

const standing = (store: Store) =>
  Effect.map(store.begin(intent("nobody"), Duration.zero), (found) => [found?.entry.claim, found?.entry.outcome])

describe("between two statements of the ledger", () => {
  const live = (rule: string, test: () => Effect.Effect<void, unknown, never>) => it.live(rule, test)

  live("an entry is released that was in the way: the next call begins", () => {
    const { arm, hook } = at("SELECT", remove)
    return Effect.scoped(Effect.gen(function*() {
      const { store } = yield* storeOf({ before: hook })
      yield* store.begin(a, hour)
      yield* arm
      assert.isUndefined(yield* store.begin(b, hour))
      assert.deepStrictEqual(yield* standing(store), ["b", undefined])
    }))
  })

  live(
    "another call begins under a key whose entry has vanished: the outcome is lost, and that call keeps the key",
    () => {
      const { arm, hook } = at("INSERT", begins(b))
      return Effect.scoped(Effect.gen(function*() {
        const { store } = yield* storeOf({ before: hook })
        yield* arm
        assert.strictEqual(yield* store.complete(a, paid, hour), "lost")
        assert.deepStrictEqual(yield* standing(store), ["b", undefined])
      }))
    }
  )

  live("a late request of this call restores its own entry: the outcome is recorded in it", () => {
    const { arm, hook } = at("INSERT", begins(a))
    return Effect.scoped(Effect.gen(function*() {
      const { store } = yield* storeOf({ before: hook })
      yield* arm
      assert.strictEqual(yield* store.complete(a, paid, hour), "recorded")
      assert.deepStrictEqual(yield* standing(store), ["a", paid])
    }))
  })

  live("another call begins under the key and releases it: the outcome is recorded anew", () => {
    const begun = at("INSERT", begins(b))
    // The first reading is of the update without an effect, the second one of the conflicting entry.
    let reads = 0
    const released = at("SELECT", remove)
    return Effect.scoped(Effect.gen(function*() {
      const { store } = yield* storeOf({
        before: (text, connection) =>
          Effect.suspend(() =>
            text.startsWith("SELECT") && ++reads < 2
              ? Effect.void
              : Effect.andThen(begun.hook(text, connection), released.hook(text, connection))
          )
      })
      yield* Effect.andThen(begun.arm, released.arm)
      assert.strictEqual(yield* store.complete(a, paid, hour), "restored")
      assert.deepStrictEqual(yield* standing(store), ["a", paid])
    }))
  })
})

it.live("a statement that returns its changes is enough", () => {
  const statements: Array<string> = []
  return Effect.scoped(Effect.gen(function*() {
    const { store } = yield* storeOf({
      before: (text) => Effect.sync(() => void statements.push(text.split(" ", 1)[0]!))
    })
    yield* store.begin(a, Duration.zero)
    const { entry } = (yield* store.begin(b, hour))!
    statements.length = 0
    assert.isTrue(yield* store.renew(a, Duration.zero))
    assert.isTrue(yield* store.take(entry, b, hour))
    assert.strictEqual(yield* store.complete(b, paid, hour), "recorded")
    assert.deepStrictEqual(statements, ["UPDATE", "UPDATE", "UPDATE"])
  }))
})

describe("a database that fails", () => {
  const operations: Readonly<Record<string, (store: Store) => Effect.Effect<unknown, IdempotencyLedger.LedgerError>>> =
    {
      begin: (store) => store.begin(a, hour),
      renew: (store) => store.renew(a, hour),
      "renew of many": (store) => store.renewAll!([a], hour),
      find: (store) => store.find!(["k"]),
      take: (store) => store.take({ ...a, startedAt: 0, leasedUntil: 0 }, b, hour),
      complete: (store) => store.complete(a, paid, hour),
      release: (store) => store.release(a),
      purge: (store) => store.purge!
    }
  const reasons = [
    [new SqlError.ConnectionError({ cause: new Error("The connection is lost") }), true],
    [new SqlError.ConstraintError({ cause: new Error("The table is another one") }), undefined]
  ] as const

  it.live("names each operation's reason of failure, and if it is transient", () =>
    Effect.forEach(
      Object.entries(operations),
      ([name, operation]) =>
        Effect.forEach(reasons, ([reason, isTransient]) => {
          const failure = new SqlError.SqlError({ reason })
          const { arm, hook } = at("", () => Effect.fail(failure))
          return Effect.scoped(Effect.gen(function*() {
            const { store } = yield* storeOf({ after: hook })
            yield* arm
            const error = yield* Effect.flip(operation(store))
            assert.strictEqual(error._tag, "LedgerError", name)
            assert.strictEqual(error.operation, name.split(" ")[0] as typeof error.operation)
            assert.strictEqual(error.reason, failure)
            assert.strictEqual(error.isTransient, isTransient, name)
            assert.strictEqual(error.message, `The idempotency ledger failed to ${error.operation}`)
          }))
        })
    ))

  it.live("is not called again for an unreadable outcome", () =>
    Effect.scoped(Effect.gen(function*() {
      const { sql, store } = yield* storeOf({})
      yield* store.begin(a, hour)
      for (
        const outcome of [
          { _tag: "Unheard" },
          { ...paid, marks: { taintedBy: "fetch" } },
          { ...paid, marks: { degraded: [{ asOf: "today" }] } },
          { _tag: "PartialSuccess", succeeded: [], failed: [{ item: 1 }] }
        ]
      ) {
        yield* sql`UPDATE ledger SET outcome = ${JSON.stringify(outcome)}`
        const error = yield* Effect.flip(store.begin(b, hour))
        assert.deepStrictEqual([error.operation, error.isTransient], ["begin", undefined])
        assert.strictEqual((error.reason as { readonly _tag: string })._tag, "SchemaError")
      }
    })))
})

describe("the SQL that makes the ledger's table", () => {
  const lines = (long: string) =>
    `  id VARCHAR(64) NOT NULL UNIQUE,
  tool VARCHAR(255) NOT NULL,
  call_id ${long} NOT NULL,
  arguments_hash VARCHAR(64) NOT NULL,
  claim VARCHAR(64) NOT NULL,
  started_at BIGINT NOT NULL,
  leased_until BIGINT NOT NULL,
  outcome ${long},
  expires_at BIGINT`

  it("has a purge index, partial if the dialect supports it", () => {
    for (const dialect of ["pg", "sqlite"] as const) {
      assert.strictEqual(
        IdempotencyLedger.createTableSql(dialect),
        `CREATE TABLE IF NOT EXISTS "recourse_idempotency" (\n${lines("TEXT")}\n);\n` +
          "CREATE INDEX IF NOT EXISTS \"recourse_idempotency_expires_at\" ON \"recourse_idempotency\" (expires_at) " +
          "WHERE expires_at IS NOT NULL;\n"
      )
    }
    assert.strictEqual(
      IdempotencyLedger.createTableSql("mysql"),
      `CREATE TABLE IF NOT EXISTS \`recourse_idempotency\` (\n${lines("LONGTEXT")},\n` +
        "  INDEX `recourse_idempotency_expires_at` (expires_at)\n) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;\n"
    )
  })
})
