/** The operation `cancel` of a host in SQL. */
import * as Effect from "effect/Effect"
import { readConversation } from "../../store/conversation.ts"
import type { Parts } from "../sqlParts.ts"
import type { RunRow } from "../sqlRows.ts"
import type { sqlSteps } from "../sqlSteps.ts"
import type { Host, RunLog } from "../../store/store.ts"
import { cancelledStep, needsRunner } from "../../store/unemittedEnds.ts"
import { isUnreadable } from "../../store/unreadable.ts"

/** Makes the operation. `cancelUnowned` is also the end of a cancelled run that comes to wait. */
export const sqlCancel = (
  { getRow, inTransaction, now, rows, runs, sql, states, steps }: Parts,
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
    const conversation = yield* Effect.catchIf(readConversation(messages, runId), isUnreadable, () => Effect.undefined)
    const isDamaged = run.unreadable !== undefined || conversation === undefined
    if (isDamaged || needsRunner(run, recorded !== undefined)) {
      yield* sql`UPDATE ${runs} SET ${states.to("compensate")}, leased_until = 0, asked_of = NULL, updated_at = ${now}
        WHERE run_id = ${runId}`
      return
    }
    const { events, positions } = yield* endOf(runId)
    const at = run.updatedAt
    yield* insertStep(cancelledStep(run, conversation, { at, position: positions, firstEvent: events }))
    yield* sql`UPDATE ${runs} SET ${
      states.to("cancel")
    }, pending = '[]', asked_of = NULL, updated_at = ${now} WHERE run_id = ${runId}`
  })

  const cancel: Host["cancel"] = (runId) =>
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
  return { cancel, cancelUnowned }
}
