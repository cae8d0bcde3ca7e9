/** Untrusted reads: the tools whose text a call of the model, or the run itself, has read. */
import type { Attempt } from "../attemptLog.ts"
import { outerOf } from "./outerCalls.ts"
import { noteRead } from "./untrustedContent.ts"
import { taintRun } from "../../run/state/reading.ts"

/** Notes that an untrusted tool is read: within a call of the model, or by the run itself in `instructions` or `prepareTurn`. */
export const noteUntrusted = ({ call: { record }, run }: Attempt, name: string): void => {
  noteRead(record, [name])
  if (run !== undefined && record.gate === undefined && outerOf(record) === undefined) taintRun(run, [name])
}
