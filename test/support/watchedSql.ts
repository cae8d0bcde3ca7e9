/** A client that asks before and after each statement of another one: tests end a process there, or lose an answer. */
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, type SqlError, Statement } from "effect/sql"

/** Action before or after a statement. */
export type Hook = (sql: string, connection: SqlConnection.Connection) => Effect.Effect<void, SqlError.SqlError>

/** Actions before and after each statement. */
export interface Watch {
  readonly before: Hook
  readonly after: Hook
}

const watched = (connection: SqlConnection.Connection, { after, before }: Watch): SqlConnection.Connection => {
  const around = <A>(sql: string, effect: Effect.Effect<A, SqlError.SqlError>) =>
    Effect.andThen(before(sql, connection), Effect.tap(effect, () => after(sql, connection)))
  return {
    execute: (sql, params, transform) => around(sql, connection.execute(sql, params, transform)),
    executeRaw: (sql, params) => around(sql, connection.executeRaw(sql, params)),
    executeStream: (sql, params, transform) =>
      Stream.unwrap(Effect.as(before(sql, connection), connection.executeStream(sql, params, transform))),
    executeValues: (sql, params) => around(sql, connection.executeValues(sql, params)),
    executeValuesUnprepared: (sql, params) => around(sql, connection.executeValuesUnprepared(sql, params)),
    executeUnprepared: (sql, params, transform) => around(sql, connection.executeUnprepared(sql, params, transform))
  }
}

/** A client over another one. */
export const watchedSql = (
  watch: Watch
): Layer.Layer<SqlClient.SqlClient, never, SqlClient.SqlClient> =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.gen(function*() {
      const client = yield* SqlClient.SqlClient
      const isPg = client.onDialectOrElse({ pg: () => true, orElse: () => false })
      return yield* SqlClient.make({
        acquirer: Effect.map(client.reserve, (connection) => watched(connection, watch)),
        compiler: isPg ? PgClient.makeCompiler() : Statement.makeCompilerSqlite(),
        beginTransaction: isPg ? "BEGIN" : "BEGIN IMMEDIATE",
        driver: client.driver,
        spanAttributes: []
      })
    })
  ).pipe(Layer.provide(Reactivity.layer))
