/** Marks of a call: the untrusted tools that were read within it, and the marks of its result. Most calls have none. */
import type { Degraded } from "../../projection/degradedMark.ts"
import { addTaint } from "../../run/state/reading.ts"

export interface Marks {
  /** Untrusted tools that had been read within the call of the model before the present arguments were made. */
  readonly argumentsTaintedBy: ReadonlyArray<string> | undefined
  /** Untrusted tools that were read within the call: its own executor, tools that it called, agents that it ran. */
  readonly read: ReadonlyArray<string> | undefined
  /** The marks of the parts of the result that came from elsewhere: the call's own, and those of calls that it made. */
  readonly degraded: ReadonlyArray<Degraded> | undefined
}

class State implements Marks {
  argumentsTaintedBy: Marks["argumentsTaintedBy"] = undefined
  read: Array<string> | undefined = undefined
  degraded: Array<Degraded> | undefined = undefined
}

interface Has {
  readonly marks: Marks
}

/** The state of a call without marks: one for all, until a call writes its own. */
export const noMarks: Marks = new State()

const own = (record: { marks: Marks }): State =>
  (record.marks === noMarks ? record.marks = new State() : record.marks) as State

/** Notes that untrusted tools were read within the call. */
export const addRead = (record: Has, tools: ReadonlyArray<string>): void => addTaint(own(record).read ??= [], tools)

/** Notes the untrusted tools that the call's new arguments may repeat. */
export const taintArguments = (record: Has, read: ReadonlyArray<string> | undefined): void => {
  if (read === record.marks.argumentsTaintedBy) return
  own(record).argumentsTaintedBy = read === undefined ? undefined : [...read]
}

/** Notes marks of the parts of the call's result. */
export const noteDegraded = (record: Has, marks: ReadonlyArray<Degraded> | undefined): void => {
  if (marks !== undefined) (own(record).degraded ??= []).push(...marks)
}

/** Forgets them: the result is another one. */
export const forgetDegraded = (record: Has): void => {
  if (record.marks.degraded !== undefined) own(record).degraded = undefined
}
