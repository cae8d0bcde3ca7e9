/** Writes within a call: its own, and those of the calls that are made in it. */
import type { CallRecord } from "../record/record.ts"

/**
 * Returns the started writes of a call: its own, and inner ones, also of agents. A call without a tool is one done
 * before the pause, or one that an earlier execution has started.
 */
export const writesWithin = (record: CallRecord): ReadonlyArray<CallRecord> =>
  [record, ...record.children.within ?? []].filter(({ outcome: { executed, happened }, attempts: { tool } }) =>
    tool === undefined ? happened !== "no" : tool.effects === "write" && (executed || happened !== "no")
  )

/** True if a write may have been done in a call. */
export const mayHaveWritten = (record: CallRecord): boolean =>
  writesWithin(record).some(({ outcome: { happened } }) => happened !== "no")
