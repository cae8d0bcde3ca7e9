/** Ledger store in an SQL table, over `effect/sql`. Times are by the database's clock. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlConnection from "effect/sql/SqlConnection"
import * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import {
  type Columns,
  deleteExpired,
  durable,
  hasReturning,
  type InTransaction,
  nowMillis
} from "../foundation/sqlTable.ts"
import { withoutNul } from "../foundation/withoutNul.ts"
import { Entry, type Found, type Intent, LedgerError, Outcome, type Recorded, type Store } from "./ledgerStore.ts"

/** The ledger's table. */
export const columns: Columns = {
  id: { type: "id", isUnique: true },
  tool: { type: "name" },
  call_id: { type: "long" },
  arguments_hash: { type: "id" },
  claim: { type: "id" },
  started_at: { type: "millis" },
  leased_until: { type: "millis" },
  outcome: { type: "long", isOptional: true },
  expires_at: { type: "millis", isOptional: true, isIndexed: true }
}

type Count = number | string | bigint

interface Row {
  readonly id: string
  readonly tool: string
  readonly call_id: string
  readonly arguments_hash: string
  readonly claim: string
  readonly started_at: Count
  readonly leased_until: Count
  readonly outcome: string | null
  readonly expires_at: Count | null
  readonly now: Count
}

const decodeOutcome = Schema.decodeEffect(Schema.fromJsonString(Outcome))
const encodeOutcome = Schema.encodeEffect(Schema.fromJsonString(Outcome))

const foundOf = (row: Row): Effect.Effect<Found, Schema.SchemaError> =>
  Effect.map(
    row.outcome === null ? Effect.undefined : decodeOutcome(row.outcome),
    (outcome): Found => ({
      now: Number(row.now),
      entry: Entry.make({
        id: row.id,
        tool: row.tool,
        callId: row.call_id,
        arguments: row.arguments_hash,
        claim: row.claim,
        startedAt: Number(row.started_at),
        leasedUntil: Number(row.leased_until),
        ...(outcome === undefined ? undefined : { outcome }),
        ...(row.expires_at === null ? undefined : { expiresAt: Number(row.expires_at) })
      })
    })
  )

const isExpired = (row: Row): boolean => row.expires_at !== null && Number(row.expires_at) <= Number(row.now)

const isTaken = (error: SqlError.SqlError): boolean => error.reason._tag === "UniqueViolation"

type Failure = SqlError.SqlError | Schema.SchemaError | InTransaction

const millis = (duration: Duration.Duration): number => Math.ceil(Duration.toMillis(duration))

/** A store in a table that is there. */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its tables and its clock
export const sqlStore = (client: SqlClient.SqlClient, tableName: string): Store => {
  const sql = client.withoutTransforms()
  const table = sql(tableName)
  const now = nowMillis(sql)
  const canReturn = hasReturning(sql)

  const during = (operation: LedgerError["operation"]) => <A>(effect: Effect.Effect<A, Failure>) =>
    Effect.mapError(
      durable(sql, effect),
      (reason) =>
        new LedgerError({
          operation,
          reason,
          ...(SqlError.isSqlError(reason) && reason.isRetryable ? { isTransient: true } : undefined)
        })
    )

  const read = (id: string): Effect.Effect<Row | undefined, SqlError.SqlError> =>
    Effect.map(sql<Row>`SELECT t.*, ${now} AS now FROM ${table} t WHERE t.id = ${id}`, ([row]) => row)

  /** Inserts an entry, unless there is one with its id. */
  const insert = (
    intent: Intent,
    lease: Duration.Duration,
    outcome: string | null,
    timeToLive: Duration.Duration
  ): Effect.Effect<boolean, SqlError.SqlError> => {
    const expiresAt = outcome !== null && Duration.isFinite(timeToLive)
      ? sql`${now} + ${millis(timeToLive)}`
      : sql`NULL`
    const values = sql`INSERT INTO ${table}
      (id, tool, call_id, arguments_hash, claim, started_at, leased_until, outcome, expires_at)
      VALUES (${intent.id}, ${intent.tool}, ${withoutNul(intent.callId)}, ${intent.arguments}, ${intent.claim}, ${now},
        ${now} + ${millis(lease)}, ${outcome}, ${expiresAt})`
    return canReturn
      ? Effect.map(sql`${values} ON CONFLICT DO NOTHING RETURNING id`, (rows) => rows.length === 1)
      : Effect.catchIf(Effect.as(values, true), isTaken, () => Effect.succeed(false))
  }

  /** Changes an entry, and answers whether it was there to be changed. */
  const update = (
    id: string,
    statement: Statement.Statement<SqlConnection.Row>,
    isWanted: (row: Row) => boolean
  ): Effect.Effect<boolean, SqlError.SqlError> =>
    Effect.flatMap(canReturn ? sql`${statement} RETURNING id` : statement, (rows) =>
      rows.length === 1
        ? Effect.succeed(true)
        : Effect.map(read(id), (row) => row !== undefined && isWanted(row)))

  const begin = (intent: Intent, lease: Duration.Duration): Effect.Effect<Found | undefined, Failure> =>
    Effect.flatMap(
      insert(intent, lease, null, Duration.zero),
      (isInserted) =>
        isInserted ? Effect.undefined : Effect.flatMap(read(intent.id), (row) => {
          if (row === undefined) return begin(intent, lease)
          if (!isExpired(row)) return foundOf(row)
          return Effect.andThen(
            sql`DELETE FROM ${table} WHERE id = ${row.id} AND claim = ${row.claim} AND expires_at <= ${now}`,
            begin(intent, lease)
          )
        })
    )

  const complete = (
    intent: Intent,
    outcome: string,
    timeToLive: Duration.Duration
  ): Effect.Effect<Recorded, SqlError.SqlError> => {
    const expiresAt = Duration.isFinite(timeToLive) ? sql`${now} + ${millis(timeToLive)}` : sql`NULL`
    return Effect.flatMap(
      update(
        intent.id,
        sql`UPDATE ${table} SET outcome = ${outcome}, expires_at = ${expiresAt}
          WHERE id = ${intent.id} AND claim = ${intent.claim}`,
        ({ claim }) => claim === intent.claim
      ),
      (isUpdated): Effect.Effect<Recorded, SqlError.SqlError> =>
        isUpdated ? Effect.succeed("recorded") : Effect.flatMap(
          insert(intent, Duration.zero, outcome, timeToLive),
          (isInserted) =>
            isInserted ? Effect.succeed("restored") : Effect.flatMap(read(intent.id), (row) =>
              // Deleted or taken in between: asked again.
              row === undefined || row.claim === intent.claim
                ? complete(intent, outcome, timeToLive)
                : Effect.succeed("lost"))
        )
    )
  }

  return {
    begin: (intent, lease) => begin(intent, lease).pipe(during("begin")),
    renew: (intent, lease) =>
      update(
        intent.id,
        sql`UPDATE ${table} SET call_id = ${withoutNul(intent.callId)}, leased_until = ${now} + ${millis(lease)}
          WHERE id = ${intent.id} AND claim = ${intent.claim} AND outcome IS NULL`,
        (row) => row.claim === intent.claim && row.outcome === null
      ).pipe(during("renew")),
    renewAll: (intents, lease) => {
      const pendingClaims = sql`id IN ${sql.in(intents.map(({ id }) => id))}
        AND claim IN ${sql.in(intents.map(({ claim }) => claim))} AND outcome IS NULL`
      const renewed = sql<Pick<Row, "claim">>`UPDATE ${table} SET leased_until = ${now} + ${
        millis(lease)
      } WHERE ${pendingClaims}`
      const claims = canReturn
        ? sql<Pick<Row, "claim">>`${renewed} RETURNING claim`
        : Effect.andThen(renewed, sql<Pick<Row, "claim">>`SELECT claim FROM ${table} WHERE ${pendingClaims}`)
      return Effect.map(claims, (rows) => new Set(rows.map(({ claim }) => claim))).pipe(during("renew"))
    },
    find: (ids) =>
      Effect.flatMap(
        sql<Row>`SELECT t.*, ${now} AS now FROM ${table} t WHERE t.id IN ${sql.in(ids)}`,
        (rows) => Effect.forEach(rows.filter((row) => !isExpired(row)), foundOf)
      ).pipe(
        Effect.map((all) => new Map(all.map((found) => [found.entry.id, found]))),
        during("find")
      ),
    take: (from, intent, lease) =>
      update(
        intent.id,
        sql`UPDATE ${table} SET claim = ${intent.claim}, leased_until = ${now} + ${millis(lease)}
          WHERE id = ${from.id} AND claim = ${from.claim} AND outcome IS NULL AND leased_until <= ${now}`,
        // Taken by this very claim: the answer to the first try was lost.
        (row) => row.claim === intent.claim && row.outcome === null
      ).pipe(during("take")),
    complete: (intent, outcome, timeToLive) =>
      Effect.flatMap(encodeOutcome(outcome), (text) => complete(intent, text, timeToLive)).pipe(during("complete")),
    reopen: (intent, lease) =>
      sql`UPDATE ${table} SET outcome = NULL, expires_at = NULL, leased_until = ${now} + ${millis(lease)}
        WHERE id = ${intent.id} AND claim = ${intent.claim}`.pipe(Effect.asVoid, during("reopen")),
    release: (intent) =>
      sql`DELETE FROM ${table} WHERE id = ${intent.id} AND claim = ${intent.claim} AND outcome IS NULL`.pipe(
        Effect.asVoid,
        during("release")
      ),
    abandoned: (limit) =>
      Effect.flatMap(
        sql<Row>`SELECT t.*, ${now} AS now FROM ${table} t WHERE t.outcome IS NULL AND t.leased_until <= ${now}
          ORDER BY t.started_at DESC, t.id LIMIT ${sql.literal(String(Math.trunc(limit)))}`,
        (rows) => Effect.forEach(rows, foundOf)
      ).pipe(Effect.map((all) => all.map(({ entry }) => entry)), during("list")),
    purge: deleteExpired(sql, tableName, "id", "expires_at").pipe(during("purge"))
  }
}
