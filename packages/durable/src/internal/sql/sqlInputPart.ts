/** Messages of an input in SQL, behind the longest stored conversation that the input continues. */
import * as Effect from "effect/Effect"
import type * as SqlError from "effect/sql/SqlError"
import type { Parts } from "./sqlParts.ts"
import type { MessageRow } from "./sqlRows.ts"
import type { MessagePart, StartedRun } from "../store/store.ts"

/** Number of hashes in one statement's search: first those of the last messages, because nearly all are found there. */
const sizes = { first: 32, next: 500 } as const

/** A list as long as all of its kind: each length of a list is a statement of its own for PostgreSQL. */
const filled = (ids: ReadonlyArray<string>, length: number): ReadonlyArray<string> => [
  ...ids,
  ...Array.from({ length: length - ids.length }, () => ids[0]!)
]

/** Makes the operation. */
export const sqlInputPart = ({ messages, rows, sql }: Parts) => {
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
  return (
    runId: string,
    { ids, messages }: NonNullable<StartedRun["conversation"]>
  ): Effect.Effect<MessagePart, SqlError.SqlError> =>
    Effect.map(longest(ids.slice(0, -1)), (base) => ({
      runId,
      part: 0,
      id: ids.at(-1)!,
      parent: base?.id,
      size: messages.length,
      messages: messages.slice(base?.size ?? 0)
    }))
}
