/** Writes completed, compensated and revoked writes into the logs of a run and of outer ones. */
import type { DoneWrite, Live } from "./completedWrites.ts"
import type { Run } from "../run.ts"
import { tallyDone, tallyRevoked, untallyDone } from "../state/counts.ts"

/** The id by which a call is known in the run around its agent. */
export const idAround = ({ start: { outerCall } }: Run, id: string): string =>
  outerCall === undefined ? id : `${outerCall.id}/${id}`

/** Records a completed call: in the run, and in outer ones. */
export const addDone = (
  run: Run | undefined,
  write: DoneWrite,
  live: Live | undefined,
  position = run?.writes.done?.begin() ?? 0
): void => {
  let { callId, root } = write
  for (let current = run; current?.writes.done !== undefined; current = current.parent) {
    const own = { ...write, callId, root }
    current.writes.done.set({ write: own, live, position })
    tallyDone(current, own)
    callId = idAround(current, callId)
    root = current.start.outerCall?.id ?? root
  }
}

/** Records that a write is compensated, or known not to have happened: in the run, and in outer ones. */
export const removeDone = (run: Run | undefined, id: string): void => {
  for (let current = run; current?.writes.done !== undefined; current = current.parent) {
    current.writes.done.delete(id)
    untallyDone(current, id)
  }
}

/** True if a write of an inner agent is not compensated by the run, or an outer one. */
export const isLeftIn = (run: Run | undefined, id: string): boolean =>
  run?.writes.done === undefined || (run.writes.done.get(id) !== undefined && isLeftIn(run.parent, id))

/** A person has rejected a call: earlier writes, or those with these ids, are to be compensated at the run's end. */
export const revokeDone = (run: Run | undefined, ids?: ReadonlyArray<string>): void => {
  for (let current = run; current?.writes.done !== undefined; current = current.parent) {
    tallyRevoked(current, current.writes.done.revoke(ids))
  }
}
