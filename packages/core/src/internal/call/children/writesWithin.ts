/** Writes within a call: its own, and those of the calls that are made in it. */
import type { CallRecord } from "../record/record.ts"

/**
 * The writes that have begun in a call: its own, and those within it, also of agents. A call without a tool is one that was done
 * before the run paused, or that an earlier execution has started.
 */
export const writesWithin = (record: CallRecord): ReadonlyArray<CallRecord> =>
  [record, ...record.children.within ?? []].filter(({ outcome: { executed, happened }, attempts: { tool } }) =>
    tool === undefined ? happened !== "no" : tool.effects === "write" && (executed || happened !== "no")
  )

/** Whether a write may have been done in a call. */
export const mayHaveWritten = (record: CallRecord): boolean =>
  writesWithin(record).some(({ outcome: { happened } }) => happened !== "no")
