/** Deletion of messages in SQL: those that other runs continue are kept. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type * as Statement from "effect/sql/Statement"
import { messagesOf, resolving, stepsNamedBy, textsIn } from "../store/conversation.ts"
import { orphanOf, referencedParts } from "../store/referencedMessages.ts"
import type { Parts } from "./sqlParts.ts"
import { type MessageRow, messageRowOf, partOf } from "./sqlRows.ts"
import type { sqlStepsAt } from "./sqlStepsAt.ts"
import type { RunStoreError } from "../store/store.ts"

type Link = Pick<MessageRow, "run_id" | "part" | "id" | "parent">

/** Makes the function that keeps parts of runs which are about to be deleted, with their texts. */
const keeping = ({ insertOf, messages, sql }: Parts, stepsAt: ReturnType<typeof sqlStepsAt>) =>
  Effect.fnUntraced(function*(links: ReadonlyArray<MessageRow>): Effect.fn.Return<
    void,
    SqlError.SqlError | RunStoreError
  > {
    const parts = links.map(partOf)
    const textOf = textsIn(yield* stepsAt(stepsNamedBy(parts)))
    for (const part of parts) {
      const whole = {
        ...part,
        part: 0,
        runId: orphanOf(part.id),
        messages: yield* resolving(() => messagesOf(part, textOf))
      }
      yield* sql`INSERT INTO ${messages} ${insertOf([messageRowOf(whole)])} ON CONFLICT DO NOTHING`
    }
  })

/** Makes the function that deletes parts of deleted runs which no other part continues. */
const removingOrphans = ({ isPg, messages, rows, sql }: Parts) =>
  Effect.fnUntraced(
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

/** Makes the function that returns the parts of runs which other runs continue. */
const referencing = ({ messages, rows, sql }: Parts) =>
  Effect.fnUntraced(function*(
    links: ReadonlyArray<Link>,
    ofRuns: Statement.Fragment
  ): Effect.fn.Return<ReadonlyArray<Pick<Link, "run_id" | "part">>, SqlError.SqlError> {
    const ids = links.map(({ id }) => id)
    const others = sql`NOT (${ofRuns})`
    const wanted = yield* rows<{ readonly parent: string }>(
      sql`SELECT DISTINCT parent FROM ${messages} WHERE ${sql.in("parent", ids)} AND ${others}`
    )
    const there = yield* rows<Pick<MessageRow, "id">>(
      sql`SELECT DISTINCT id FROM ${messages} WHERE ${sql.in("id", ids)} AND ${others}`
    )
    return referencedParts(
      links.map((link) => ({ ...link, parent: link.parent ?? undefined })),
      wanted.map(({ parent }) => parent),
      new Set(there.map(({ id }) => id))
    )
  })

/** Makes the operation. */
export const sqlRemoveMessages = (parts: Parts, stepsAt: ReturnType<typeof sqlStepsAt>) => {
  const { isPg, messages, rows, sql } = parts
  const keep = keeping(parts, stepsAt)
  const removeOrphans = removingOrphans(parts)
  const referenced = referencing(parts)
  /** Deletes the messages of runs, except those that other runs continue. Their steps are still there. Purges take turns. */
  return Effect.fnUntraced(function*(runIds: ReadonlyArray<string>): Effect.fn.Return<
    void,
    SqlError.SqlError | RunStoreError
  > {
    const ofRuns = sql.in("run_id", runIds)
    if (isPg) yield* sql`SELECT pg_advisory_xact_lock(hashtext(${"recourse messages"}))`
    // A start that continues one of them has locked it: this waits for its end.
    const links = yield* rows<Link>(
      sql`SELECT run_id, part, id, parent FROM ${messages} WHERE ${ofRuns} ${sql.literal(isPg ? "FOR UPDATE" : "")}`
    )
    if (links.length === 0) return
    const referencedLinks = yield* referenced(links, ofRuns)
    for (const some of Arr.chunksOf(referencedLinks, 100)) {
      const read = yield* rows<MessageRow>(
        sql`SELECT * FROM ${messages} WHERE ${
          sql.or(some.map(({ part, run_id }) => sql`(run_id = ${run_id} AND part = ${part})`))
        }`
      )
      yield* keep(read)
    }
    yield* sql`DELETE FROM ${messages} WHERE ${ofRuns}`
    const own = new Set(links.map(({ id }) => id))
    yield* removeOrphans([
      ...new Set(links.flatMap(({ parent }) => parent === null || own.has(parent) ? [] : [parent]))
    ])
  })
}
