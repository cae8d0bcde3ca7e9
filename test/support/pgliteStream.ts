/** An embedded PostgreSQL (PGlite) as the stream that `@effect/sql-pg` talks to: the wire protocol, without a network. */
import { PGlite } from "@electric-sql/pglite"
import { PgClient } from "@effect/sql-pg"
import { Effect, Layer } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { Duplex } from "node:stream"

const connect = (db: PGlite): Duplex =>
  new Duplex({
    read: () => undefined,
    write(chunk: Uint8Array, _encoding, done) {
      db.execProtocolRaw(new Uint8Array(chunk)).then(
        (answer) => {
          this.push(answer)
          done()
        },
        done
      )
    },
    final(done) {
      this.push(null)
      done()
    }
  })

/** A client of a database in a directory, or in memory without one. One connection, because PGlite has one session. */
export const layer = (directory?: string) =>
  Layer.effect(
    SqlClient.SqlClient,
    Effect.gen(function*() {
      const db = yield* Effect.acquireRelease(
        Effect.promise(() => PGlite.create(directory)),
        (db) => Effect.promise(() => db.close())
      )
      return yield* PgClient.makeClient({
        stream: () => connect(db),
        username: "postgres",
        database: "postgres"
      })
    })
  ).pipe(Layer.provide(Reactivity.layer))
