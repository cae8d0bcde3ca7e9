/** Outer calls: the calls that a call is made in. */
import type { CallRecord } from "../record/record.ts"

/** The call of an agent, or by hand, that a call is made in, at whatever depth; itself, if there is none. */
export const rootOf = (record: CallRecord): CallRecord => record.parent === undefined ? record : rootOf(record.parent)

/** The call that a call is made in: by a tool, or by an agent that runs for it. */
export const outerOf = ({ around, parent }: CallRecord): CallRecord | undefined => parent ?? around

/** Does something to each call that a call is made in by a tool, or also by an agent, and that a write is met in again. */
export const forEachAround = (
  record: CallRecord,
  change: (around: CallRecord) => void,
  next: (record: CallRecord) => CallRecord | undefined = ({ parent }) => parent
): void => {
  for (let call: CallRecord | undefined = record; call !== undefined; call = next(call)) {
    if (call !== record) change(call)
    if (call.children.metIn === undefined) continue
    for (const other of call.children.metIn) {
      change(other)
      forEachAround(other, change, next)
    }
  }
}
