/** Entries in a table, over `effect/sql`. */
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import { type Entry, Intent, isExpired, LedgerError, Outcome, type Store } from "./store.ts"

interface Row {
  readonly id: string
  readonly tool: string
  readonly call_id: string
  readonly arguments_hash: string
  readonly claim: string
  readonly started_at: number | string | bigint
  readonly outcome: string | null
  readonly expires_at: number | string | bigint | null
}

const decodeOutcome = Schema.decodeEffect(Schema.fromJsonString(Outcome))
const encodeOutcome = Schema.encodeEffect(Schema.fromJsonString(Outcome))

const entryOf = (row: Row): Effect.Effect<Entry, Schema.SchemaError> =>
  Effect.map(
    row.outcome === null ? Effect.undefined : decodeOutcome(row.outcome),
    (outcome): Entry => ({
      ...Intent.make({
        id: row.id,
        tool: row.tool,
        callId: row.call_id,
        arguments: row.arguments_hash,
        claim: row.claim,
        startedAt: Number(row.started_at)
      }),
      ...(outcome === undefined ? undefined : { outcome }),
      ...(row.expires_at === null ? undefined : { expiresAt: Number(row.expires_at) })
    })
  )

const isTaken = (error: SqlError.SqlError): boolean => error.reason._tag === "UniqueViolation"

/** Within a transaction nothing is durable yet, and a rollback would forget what was done: refused. */
class InTransaction extends Schema.TaggedError<InTransaction>()("InTransaction", {}) {
  override get message(): string {
    return "The ledger's intents must be durable at once: do not run an agent within a transaction of the same client"
  }
}

/** A store in a table, which is created if it is not there. */
export const sqlStore = (
  client: SqlClient.SqlClient,
  tableName: string
): Effect.Effect<Store, SqlError.SqlError> => {
  const sql = client.withoutTransforms()
  const table = sql(tableName)

  const during = (operation: LedgerError["operation"]) =>
    Effect.mapError((reason: unknown) => new LedgerError({ operation, reason }))

  const durable = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | InTransaction> =>
    Effect.flatMap(
      Effect.serviceOption(client.transactionService),
      (transaction): Effect.Effect<A, E | InTransaction> =>
        Option.isSome(transaction) ? Effect.fail(new InTransaction()) : effect
    )

  const insert = (intent: Intent) =>
    sql`INSERT INTO ${table} (id, tool, call_id, arguments_hash, claim, started_at) VALUES (
      ${intent.id}, ${intent.tool}, ${intent.callId}, ${intent.arguments}, ${intent.claim}, ${intent.startedAt}
    )`

  const begin = (
    intent: Intent
  ): Effect.Effect<Entry | undefined, SqlError.SqlError | Schema.SchemaError> =>
    Effect.catchIf(
      Effect.as(insert(intent), undefined),
      isTaken,
      () =>
        Effect.flatMap(sql<Row>`SELECT * FROM ${table} WHERE id = ${intent.id}`, ([row]) =>
          row === undefined
            ? begin(intent)
            : Effect.flatMap(entryOf(row), (entry) =>
              isExpired(entry, intent.startedAt)
                ? Effect.andThen(
                  sql`DELETE FROM ${table} WHERE id = ${entry.id} AND claim = ${entry.claim}`,
                  begin(intent)
                )
                : Effect.succeed(entry)))
    )

  const store: Store = {
    begin: (intent) => durable(begin(intent)).pipe(during("begin")),
    take: (from, intent) =>
      durable(Effect.andThen(
        sql`UPDATE ${table} SET claim = ${intent.claim}, call_id = ${intent.callId}, started_at = ${intent.startedAt}
          WHERE id = ${from.id} AND claim = ${from.claim} AND outcome IS NULL`,
        Effect.map(
          sql<Pick<Row, "claim">>`SELECT claim FROM ${table} WHERE id = ${intent.id}`,
          ([row]) => row?.claim === intent.claim
        )
      )).pipe(during("take")),
    complete: (intent, outcome, expiresAt) =>
      durable(Effect.flatMap(
        encodeOutcome(outcome),
        (text) =>
          sql`UPDATE ${table} SET outcome = ${text}, expires_at = ${expiresAt}
            WHERE id = ${intent.id} AND claim = ${intent.claim}`
      )).pipe(Effect.asVoid, during("complete")),
    release: (intent) =>
      durable(sql`DELETE FROM ${table} WHERE id = ${intent.id} AND claim = ${intent.claim}`).pipe(
        Effect.asVoid,
        during("release")
      )
  }

  // Not a primary key: effect reports a violation of SQLite's as a constraint of any kind, and of this as what it is.
  return Effect.as(
    sql`CREATE TABLE IF NOT EXISTS ${table} (
      id VARCHAR(64) NOT NULL UNIQUE,
      tool VARCHAR(64) NOT NULL,
      call_id TEXT NOT NULL,
      arguments_hash VARCHAR(64) NOT NULL,
      claim VARCHAR(64) NOT NULL,
      started_at BIGINT NOT NULL,
      outcome TEXT,
      expires_at BIGINT
    )`,
    store
  )
}
