/** Stores on a database that prints its statements. */

import { NodeSqliteClient } from "@recourse/sql"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

export const database = Effect.provide(NodeSqliteClient.layer({ filename: ":memory:" }), { local: true })

export const runAll = (statements: string) =>
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient
    for (const statement of statements.split(";\n")) if (statement !== "") yield* sql.unsafe(statement)
  })
