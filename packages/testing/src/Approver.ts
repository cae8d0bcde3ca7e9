/** Approver: the person who decides about waiting calls, played by a plan of faults. */
export { Approver, type Decide, layer, type Options, type Pause, run } from "./internal/faults/approver.ts"
