/** In time: an approval that came in time for one life of a run came in time for the next ones. */
import { inTimeKey } from "../../path/entryKeys.ts"
import * as Effect from "effect/Effect"
import type { PendingCall } from "../../approval/snapshot.ts"
import { isCancelledReplay } from "../../run/cancelledReplay.ts"
import type { Run } from "../../run/run.ts"

/** One for each question, and for each time that it is asked. */
const keyOf = ({ start: { place } }: Run, { callId, requestedAt }: PendingCall): string =>
  inTimeKey(place, callId, requestedAt)

/** Whether a call that was approved may go on, as the approval came in time: now, or when an earlier life of the run went on with it. */
export const isInTime = (run: Run, pending: PendingCall, now: number): boolean =>
  now <= pending.expiresAt || run.journal?.find("wait", keyOf(run, pending)) !== undefined

/** Records that it did, before the call goes on: what it begins is not asked about again. */
export const recordInTime = (run: Run, pending: PendingCall): Effect.Effect<void> => {
  const { journal } = run
  const key = keyOf(run, pending)
  return journal === undefined || isCancelledReplay(journal) || journal.find("wait", key) !== undefined
    ? Effect.void
    : journal.record("wait", key, true)
}
