/**
 * Claims of snapshots in a table, with failing statements: a process retakes its unknown claims, and misreads no other
 * state.
 */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, type Scope } from "effect"
import { TestClock } from "effect/testing"
import { Reactivity } from "effect/reactivity"
import { SqlClient, type SqlConnection, SqlError, Statement } from "effect/sql"
import { Approval } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"

/** `lost`: the statement is done, and its answer does not come. */
type Fault = "fails" | "lost"

const wentWrong = Effect.fail(new SqlError.SqlError({ reason: new SqlError.ConnectionError({ cause: "drawn" }) }))

/** A database in memory, whose next statements behave as configured, with a record of the statements. */
const faulty = () => {
  const faults: Array<Fault | undefined> = []
  const statements: Array<string> = []
  const around = <A>(sql: string, effect: Effect.Effect<A, SqlError.SqlError>) =>
    Effect.suspend((): Effect.Effect<A, SqlError.SqlError> => {
      statements.push(sql.split(" ")[0]!)
      const fault = faults.shift()
      return fault === undefined ? effect : fault === "lost" ? Effect.andThen(effect, wentWrong) : wentWrong
    })
  const watched = (connection: SqlConnection.Connection): SqlConnection.Connection => ({
    execute: (sql, params, transform) => around(sql, connection.execute(sql, params, transform)),
    executeRaw: (sql, params) => around(sql, connection.executeRaw(sql, params)),
    executeStream: (sql, params, transform) => connection.executeStream(sql, params, transform),
    executeValues: (sql, params) => around(sql, connection.executeValues(sql, params)),
    executeValuesUnprepared: (sql, params) => around(sql, connection.executeValuesUnprepared(sql, params)),
    executeUnprepared: (sql, params, transform) => around(sql, connection.executeUnprepared(sql, params, transform))
  })
  const layer = Layer.effect(
    SqlClient.SqlClient,
    Effect.flatMap(SqlClient.SqlClient, (client) =>
      SqlClient.make({
        acquirer: Effect.map(client.reserve, watched),
        compiler: Statement.makeCompilerSqlite(),
        driver: client.driver,
        spanAttributes: []
      }))
  ).pipe(Layer.provide([NodeSqliteClient.layer({ filename: ":memory:" }), Reactivity.layer]))
  return { faults, statements, layer }
}

type Claim = Effect.Effect<boolean | Approval.Resumption | Approval.ClaimedSnapshot>

/** The table, and processes that claim one snapshot in it. */
const over = (
  test: (
    database: ReturnType<typeof faulty>,
    process: Effect.Effect<Claim, unknown, SqlClient.SqlClient | Scope.Scope>
  ) => Effect.Effect<void, unknown, SqlClient.SqlClient | Scope.Scope>
) =>
  Effect.suspend(() => {
    const database = faulty()
    const process = Effect.map(
      Effect.provide(Approval.Resumptions, Layer.fresh(Approval.layerResumptionsSql({ lease: "6 hours" })), {
        local: true
      }),
      ({ claim }) => claim("snapshot_1")
    )
    return test(database, process).pipe(Effect.provide(database.layer))
  })

const yielding = Effect.repeat(Effect.yieldNow, { times: 50 })

/** A claim whose statements fail, and its release. */
const lost = ({ faults }: ReturnType<typeof faulty>, claim: Claim, ...wrong: ReadonlyArray<Fault | undefined>) =>
  Effect.gen(function*() {
    faults.push(...wrong)
    assert.isTrue(Exit.hasDies(yield* Effect.exit(claim)))
    yield* yielding
    assert.deepStrictEqual(faults, [])
  })

const isTakenOver = (held: boolean | Approval.Resumption | Approval.ClaimedSnapshot): boolean | "held by another" =>
  typeof held === "boolean" || "freeAt" in held ? "held by another" : held.isTakenOver

/** Claimed by a process that has ended: its lease is over. */
const leftBehind = Effect.flatMap(
  SqlClient.SqlClient,
  (sql) =>
    sql`INSERT INTO recourse_resumptions (snapshot_id, claim, claimed_at, leased_until) VALUES ('snapshot_1', 'a', 0, 0)`
)

describe("a claim whose answer was lost", () => {
  it.effect("is its process's own when it claims again, and no other's", () =>
    over((database, process) =>
      Effect.gen(function*() {
        const [one, other] = [yield* process, yield* process]
        yield* lost(database, one, "lost", "fails")
        assert.strictEqual(isTakenOver(yield* other), "held by another")
        assert.strictEqual(isTakenOver(yield* one), false)
        assert.strictEqual(isTakenOver(yield* one), "held by another")
        assert.strictEqual(isTakenOver(yield* other), "held by another")
      })
    ))

  it.effect("is given back, so that others need not wait for its lease", () =>
    over((database, process) =>
      Effect.gen(function*() {
        const [one, other] = [yield* process, yield* process]
        yield* lost(database, one, "lost")
        assert.strictEqual(isTakenOver(yield* other), false)
        assert.strictEqual(isTakenOver(yield* one), "held by another")
      })
    ))

  it.effect("claims no snapshot if it never reached the table", () =>
    over((database, process) =>
      Effect.gen(function*() {
        const [one, other] = [yield* process, yield* process]
        yield* lost(database, one, "fails")
        assert.strictEqual(isTakenOver(yield* one), false)
        assert.strictEqual(isTakenOver(yield* other), "held by another")
      })
    ))

  it.effect("is removed once its process has the snapshot", () =>
    over((database, process) =>
      Effect.gen(function*() {
        const one = yield* process
        yield* lost(database, one, "lost")
        const held = yield* one
        assert(typeof held === "object" && "end" in held)
        yield* held.end("free")
        database.statements.length = 0
        assert.strictEqual(isTakenOver(yield* one), false)
        assert.deepStrictEqual(database.statements, ["INSERT"])
      })
    ))

  it.effect("of an abandoned snapshot stays an interrupted resumption for every claimant", () =>
    over((database, process) =>
      Effect.gen(function*() {
        const [one, other] = [yield* process, yield* process]
        yield* leftBehind
        yield* lost(database, one, undefined, "lost")
        assert.strictEqual(isTakenOver(yield* other), true)
        assert.strictEqual(isTakenOver(yield* one), "held by another")
      })
    ))

  it.effect("of an abandoned snapshot stays so for its own process too", () =>
    over((database, process) =>
      Effect.gen(function*() {
        const [one, other] = [yield* process, yield* process]
        yield* leftBehind
        // The statement that takes it, and the one that gives it back.
        yield* lost(database, one, undefined, "lost", "fails")
        assert.strictEqual(isTakenOver(yield* other), "held by another")
        // The one that adopts it, and the one that gives it back.
        yield* lost(database, one, "lost", "fails")
        const held = yield* one
        assert.strictEqual(isTakenOver(held), true)
        assert(typeof held === "object" && "end" in held)
        yield* held.end("abandoned")
        yield* lost(database, one, undefined, "lost", "fails")
        yield* lost(database, one, "lost")
        assert.strictEqual(isTakenOver(yield* other), true)
      })
    ))
})

describe("the lease of a claim", () => {
  it.effect("is renewed while it holds the snapshot, and no longer", () =>
    over((database, process) =>
      Effect.gen(function*() {
        const sql = yield* SqlClient.SqlClient
        assert.strictEqual(isTakenOver(yield* yield* process), false)
        const renewals = Effect.gen(function*() {
          database.statements.length = 0
          for (let third = 0; third < 3; third++) {
            yield* TestClock.adjust("2 hours")
            yield* yielding
          }
          return database.statements.filter((statement) => statement === "UPDATE").length
        })
        assert.strictEqual(yield* renewals, 3)
        yield* sql`UPDATE recourse_resumptions SET claim = 'another'`
        assert.strictEqual(yield* renewals, 1)
      })
    ))
})
