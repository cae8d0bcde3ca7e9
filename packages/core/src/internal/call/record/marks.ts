/** Marks of a call: the untrusted tools that were read within it, and the marks of its result. Most calls have none. */
import type { Degraded } from "../../projection/degradedMark.ts"

export interface Marks {
  /** Untrusted tools that had been read within the call of the model before the present arguments were made. */
  readonly argumentsTaintedBy: ReadonlyArray<string> | undefined
  /** Untrusted tools that were read within the call: its own executor, tools that it called, agents that it ran. */
  readonly read: ReadonlyArray<string> | undefined
  /** The marks of the parts of the result that came from elsewhere: the call's own, and those of calls that it made. */
  readonly degraded: ReadonlyArray<Degraded> | undefined
}

interface Has {
  marks: Marks
}

/** The marks of a new call. */
export const noMarks: Marks = { argumentsTaintedBy: undefined, read: undefined, degraded: undefined }

/** Notes that untrusted tools were read within the call. */
export const addRead = (record: Has, tools: ReadonlyArray<string>): void => {
  const { read = [] } = record.marks
  const all = new Set([...read, ...tools])
  if (all.size > read.length) record.marks = { ...record.marks, read: [...all] }
}

/** Notes the untrusted tools that the call's new arguments may repeat. */
export const taintArguments = (record: Has, read: ReadonlyArray<string> | undefined): void => {
  if (read !== record.marks.argumentsTaintedBy) record.marks = { ...record.marks, argumentsTaintedBy: read }
}

/** Notes marks of the parts of the call's result. */
export const noteDegraded = (record: Has, marks: ReadonlyArray<Degraded> | undefined): void => {
  if (marks !== undefined) record.marks = { ...record.marks, degraded: [...record.marks.degraded ?? [], ...marks] }
}

/** Forgets them: the result is another one. */
export const forgetDegraded = (record: Has): void => {
  if (record.marks.degraded !== undefined) record.marks = { ...record.marks, degraded: undefined }
}
