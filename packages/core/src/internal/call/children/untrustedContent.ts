/** Reads of untrusted tools within a call: noted in all calls around it, and in the arguments that may repeat them. */
import type { Run } from "../../run/run.ts"
import { taintRun } from "../../run/state/runState.ts"
import { type CallRecord, forEachAround, outerOf, rootOf } from "../record/record.ts"
import { addRead, taintArguments } from "../record/marks.ts"
import type { Attempt } from "../attemptLog.ts"

/** Notes that untrusted tools were read within a call, and in the calls that it is made in. */
export const noteRead = (record: CallRecord, tools: ReadonlyArray<string>): void => {
  if (tools.length === 0) return
  addRead(record, tools)
  forEachAround(record, (outer) => addRead(outer, tools))
}

/** Passes the taint of a nested run on to the reader of its answer: the call that it ran within, or the run around it. */
export const passTaint = (
  { reading, start }: Run,
  parent: Run,
  call: { readonly record: CallRecord } | undefined
): void => {
  if (start.outerCall !== undefined && call !== undefined) noteRead(call.record, reading.taintedBy)
  else taintRun(parent, reading.taintedBy)
}

/**
 * Notes the untrusted tools that the arguments of an attempt may repeat: all that were read in the call of the model before the
 * arguments were made. Arguments that an attempt repeats keep the taint that they had.
 */
export const noteArguments = (record: CallRecord, args: unknown): void => {
  const { requested } = record.attempts
  if (requested === undefined || requested.arguments !== args) taintArguments(record, rootOf(record).marks.read)
}

/** Notes that an untrusted tool is read: within a call of the model, or by the run itself in `instructions` or `prepareTurn`. */
export const noteUntrusted = ({ call: { record }, run }: Attempt, name: string): void => {
  noteRead(record, [name])
  if (run !== undefined && record.gate === undefined && outerOf(record) === undefined) taintRun(run, [name])
}
