/** Approval deadline: an approval that was in time for one execution of a run is in time for the next ones. */
import { inTimeKey } from "../../path/entryKeys.ts"
import * as Effect from "effect/Effect"
import type { PendingCall } from "../../approval/snapshot.ts"
import type { Run } from "../../run/run.ts"

/** One for each question, and for each time that it is asked. */
const keyOf = ({ start: { place } }: Run, { callId, requestedAt }: PendingCall): string =>
  inTimeKey(place, callId, requestedAt)

/**
 * True if an approved call may continue, because the approval was in time: now, or when an earlier execution of the run
 * resumed it.
 */
export const isInTime = (run: Run, pending: PendingCall, now: number): boolean =>
  now <= pending.expiresAt || run.log?.find("wait", keyOf(run, pending)) !== undefined

/** Records that it was in time, before the call continues: its later work needs no further approval. */
export const recordInTime = (run: Run, pending: PendingCall): Effect.Effect<void> => {
  const { log } = run
  const key = keyOf(run, pending)
  return log === undefined || log.isCancelledReplay || log.find("wait", key) !== undefined
    ? Effect.void
    : log.record("wait", key, true)
}
