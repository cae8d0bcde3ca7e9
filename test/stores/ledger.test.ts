/** The idempotency ledger on each database: the guarantees of every store, by the store's own clock. */

import { PgClient } from "@effect/sql-pg"
import { IdempotencyLedger } from "@recourse/core"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type SqlAddress, sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"
import { by, paying, promises, stores } from "../support/ledgerPromises.ts"

for (const database of sqlDatabases) {
  describe(`the ledger on ${database.name}`, () => {
    const { address, fresh } = stores(database)
    promises(database, fresh)
    const client = () => Layer.fresh(sqlLayer(address() as SqlAddress))

    it.live("does not record within a transaction, and so runs no call", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const { state, tool } = paying()
        const ledger = yield* Layer.build(IdempotencyLedger.layerSql())
        const error = yield* tool("k").call.pipe(
          by({ amount: 1 }),
          sql.withTransaction,
          Effect.flip,
          Effect.provideContext(ledger)
        )
        assert.strictEqual(error._tag, "LedgerUnavailable")
        assert.strictEqual(state.runs, 0)
      }).pipe(Effect.scoped, Effect.provide(client())), 30_000)

    it.live("purges only expired entries, by an index", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const ledger = yield* Layer.build(IdempotencyLedger.layerSql({ table: "purged" }))
        const rows = Array.from({ length: 2500 }, (_, n): Record<string, unknown> => ({
          id: `id ${n}`,
          tool: "pay",
          call_id: "c",
          arguments_hash: "h",
          claim: "x",
          started_at: 1,
          leased_until: 1,
          outcome: n % 5 === 0 ? null : `{"_tag":"Result","value":1}`,
          expires_at: n % 5 === 0 ? null : n % 5 === 1 ? 9e14 : 1
        }))
        for (let i = 0; i < rows.length; i += 500) {
          yield* sql`INSERT INTO purged ${sql.insert(rows.slice(i, i + 500) as [Record<string, unknown>])}`
        }
        assert.strictEqual(yield* Effect.provideContext(IdempotencyLedger.purge, ledger), 1500)
        const [left] = yield* sql<{ readonly n: number | bigint }>`SELECT COUNT(*) AS n FROM purged`
        assert.strictEqual(Number(left!.n), 1000)
        const plan = sql.onDialectOrElse({
          pg: () => sql`SELECT indexname AS detail FROM pg_indexes WHERE tablename = 'purged'`,
          mysql: () => sql`SHOW INDEX FROM purged`,
          orElse: () => sql`EXPLAIN QUERY PLAN SELECT id FROM purged WHERE expires_at <= 1`
        })
        assert.include(JSON.stringify(yield* plan), "purged_expires_at")
      }).pipe(Effect.scoped, Effect.provide(client())), 30_000)

    it.live("has the statement for a table with wrong columns", () =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        yield* sql`CREATE TABLE other_shape (id VARCHAR(64))`
        for (const options of [{ table: "other_shape" }, { table: "not_there", create: false }]) {
          const error = yield* Effect.flip(Layer.build(IdempotencyLedger.layerSql(options)))
          assert.strictEqual(error._tag, "ConfigurationError")
          assert.include(error.message, "CREATE TABLE")
          assert.include(error.message, "leased_until")
        }
      }).pipe(Effect.scoped, Effect.provide(client())), 30_000)

    it.live("starts with a role that may use the table and make none", () =>
      Effect.gen(function*() {
        const place = address()
        if (place.kind !== "postgres") return
        const sql = yield* SqlClient.SqlClient
        const role = `${place.schema}_user`
        yield* Layer.build(IdempotencyLedger.layerSql({ table: "granted" }))
        yield* sql.unsafe(`CREATE ROLE ${role}`)
        yield* sql.unsafe(`GRANT USAGE ON SCHEMA ${place.schema} TO ${role}`)
        yield* sql.unsafe(`GRANT SELECT, INSERT, UPDATE, DELETE ON ${place.schema}.granted TO ${role}`)
        const asRole = PgClient.layer({
          url: Redacted.make(place.url),
          startupOptions: `-c search_path=${place.schema} -c role=${role}`
        })
        const { state, tool } = paying()
        const ledger = IdempotencyLedger.layerSql({ table: "granted" }).pipe(Layer.provide(asRole))
        yield* tool("granted").call.pipe(by({ amount: 1 }), Effect.provide(ledger))
        assert.strictEqual(state.runs, 1)
        const missing = IdempotencyLedger.layerSql({ table: "missing" }).pipe(Layer.provide(asRole))
        const error = yield* Effect.flip(Layer.build(missing))
        assert.strictEqual(error._tag, "ConfigurationError")
        assert.include(error.message, "cannot be created")
        yield* sql.unsafe(`DROP OWNED BY ${role}`)
        yield* sql.unsafe(`DROP ROLE ${role}`)
      }).pipe(Effect.scoped, Effect.provide(client())), 30_000)

    it.live("is created by many processes at once, and by the printed SQL", () =>
      Effect.gen(function*() {
        const started = yield* Effect.forEach(
          Array.from({ length: database.isShared ? 16 : 1 }),
          () =>
            Effect.exit(
              Effect.scoped(Effect.provide(Layer.build(IdempotencyLedger.layerSql({ table: "raced" })), client()))
            ),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(started.filter(Exit.isFailure), [])
        const sql = yield* SqlClient.SqlClient
        const dialect: IdempotencyLedger.Dialect = sql.onDialectOrElse({
          pg: () => "pg" as const,
          mysql: () => "mysql" as const,
          orElse: () => "sqlite" as const
        })
        for (const statement of IdempotencyLedger.createTableSql(dialect, { table: "printed" }).split(";\n")) {
          if (statement !== "") yield* sql.unsafe(statement).unprepared
        }
        yield* Layer.build(IdempotencyLedger.layerSql({ table: "printed", create: false }))
      }).pipe(Effect.scoped, Effect.provide(client())), 30_000)
  })
}
