/** Undone marks: what stands beside the result of a call whose writes were to be undone, with the names of their tools. */

/** What is known of the writes: they are undone, or their undoing has begun, and it failed or gave no answer. */
export type CompensatedMark = "undone" | "may_be_undone"

export const compensatedMarks: ReadonlyArray<CompensatedMark> = ["undone", "may_be_undone"]
