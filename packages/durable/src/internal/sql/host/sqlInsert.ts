/** Inserts of runs in SQL, with the messages of their inputs. */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import type { sqlMessages } from "../sqlMessages.ts"
import type { Parts } from "../sqlParts.ts"
import { runOf, type RunRow } from "../sqlRows.ts"
import type { MessagePart, RunStoreError, StartedRun, StoredRun } from "../../store/store.ts"

/** The operation `insert` of a store. Without a lease the run is queued. */
export const sqlInsert = (
  { failing, getRow, inStatement, inTransaction, isPg, messages, now, rows, runs, sql }: Parts,
  { inputPart, insertWhere }: Pick<ReturnType<typeof sqlMessages>, "inputPart" | "insertWhere">
) => {
  const always = sql.literal("1 = 1")
  const insertWhen = (run: StartedRun, condition: Statement.Fragment): Statement.Statement<object> => {
    const { agent, delayMillis, input, leaseMillis, owner, parent, runId, trace, version } = run
    const aloneFor = leaseMillis ?? delayMillis
    const until = aloneFor === undefined ? sql`0` : sql`${now} + ${Math.round(aloneFor)}`
    const text = (value: string | undefined) => sql`CAST(${value ?? null} AS TEXT)`
    return sql`
      INSERT INTO ${runs} (run_id, agent, version, owner, parent_id, trace, status, epoch, leg, is_cancelled, lent, leased_until,
        renewed_at, ran, read_until, wake_at, asked, started_at, updated_at, input, pending)
      SELECT ${text(runId)}, ${text(agent)}, ${text(version)}, ${text(owner)}, ${text(parent)}, ${text(trace)},
        ${text(leaseMillis === undefined ? "queued" : "running")}, ${
      sql.literal(leaseMillis === undefined ? "0" : "1")
    }, 0, 0, 0,
        ${until}, ${now}, 0, 0, 0, 0, ${now}, ${now}, CAST(${JSON.stringify(input)} AS TEXT), '[]'
      WHERE ${condition} ON CONFLICT DO NOTHING RETURNING *`
  }
  /** Adds a run and its part in one statement. Neither is added if the part continues messages that are gone. For PostgreSQL. */
  const addedAtOnce = (run: StartedRun, part: MessagePart) => {
    const base = sql`SELECT id FROM ${messages} WHERE id = ${part.parent ?? null} LIMIT 1 FOR KEY SHARE`
    const isThere = part.parent === undefined ? always : sql`EXISTS (SELECT 1 FROM base)`
    return rows<RunRow>(sql`WITH base AS MATERIALIZED (${base}), added AS (${insertWhen(run, isThere)}),
      also AS (${insertWhere(part, sql`EXISTS (SELECT 1 FROM added)`)}) SELECT * FROM added`)
  }
  const added = Effect.fnUntraced(function*(run: StartedRun): Effect.fn.Return<
    ReadonlyArray<RunRow>,
    SqlError.SqlError | RunStoreError
  > {
    const { conversation, runId } = run
    if (conversation === undefined) return yield* rows<RunRow>(insertWhen(run, always))
    const part = yield* inputPart(runId, conversation)
    if (isPg) {
      const inserted = yield* addedAtOnce(run, part)
      if (inserted.length > 0 || part.parent === undefined || (yield* getRow(runId)) !== undefined) return inserted
      return yield* addedAtOnce(run, { ...part, parent: undefined, messages: conversation.messages })
    }
    const inserted = yield* rows<RunRow>(insertWhen(run, always))
    if (inserted.length > 0) yield* insertWhere(part, always)
    return inserted
  })
  return (run: StartedRun): Effect.Effect<{ readonly run: StoredRun; readonly isNew: boolean }, RunStoreError> => {
    const insert = Effect.gen(function*() {
      const [row] = yield* added(run)
      return row === undefined
        ? { run: (yield* getRow(run.runId))!, isNew: false }
        : { run: runOf(row), isNew: true }
    })
    return run.conversation === undefined || isPg
      ? failing("insert", inStatement(insert))
      : inTransaction("insert", insert)
  }
}
