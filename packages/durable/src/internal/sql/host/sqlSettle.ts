/** The operation `settle` of a host in SQL. */
import * as Effect from "effect/Effect"
import { type Parts, text } from "../sqlParts.ts"
import type { RunRow, StepRow } from "../sqlRows.ts"
import type { sqlSteps } from "../sqlSteps.ts"
import { mostAtOnce } from "../sqlStepWrites.ts"
import type { sqlMessages } from "../sqlMessages.ts"
import type { Lease, Leaving, RunStoreError, Settlement, StoredRun } from "../../store/store.ts"
import { settlingOf } from "../../store/settleTransitions.ts"
import type { sqlCancel } from "./sqlCancel.ts"

/** Result of leaving a run: the run itself if its owner has given it back. */
type Left = "lost" | "left" | "queued" | Pick<StoredRun, "runId" | "agent" | "version">

/** Makes the operation. */
export const sqlSettle = (
  { decisions, failing, fenced, inTransaction, isPg, isRun, now, rows, runs, sql, states, steps }: Parts,
  { added, addedWith }: Pick<ReturnType<typeof sqlSteps>, "added" | "addedWith">,
  { insertWhere }: Pick<ReturnType<typeof sqlMessages>, "insertWhere">,
  { cancelUnowned }: Pick<ReturnType<typeof sqlCancel>, "cancelUnowned">
) => {
  const wakeAt = (wakeInMillis: number | undefined) =>
    wakeInMillis === undefined ? sql`0` : sql`${now} + ${Math.max(0, Math.round(wakeInMillis))}`

  /** Queues a run that waits and has decisions for it, and cancels one that is to be cancelled. */
  const unless = Effect.fnUntraced(function*(runId: string, segment: number): Effect.fn.Return<Left, unknown> {
    const left = yield* rows<object>(
      sql`UPDATE ${decisions} SET leg = ${
        segment + 1
      } WHERE run_id = ${runId} AND leg = ${segment} AND is_used = 0 RETURNING call_id`
    )
    const [run] = yield* rows<Pick<RunRow, "agent" | "is_cancelled" | "version">>(
      sql`SELECT agent, version, is_cancelled FROM ${runs} WHERE run_id = ${runId}`
    )
    if (run?.is_cancelled === 1) yield* cancelUnowned(runId)
    else if (left.length > 0) {
      yield* sql`UPDATE ${runs} SET ${states.to("decide")} WHERE run_id = ${runId} AND ${states.from("decide")}`
    } else return "left"
    return run === undefined ? "queued" : { runId, agent: run.agent, version: run.version }
  })

  const settle = (hold: Lease, settlement: Settlement): Effect.Effect<Left, RunStoreError> => {
    const { before = [], last, outcome, pending, said, snapshot, status } = settlement
    const name = settlingOf(settlement)
    const all = [...before, last]
    const waits = status === "waiting"
    const change = sql`SET ${states.to(name)}, leased_until = 0, updated_at = ${now}, pending = ${
      JSON.stringify(pending)
    }, outcome = ${text(outcome)} ${
      waits ?
        sql`, snapshot = ${text(snapshot)}, leg = leg + 1, ran = 0, asked = 0, asked_of = NULL,
          wake_at = ${wakeAt(settlement.wakeInMillis)}` :
        sql.literal("")
    } WHERE ${fenced(name, hold)}`
    const inSteps = inTransaction(
      "settle",
      Effect.gen(function*(): Effect.fn.Return<Left, unknown> {
        const areAdded = yield* added(all)
        if (areAdded.at(-1) !== "added") {
          // The answer of an earlier try was lost.
          const [there] = yield* rows<StepRow>(
            sql`SELECT * FROM ${steps} WHERE run_id = ${hold.runId} AND position = ${last.position}
              AND EXISTS (SELECT 1 FROM ${runs} WHERE ${isRun(hold)})`
          )
          return there !== undefined && there.epoch === hold.epoch && there.key === last.key ? "left" : "lost"
        }
        yield* sql`UPDATE ${runs} ${change}`
        if (said !== undefined) yield* insertWhere(said, sql`1 = 1`)
        return waits ? yield* unless(hold.runId, last.segment) : "left"
      })
    )
    if (!isPg || waits || all.length > mostAtOnce) return inSteps
    // A run of one answer ends with one round trip to the database.
    const also = said && insertWhere(said, sql`EXISTS (SELECT 1 FROM added)`)
    return Effect.flatMap(
      failing("settle", addedWith(all, change, also)),
      (isSettled) => isSettled ? Effect.succeed("left") : inSteps
    )
  }

  return (hold: Lease, leaving: Leaving): Effect.Effect<Left, RunStoreError> => {
    if ("last" in leaving) return settle(hold, leaving)
    const name = settlingOf(leaving)
    const and = "asked" in leaving
      ? sql`, asked = ${leaving.asked}, asked_of = ${leaving.askedOf ?? null}, wake_at = ${
        wakeAt(leaving.wakeInMillis)
      }`
      : leaving.status === "queued"
      ? sql`, leased_until = 0`
      : sql.literal("")
    const change = sql`UPDATE ${runs} SET ${states.to(name)}${and} WHERE ${fenced(name, hold)} RETURNING agent, version`
    return Effect.map(
      failing("settle", rows<Pick<RunRow, "agent" | "version">>(change)),
      ([changed]): Left => {
        if (changed === undefined) return "lost"
        if (leaving.status === "asked") return "left"
        return leaving.status === "lent" ? "queued" : { runId: hold.runId, ...changed }
      }
    )
  }
}
