/** Stores of durable runs over clients of databases whose SQL they do not know. */
import { assert, describe, it } from "@effect/vitest"
import { CircuitStore, RunStore } from "@recourse/durable"
import { Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, Statement } from "effect/sql"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"

type Door = (options: RunStore.SqlOptions) => Layer.Layer<never, unknown, SqlClient.SqlClient>

const doors: ReadonlyArray<readonly [name: string, door: Door]> = [
  ["RunStore.layerSql", RunStore.layerSql],
  ["CircuitStore.layerSql", CircuitStore.layerSql]
]

/** Builds a store, and returns why it is not built; an empty text if it is. */
const refusal = (door: Door, client: Layer.Layer<SqlClient.SqlClient, unknown>, create?: boolean) =>
  Effect.scoped(Layer.build(Layer.provide(door({ create }), client))).pipe(
    Effect.as(""),
    Effect.catch((error) => Effect.succeed(String((error as Error).message)))
  )

const problem = (name: string, database: string) =>
  `${name}: it cannot store in ${database}. PostgreSQL and SQLite are supported: give it a client of one of them`

/** A client of a dialect that answers no statement. */
const silent = (compiler: Statement.Compiler) =>
  Layer.effect(
    SqlClient.SqlClient,
    SqlClient.make({
      acquirer: Effect.die("a statement was sent"),
      compiler,
      driver: "none",
      spanAttributes: []
    })
  ).pipe(Layer.provide(Reactivity.layer))

const dialect = (name: "mysql" | "mssql" | "clickhouse"): Statement.Compiler => ({
  ...Statement.makeCompilerSqlite(),
  dialect: name
} as Statement.Compiler)

describe("a store of durable runs", () => {
  for (const [name, door] of doors) {
    it.effect(`${name} names the databases that it refuses, without a statement`, () =>
      Effect.gen(function*() {
        for (
          const [kind, database] of [
            ["mysql", "MySQL or MariaDB"],
            ["mssql", "SQL Server"],
            ["clickhouse", "ClickHouse"]
          ] as const
        ) {
          for (const create of [undefined, false]) {
            assert.strictEqual(yield* refusal(door, silent(dialect(kind)), create), problem(name, database))
          }
        }
      }))

    for (const database of sqlDatabases) {
      const isSupported = !database.name.startsWith("MySQL")
      it.live(`${name} is ${isSupported ? "built" : "refused"} on ${database.name}`, () =>
        Effect.acquireUseRelease(
          Effect.promise(database.open),
          ({ address }) =>
            Effect.map(refusal(door, sqlLayer(address)), (said) =>
              assert.strictEqual(said, isSupported ? "" : problem(name, "MySQL or MariaDB"))),
          ({ close }) =>
            Effect.promise(close)
        ), 30_000)
    }
  }
})
