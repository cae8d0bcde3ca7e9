/** The person who is asked about calls that wait, as a plan of faults has them answer. */
export { Approver, type Decide, layer, type Options, type Pause, run } from "./internal/faults/approver.ts"
