/** Writes what is done, undone and revoked into the logs of a run and of those around it. */
import type { DoneWrite, Live } from "./completedWrites.ts"
import type { Run } from "../run.ts"
import { tallyDone, tallyRevoked, untallyDone } from "../state/counts.ts"

/** The id by which a call is known in the run around its agent. */
export const idAround = ({ start: { outerCall } }: Run, id: string): string =>
  outerCall === undefined ? id : `${outerCall.id}/${id}`

/** Writes down what a call has done: in the run, and in those around it. */
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

/** A write is undone, or known not to have happened: in the run, and in those around it. */
export const removeDone = (run: Run | undefined, id: string): void => {
  for (let current = run; current?.writes.done !== undefined; current = current.parent) {
    current.writes.done.delete(id)
    untallyDone(current, id)
  }
}

/** Whether a write of an agent within a run is not undone by the run, or one around it. */
export const isLeftIn = (run: Run | undefined, id: string): boolean =>
  run?.writes.done === undefined || (run.writes.done.get(id) !== undefined && isLeftIn(run.parent, id))

/** A person has refused a call: what was done before it, or the writes with these ids, are to be undone when the run ends. */
export const revokeDone = (run: Run | undefined, ids?: ReadonlyArray<string>): void => {
  for (let current = run; current?.writes.done !== undefined; current = current.parent) {
    tallyRevoked(current, current.writes.done.revoke(ids))
  }
}
