/** Stores in a database: the tables, their creation, the content of the audit's, and the deletion of old rows. */

import { assert, describe, it } from "@effect/vitest"
import { Cause, Effect, Exit, Layer, Option } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, SqlError, Statement } from "effect/sql"
import { Approval, Audit, ConfigurationError, Conversation, IdempotencyLedger } from "@recourse/core"
import { database, runAll } from "../support/databaseStores.ts"

type Dialect = IdempotencyLedger.Dialect

interface Door {
  readonly name: string
  /** Its tables, with their default names and a program's names. */
  readonly tables: ReadonlyArray<readonly [byDefault: string, otherwise: string]>
  readonly sql: (dialect: Dialect, isNamed: boolean) => string
  readonly layer: (
    isNamed: boolean,
    create?: boolean
  ) => Layer.Layer<never, SqlError.SqlError | ConfigurationError.ConfigurationError, SqlClient.SqlClient>
}

const table = "mine"

const tables = { threads: "mine", entries: "said" }

const doors: ReadonlyArray<Door> = [
  {
    name: "Approval.layerResumptionsSql",
    tables: [["recourse_resumptions", "mine"]],
    sql: (dialect, isNamed) => Approval.createTableSql(dialect, isNamed ? { table } : undefined),
    layer: (isNamed, create) =>
      isNamed || create !== undefined
        ? Approval.layerResumptionsSql({ create, ...(isNamed && { table }) })
        : Approval.layerResumptionsSql()
  },
  {
    name: "Audit.layerSql",
    tables: [["recourse_audit", "mine"]],
    sql: (dialect, isNamed) => Audit.createTableSql(dialect, isNamed ? { table } : undefined),
    layer: (isNamed, create) =>
      isNamed || create !== undefined ? Audit.layerSql({ create, ...(isNamed && { table }) }) : Audit.layerSql()
  },
  {
    name: "IdempotencyLedger.layerSql",
    tables: [["recourse_idempotency", "mine"]],
    sql: (dialect, isNamed) => IdempotencyLedger.createTableSql(dialect, isNamed ? { table } : undefined),
    layer: (isNamed, create) =>
      isNamed || create !== undefined
        ? IdempotencyLedger.layerSql({ create, ...(isNamed && { table }) })
        : IdempotencyLedger.layerSql()
  },
  {
    name: "Conversation.layerSql",
    tables: [["recourse_threads", "mine"], ["recourse_thread_entries", "said"]],
    sql: (dialect, isNamed) => Conversation.createTablesSql(dialect, isNamed ? { tables } : undefined),
    layer: (isNamed, create) =>
      isNamed || create !== undefined
        ? Conversation.layerSql({ create, ...(isNamed && { tables }) })
        : Conversation.layerSql()
  }
]

const made = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const rows = yield* sql<{ readonly name: string }>`SELECT name FROM sqlite_master WHERE type = 'table'`
  return rows.map(({ name }) => name).toSorted()
})

const namesOf = ({ tables }: Door, isNamed: boolean) =>
  tables.map(([byDefault, otherwise]) => isNamed ? otherwise : byDefault).toSorted()

const ways = doors.flatMap((door) =>
  [false, true].map((isNamed) => ({ ...door, door, isNamed, named: isNamed ? "a name of the program's" : "its name" }))
)

describe("a layer over SQL", () => {
  it.live.each(ways)(
    "makes its tables where there are none: $name, by $named",
    ({ door, isNamed }) =>
      database(Effect.gen(function*() {
        yield* Effect.scoped(Layer.build(door.layer(isNamed)))
        assert.deepStrictEqual(yield* made, namesOf(door, isNamed))
      }))
  )

  it.live.each(ways)(
    "does with the tables that a migration has made: $name, by $named",
    ({ door, isNamed }) =>
      database(Effect.gen(function*() {
        yield* runAll(door.sql("sqlite", isNamed))
        assert.deepStrictEqual(yield* made, namesOf(door, isNamed))
        yield* Effect.scoped(Layer.build(door.layer(isNamed, false)))
      }))
  )

  it.live.each(ways)(
    "that may not make its tables says how they are made: $name, by $named",
    ({ door, isNamed }) =>
      database(Effect.gen(function*() {
        const exit = yield* Effect.exit(Effect.scoped(Layer.build(door.layer(isNamed, false))))
        const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
        if (!(error instanceof ConfigurationError.ConfigurationError)) return assert.fail(String(exit))
        assert.strictEqual(error.subject, door.name)
        const statement = error.problem.slice(error.problem.indexOf("CREATE TABLE"))
        assert.include(door.sql("sqlite", isNamed), statement)
        assert.deepStrictEqual(yield* made, [])
      }))
  )

  it.each(ways)("prints its SQL for each database: $name, by $named", ({ door, isNamed }) => {
    for (const [dialect, quote] of [["pg", "\""], ["sqlite", "\""], ["mysql", "`"]] as const) {
      for (const name of namesOf(door, isNamed)) {
        assert.include(door.sql(dialect, isNamed), `CREATE TABLE IF NOT EXISTS ${quote}${name}${quote} (`)
      }
    }
  })
})

/** Columns of each table: programs' migrations have made tables like these. */
const printed = `CREATE TABLE IF NOT EXISTS "recourse_resumptions" (
  snapshot_id VARCHAR(64) NOT NULL UNIQUE,
  claim VARCHAR(64) NOT NULL,
  claimed_at BIGINT NOT NULL,
  leased_until BIGINT NOT NULL,
  ended_at BIGINT
);
CREATE INDEX IF NOT EXISTS "recourse_resumptions_claimed_at" ON "recourse_resumptions" (claimed_at) WHERE claimed_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS "recourse_audit" (
  reference_id VARCHAR(255) NOT NULL UNIQUE,
  at BIGINT NOT NULL,
  actor TEXT,
  run_id VARCHAR(255) NOT NULL,
  path TEXT NOT NULL,
  tool VARCHAR(255) NOT NULL,
  call_id TEXT NOT NULL,
  arguments_hash VARCHAR(64) NOT NULL,
  decision VARCHAR(255) NOT NULL,
  decided_by TEXT,
  reason TEXT,
  security INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS "recourse_idempotency" (
  id VARCHAR(64) NOT NULL UNIQUE,
  tool VARCHAR(255) NOT NULL,
  call_id TEXT NOT NULL,
  arguments_hash VARCHAR(64) NOT NULL,
  claim VARCHAR(64) NOT NULL,
  started_at BIGINT NOT NULL,
  leased_until BIGINT NOT NULL,
  outcome TEXT,
  expires_at BIGINT
);
CREATE INDEX IF NOT EXISTS "recourse_idempotency_expires_at" ON "recourse_idempotency" (expires_at) WHERE expires_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS "recourse_threads" (
  id VARCHAR(64) NOT NULL UNIQUE,
  owner_hash VARCHAR(64) NOT NULL,
  owner TEXT NOT NULL,
  thread TEXT NOT NULL,
  title TEXT,
  search_text TEXT NOT NULL,
  version BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  claim VARCHAR(64),
  leased_until BIGINT,
  snapshot TEXT
);
CREATE INDEX IF NOT EXISTS "recourse_threads_owner_hash" ON "recourse_threads" (owner_hash) WHERE owner_hash IS NOT NULL;
CREATE INDEX IF NOT EXISTS "recourse_threads_updated_at" ON "recourse_threads" (updated_at) WHERE updated_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS "recourse_thread_entries" (
  id VARCHAR(255) NOT NULL UNIQUE,
  thread_id VARCHAR(64) NOT NULL,
  entry_no BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  run_id TEXT,
  event TEXT NOT NULL,
  search_text TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS "recourse_thread_entries_thread_id" ON "recourse_thread_entries" (thread_id) WHERE thread_id IS NOT NULL;
`

it("has the columns that migrations have created", () => {
  for (const dialect of ["pg", "sqlite"] as const) {
    assert.strictEqual(doors.map(({ sql }) => sql(dialect, false)).join(""), printed)
  }
  // MySQL has its own quotes and long texts, no conditions of indexes, and names them in their tables.
  const asElsewhere = doors.map(({ sql }) => sql("mysql", false)).join("")
    .replaceAll("`", "\"")
    .replaceAll("LONGTEXT", "TEXT")
    .replaceAll(" CHARACTER SET utf8mb4 COLLATE utf8mb4_bin", "")
  const lines = (text: string) =>
    text.split("\n").map((line) => line.trim().replace(/,$/, "")).filter((line) => !/INDEX/.test(line))
  assert.deepStrictEqual(lines(asElsewhere), lines(printed))
  for (const [, index, column] of printed.matchAll(/INDEX IF NOT EXISTS ("\w+") ON "\w+" \((\w+)\)/g)) {
    assert.include(asElsewhere, `INDEX ${index} (${column})`)
  }
})

it("a table's name may have a schema and quotes", () => {
  const named = (dialect: Dialect) => Approval.createTableSql(dialect, { table: "chat.my\"`resumptions" })
  assert.include(named("pg"), "CREATE TABLE IF NOT EXISTS \"chat\".\"my\"\"`resumptions\" (")
  assert.include(
    named("pg"),
    "INDEX IF NOT EXISTS \"my\"\"`resumptions_claimed_at\" ON \"chat\".\"my\"\"`resumptions\" ("
  )
  assert.include(named("mysql"), "CREATE TABLE IF NOT EXISTS `chat`.`my\"``resumptions` (")
  assert.include(named("mysql"), "INDEX `my\"``resumptions_claimed_at` (claimed_at)")
  assert.include(Audit.createTableSql("mysql"), "reason LONGTEXT")
})

it.live.each(doors)(
  "$name is not built on a table with other columns, nor within a transaction",
  (door) =>
    database(Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const problem = (build: Effect.Effect<unknown, unknown, SqlClient.SqlClient>) =>
        Effect.map(Effect.flip(build), (error) => (error as ConfigurationError.ConfigurationError).problem)
      const build = Effect.scoped(Layer.build(door.layer(false)))
      assert.strictEqual(yield* problem(sql.withTransaction(build)), "do not build this layer within a transaction")
      for (const name of namesOf(door, false)) yield* sql.unsafe(`CREATE TABLE "${name}" (other TEXT)`)
      const told = yield* problem(build)
      assert.include(told, "cannot be read with the columns ")
      assert.include(told, "CREATE TABLE IF NOT EXISTS")
      for (const name of namesOf(door, false)) yield* sql.unsafe(`DROP TABLE "${name}"`)
      yield* sql.unsafe("PRAGMA query_only = ON")
      assert.include(yield* problem(build), ", and cannot be created (")
    }))
)

/** A database that cannot be reached, for this reason. */
const away = (reason: SqlError.SqlErrorReason) =>
  Layer.effect(
    SqlClient.SqlClient,
    SqlClient.make({
      acquirer: Effect.fail(new SqlError.SqlError({ reason })),
      compiler: Statement.makeCompilerSqlite(),
      driver: "none",
      spanAttributes: []
    })
  ).pipe(Layer.provide(Reactivity.layer))

it.effect.each(doors)(
  "$name over a database that cannot be reached fails as that, and says nothing of its tables",
  (door) =>
    Effect.gen(function*() {
      const { AuthenticationError, ConnectionError, SqlSyntaxError } = SqlError
      for (const create of [undefined, false]) {
        const errorOf = (reason: SqlError.SqlErrorReason) =>
          Effect.flip(Effect.scoped(Layer.build(Layer.provide(door.layer(false, create), away(reason)))))
        for (const Reason of [ConnectionError, AuthenticationError]) {
          const reason = new Reason({ cause: "away" })
          const error = yield* errorOf(reason)
          assert.strictEqual(error._tag === "SqlError" && error.reason, reason)
        }
        assert.strictEqual((yield* errorOf(new SqlSyntaxError({ cause: "other" })))._tag, "ConfigurationError")
      }
    })
)

describe("the audit's table", () => {
  const denied: Audit.AuditRecord = {
    referenceId: "ref-1",
    at: 5,
    runId: "r1",
    path: ["chief", "clerk"],
    tool: "pay",
    callId: "c1",
    argumentsHash: "ab",
    decision: "denied",
    security: false
  }
  const row = {
    reference_id: "ref-1",
    at: 5,
    actor: null,
    run_id: "r1",
    path: "chief/clerk",
    tool: "pay",
    call_id: "c1",
    arguments_hash: "ab",
    decision: "denied",
    decided_by: null,
    reason: null,
    security: 0
  }
  const more = { referenceId: "ref-2", actor: "ada", by: "closed", reason: "weekend", security: true }

  it.live("has all fields of each record, and null for absent ones", () =>
    database(
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        const write = (yield* Audit.Audit)!
        yield* write(denied)
        yield* write({ ...denied, ...more })
        assert.deepStrictEqual(
          (yield* sql`SELECT * FROM recourse_audit ORDER BY reference_id`).map((row) => ({ ...row })),
          [
            row,
            { ...row, reference_id: "ref-2", actor: "ada", decided_by: "closed", reason: "weekend", security: 1 }
          ]
        )
        const exit = yield* Effect.exit(sql.withTransaction(write({ ...denied, referenceId: "ref-3" })))
        const [died] = Exit.isFailure(exit) ? exit.cause.reasons : []
        assert.include(String(died !== undefined && "defect" in died && died.defect), "must be durable at once")
      }).pipe(Effect.provide(Audit.layerSql(), { local: true }))
    ))
})
