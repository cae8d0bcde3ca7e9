/**
 * Compensation marks: fields of the result of a call whose writes were to be compensated, with the names of their
 * tools.
 */

/** Known state of the writes: they are compensated, or their compensation has started, and failed or did not answer. */
export type CompensatedMark = "undone" | "may_be_undone"

export const compensatedMarks: ReadonlyArray<CompensatedMark> = ["undone", "may_be_undone"]
