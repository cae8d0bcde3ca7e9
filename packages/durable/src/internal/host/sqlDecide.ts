/** The operations `decide` and `cancel` of a host in SQL. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { cancelledStep, needsRunner } from "../unemittedEnds.ts"
import { readConversation } from "../conversation.ts"
import { fitted } from "../requests.ts"
import { type Parts, text } from "../sqlParts.ts"
import type { RunRow } from "../sqlRows.ts"
import type { sqlSteps } from "../sqlSteps.ts"
import type { Host, Lease, RunLog } from "../store.ts"

/** Makes the operations. `cancelUnowned` is also the end of a cancelled run that comes to wait. */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its tables and its clock
export const sqlDecide = (
  { decisions, fenced, getRow, inTransaction, insertOf, lock, now, rows, runs, sql, states, steps }: Parts,
  { endOf, insertStep }: Pick<ReturnType<typeof sqlSteps>, "endOf" | "insertStep">,
  messages: Pick<RunLog, "messages" | "steps">
) => {
  /** Ends a run that is to be cancelled and that no process owns, or queues it if it may have to be compensated. Its row is locked. */
  const cancelUnowned = Effect.fnUntraced(function*(runId: string) {
    const run = yield* getRow(runId)
    if (run === undefined) return
    const [recorded] = yield* rows<object>(
      sql`SELECT position FROM ${steps} WHERE run_id = ${runId} AND leg = ${run.segment} AND kind <> 'told' LIMIT 1`
    )
    if (needsRunner(run, recorded !== undefined)) {
      yield* sql`UPDATE ${runs} SET ${states.to("compensate")}, leased_until = 0, asked_of = NULL, updated_at = ${now}
        WHERE run_id = ${runId}`
      return
    }
    const { events, positions } = yield* endOf(runId)
    const at = run.updatedAt
    const conversation = yield* readConversation(messages, runId)
    yield* insertStep(cancelledStep(run, conversation, { at, position: positions, firstEvent: events }))
    yield* sql`UPDATE ${runs} SET ${
      states.to("cancel")
    }, pending = '[]', asked_of = NULL, updated_at = ${now} WHERE run_id = ${runId}`
  })

  /** The decisions of a segment: fixed when they are first read by an owner. */
  const fixed = (hold: Lease, segment: number) =>
    sql.withTransaction(Effect.gen(function*() {
      const [run] = yield* rows<RunRow>(sql`SELECT * FROM ${runs} WHERE ${fenced("release", hold)} ${lock}`)
      if (run === undefined) return []
      const ofSegment = sql`run_id = ${hold.runId} AND leg = ${segment}`
      const fixed = yield* rows<{ readonly decision: string }>(
        sql`SELECT decision FROM ${decisions} WHERE ${ofSegment} AND is_used = 1 ORDER BY call_id`
      )
      const used = fixed.length > 0 ? fixed : yield* rows<{ readonly decision: string }>(
        sql`UPDATE ${decisions} SET is_used = 1 WHERE ${ofSegment} RETURNING decision`
      )
      return used.map(({ decision }) => JSON.parse(decision) as Schema.Json)
    }))

  const operations: Pick<Host, "cancel" | "decide"> = {
    decide: (runId, segment, decided) =>
      inTransaction(
        "decide",
        Effect.gen(function*() {
          const [run] = yield* rows<RunRow>(sql`SELECT * FROM ${runs} WHERE run_id = ${runId} ${lock}`)
          if (run?.leg !== segment) return { decidedBefore: decided[0]?.callId }
          // Models make the ids of calls: of any length, and of any characters.
          const ids = yield* Effect.forEach(decided, ({ callId }) => fitted(callId))
          const [before] = yield* rows<{ readonly call_id: string }>(
            sql`SELECT call_id FROM ${decisions} WHERE run_id = ${runId} AND leg = ${segment} AND ${
              sql.in("call_id", ids)
            }`
          )
          if (before !== undefined) return { decidedBefore: decided[ids.indexOf(before.call_id)]?.callId }
          yield* sql`INSERT INTO ${decisions} ${
            insertOf(decided.map(({ decision }, index) => ({
              run_id: runId,
              leg: segment,
              call_id: ids[index],
              is_used: 0,
              decision: text(decision)
            })))
          }`
          yield* sql`UPDATE ${runs} SET ${
            states.to("decide")
          }, asked_of = NULL, updated_at = ${now} WHERE run_id = ${runId}
            AND ${states.from("decide")}`
          return { decidedBefore: undefined }
        })
      ),
    cancel: (runId) =>
      inTransaction(
        "cancel",
        Effect.gen(function*() {
          const [run] = yield* rows<RunRow>(sql`
            UPDATE ${runs} SET is_cancelled = 1, updated_at = ${now}
            WHERE run_id = ${runId} AND ${sql.in("status", ["queued", "running", "waiting"])} RETURNING *`)
          if (run !== undefined && run.status !== "running") yield* cancelUnowned(runId)
          return run !== undefined
        })
      )
  }
  return { operations, cancelUnowned, fixed }
}
