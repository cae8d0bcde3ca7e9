/** Messages of conversations in SQL. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import { messagesOf, resolving, stepsNamedBy, textsIn } from "./conversation.ts"
import { orphanOf, referencedParts } from "./referencedMessages.ts"
import type { Parts } from "./sqlParts.ts"
import { type MessageRow, messageRowOf, partOf, stepOf, type StepRow } from "./sqlRows.ts"
import type { MessagePart, RunStoreError, StartedRun, Step, Store } from "./store.ts"

/** Number of hashes in one statement's search: first those of the last messages, because nearly all are found there. */
const sizes = { first: 32, next: 500 } as const

/** Number of steps that one statement reads. */
const mostSteps = 500

type Found<A> = Effect.Effect<A, SqlError.SqlError>

/** A list as long as all of its kind: each length of a list is a statement of its own for PostgreSQL. */
const filled = (ids: ReadonlyArray<string>, length: number): ReadonlyArray<string> => [
  ...ids,
  ...Array.from({ length: length - ids.length }, () => ids[0]!)
]

/** The operations about messages. */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its tables
export const sqlMessages = ({ failing, insertOf, isPg, messages, rows, sql, steps }: Parts) => {
  const columns = sql.literal("run_id, part, id, parent, size, messages")

  /** The longest of these conversations that is stored. */
  const longest = Effect.fnUntraced(function*(ids: ReadonlyArray<string>): Effect.fn.Return<
    Pick<MessageRow, "id" | "size"> | undefined,
    SqlError.SqlError
  > {
    for (let end = ids.length; end > 0;) {
      const length = end === ids.length ? sizes.first : sizes.next
      const some = ids.slice(Math.max(0, end - length), end)
      const [found] = yield* rows<Pick<MessageRow, "id" | "size">>(
        sql`SELECT id, size FROM ${messages} WHERE ${sql.in("id", filled(some, length))} ORDER BY size DESC LIMIT 1`
      )
      if (found !== undefined) return found
      end -= some.length
    }
    return undefined
  })

  /** The messages of an input behind the longest conversation that is stored. */
  const inputPart = (
    runId: string,
    { ids, messages }: NonNullable<StartedRun["conversation"]>
  ): Found<MessagePart> =>
    Effect.map(longest(ids.slice(0, -1)), (base) => ({
      runId,
      part: 0,
      id: ids.at(-1)!,
      parent: base?.id,
      size: messages.length,
      messages: messages.slice(base?.size ?? 0)
    }))

  const valuesOf = (part: MessagePart): Statement.Fragment => {
    const row = messageRowOf(part)
    return sql`CAST(${row.run_id} AS TEXT), CAST(${row.part} AS INTEGER), CAST(${row.id} AS TEXT),
      CAST(${row.parent} AS TEXT), CAST(${row.size} AS INTEGER), CAST(${row.messages} AS TEXT)`
  }
  /** Adds a part if a condition is met. */
  const insertWhere = (part: MessagePart, condition: Statement.Fragment): Statement.Statement<object> =>
    sql`INSERT INTO ${messages} (${columns}) SELECT ${valuesOf(part)} WHERE ${condition} ON CONFLICT DO NOTHING`

  const stepsAt = Effect.fnUntraced(function*(
    ids: ReadonlyArray<Pick<Step, "runId" | "position">>
  ): Effect.fn.Return<ReadonlyArray<Step>, SqlError.SqlError> {
    const found: Array<Step> = []
    for (const some of Arr.chunksOf(ids, mostSteps)) {
      const wanted = new Set(some.map(({ position, runId }) => `${position} ${runId}`))
      const read = yield* rows<StepRow>(sql`SELECT * FROM ${steps}
        WHERE ${sql.in("run_id", [...new Set(some.map(({ runId }) => runId))])}
          AND ${sql.in("position", [...new Set(some.map(({ position }) => position))])}`)
      found.push(...read.filter((row) => wanted.has(`${row.position} ${row.run_id}`)).map(stepOf))
    }
    return found
  })

  /** Keeps parts of runs that are about to be deleted, with their texts. */
  const keep = Effect.fnUntraced(function*(links: ReadonlyArray<MessageRow>): Effect.fn.Return<
    void,
    SqlError.SqlError | RunStoreError
  > {
    const kept = links.map(partOf)
    const textOf = textsIn(yield* stepsAt(stepsNamedBy(kept)))
    for (const part of kept) {
      const whole = {
        ...part,
        part: 0,
        runId: orphanOf(part.id),
        messages: yield* resolving(() => messagesOf(part, textOf))
      }
      yield* sql`INSERT INTO ${messages} ${insertOf([messageRowOf(whole)])} ON CONFLICT DO NOTHING`
    }
  })

  /** Deletes parts of deleted runs that no other part continues. */
  const removeOrphans = Effect.fnUntraced(
    function*(of: ReadonlyArray<string>): Effect.fn.Return<void, SqlError.SqlError> {
      for (let ids = of; ids.length > 0;) {
        const some = ids.slice(0, 1000)
        const rest = ids.slice(1000)
        const locked = yield* rows<Pick<MessageRow, "id">>(sql`SELECT id FROM ${messages}
        WHERE ${sql.in("run_id", some.map(orphanOf))} ${sql.literal(isPg ? "FOR UPDATE" : "")}`)
        const removed = locked.length === 0 ? [] : yield* rows<Pick<MessageRow, "parent">>(sql`DELETE FROM ${messages}
        WHERE ${sql.in("run_id", locked.map(({ id }) => orphanOf(id)))}
          AND NOT EXISTS (SELECT 1 FROM ${messages} AS next WHERE next.parent = ${messages}.id) RETURNING parent`)
        ids = [...rest, ...new Set(removed.flatMap(({ parent }) => parent === null ? [] : [parent]))]
      }
    }
  )

  /** Deletes the messages of runs, except those that other runs continue. Their steps are still there. Purges take turns. */
  const remove = Effect.fnUntraced(function*(runIds: ReadonlyArray<string>): Effect.fn.Return<
    void,
    SqlError.SqlError | RunStoreError
  > {
    const ofRuns = sql.in("run_id", runIds)
    if (isPg) yield* sql`SELECT pg_advisory_xact_lock(hashtext(${"recourse messages"}))`
    // A start that continues one of them has locked it: this waits for its end.
    const links = yield* rows<Pick<MessageRow, "run_id" | "part" | "id" | "parent">>(
      sql`SELECT run_id, part, id, parent FROM ${messages} WHERE ${ofRuns} ${sql.literal(isPg ? "FOR UPDATE" : "")}`
    )
    if (links.length === 0) return
    const ids = links.map(({ id }) => id)
    const others = sql`NOT (${ofRuns})`
    const wanted = yield* rows<{ readonly parent: string }>(
      sql`SELECT DISTINCT parent FROM ${messages} WHERE ${sql.in("parent", ids)} AND ${others}`
    )
    const there = yield* rows<Pick<MessageRow, "id">>(
      sql`SELECT DISTINCT id FROM ${messages} WHERE ${sql.in("id", ids)} AND ${others}`
    )
    const kept = referencedParts(
      links.map((link) => ({ ...link, parent: link.parent ?? undefined })),
      wanted.map(({ parent }) => parent),
      new Set(there.map(({ id }) => id))
    )
    for (const some of Arr.chunksOf(kept, 100)) {
      const read = yield* rows<MessageRow>(
        sql`SELECT * FROM ${messages} WHERE ${
          sql.or(some.map(({ part, run_id }) => sql`(run_id = ${run_id} AND part = ${part})`))
        }`
      )
      yield* keep(read)
    }
    yield* sql`DELETE FROM ${messages} WHERE ${ofRuns}`
    const own = new Set(ids)
    yield* removeOrphans([
      ...new Set(links.flatMap(({ parent }) => parent === null || own.has(parent) ? [] : [parent]))
    ])
  })

  const operations: Pick<Store, "messages" | "steps"> = {
    messages: (runId) =>
      failing(
        "messages",
        Effect.map(
          rows<MessageRow>(sql`
            WITH RECURSIVE chain AS (
              SELECT ${columns} FROM ${messages}
              WHERE run_id = ${runId} AND part = (SELECT MAX(part) FROM ${messages} WHERE run_id = ${runId})
              UNION ALL
              SELECT one.run_id, one.part, one.id, one.parent, one.size, one.messages
              FROM chain JOIN ${messages} AS one ON one.id = chain.parent AND one.run_id = (
                SELECT run_id FROM ${messages} AS same WHERE same.id = chain.parent
                ORDER BY CASE WHEN same.run_id = ${runId} THEN 0 ELSE 1 END, same.run_id LIMIT 1)
            ) SELECT * FROM chain ORDER BY size`),
          (found) => found.map(partOf)
        )
      ),
    steps: (ids) => failing("steps", stepsAt(ids))
  }
  return { operations, inputPart, insertWhere, remove }
}
