/**
 * Suspension of a call made by a tool: a call that waits for a person blocks until no write runs in parallel in the
 * call of the agent.
 */
import * as Effect from "effect/Effect"
import { blockCall, nextChange } from "../../run/state/runState.ts"
import type { Run } from "../../run/run.ts"
import { type CallRecord, outerOf, rootOf } from "../record/record.ts"
import { writesWithin } from "./writesWithin.ts"

/** True if a call is another one, or is made in it. */
const isIn = (record: CallRecord, outer: CallRecord): boolean => {
  for (let call: CallRecord | undefined = record; call !== undefined; call = outerOf(call)) {
    if (call === outer) return true
  }
  return false
}

/**
 * True if a write runs in parallel to a call. A write that contains a blocked call is excluded: it may wait for this
 * one.
 */
const isWriteRunning = (record: CallRecord, { counts: { admitted: { blocked } } }: Run): boolean =>
  writesWithin(rootOf(record)).some((write) =>
    write.outcome.running > 0 && !isIn(record, write) &&
    ![...blocked].some((other) => isIn(other as CallRecord, write))
  )

/**
 * Succeeds once no write runs in parallel to a call: then its run can pause, and the outcome of each write is known.
 */
export const quietSiblings = (run: Run | undefined, record: CallRecord): Effect.Effect<void> => {
  if (run === undefined || record.parent === undefined) return Effect.void
  const wait: Effect.Effect<void> = Effect.suspend(() =>
    isWriteRunning(record, run) ? Effect.andThen(nextChange(run), wait) : Effect.void
  )
  return Effect.suspend(() => Effect.ensuring(wait, Effect.sync(blockCall(run, record))))
}
