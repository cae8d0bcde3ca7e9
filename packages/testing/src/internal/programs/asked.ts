/** Questions to a person in a run, and their decisions. */
import type { Pause } from "../faults/approver.ts"

/** A question about calls that wait. One that is asked within a run has no snapshot. */
export type Asked = Omit<Pause, "snapshot"> & { readonly snapshot?: Pause["snapshot"] }
