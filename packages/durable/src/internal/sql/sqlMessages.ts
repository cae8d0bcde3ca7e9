/** Messages of conversations in SQL. */
import * as Effect from "effect/Effect"
import type * as Statement from "effect/sql/Statement"
import { sqlInputPart } from "./sqlInputPart.ts"
import type { Parts } from "./sqlParts.ts"
import { sqlRemoveMessages } from "./sqlRemoveMessages.ts"
import { type MessageRow, messageRowOf, partOf } from "./sqlRows.ts"
import { sqlStepsAt } from "./sqlStepsAt.ts"
import type { MessagePart, Store } from "../store/store.ts"

/** The operations about messages. */
export const sqlMessages = (parts: Parts) => {
  const { failing, messages, rows, sql } = parts
  const columns = sql.literal("run_id, part, id, parent, size, messages")
  const stepsAt = sqlStepsAt(parts)

  const valuesOf = (part: MessagePart): Statement.Fragment => {
    const row = messageRowOf(part)
    return sql`CAST(${row.run_id} AS TEXT), CAST(${row.part} AS INTEGER), CAST(${row.id} AS TEXT),
      CAST(${row.parent} AS TEXT), CAST(${row.size} AS INTEGER), CAST(${row.messages} AS TEXT)`
  }
  /** Adds a part if a condition is met. */
  const insertWhere = (part: MessagePart, condition: Statement.Fragment): Statement.Statement<object> =>
    sql`INSERT INTO ${messages} (${columns}) SELECT ${valuesOf(part)} WHERE ${condition} ON CONFLICT DO NOTHING`

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
  return { operations, inputPart: sqlInputPart(parts), insertWhere, remove: sqlRemoveMessages(parts, stepsAt) }
}
