/** Writes of a run: those that have started, those that can be compensated, and those that were. */
import { type CompensableWrite, CompletedWrites } from "../writes/completedWrites.ts"
import type { CompensatedCall } from "../runEntries.ts"
import type { WriteLog } from "../writes/writeLog.ts"
import { AnswersByEntry } from "./answersByEntry.ts"

/** The write of a call in the event of its result. */
export interface ReportedWrite {
  readonly known: CompensableWrite["known"]
  /** Whether its tool has a `compensate`. */
  readonly hasCompensation: boolean
  /** The write as data, if it can be compensated. */
  readonly compensable?: CompensableWrite | undefined
}

/** A write that a run has started, with the known outcome of its call. */
export interface StartedWrite {
  readonly happened: "no" | "unknown" | "yes"
  readonly isCompensated: boolean
}

export interface Writes<Run> {
  /** Store of the start and the end of the writes, if there is one: never together with a journal. */
  readonly log: WriteLog | undefined
  /** The writes that can be compensated, also those of runs around it; none if neither the run nor a run around it compensates. */
  readonly completed: CompletedWrites | undefined
  /** True if the run, or an outer one, compensates its writes when a person rejects a call. */
  readonly compensatesWhenRejected: boolean
  /** True if compensation has started: the run cannot be resumed. */
  readonly isCompensating: boolean
  /** The outcomes of the writes that the run was to compensate, nested agents included. */
  readonly compensations: ReadonlyArray<CompensatedCall>
  /**
   * True if a write has started, here or within, that neither a ledger nor a person's decision reports to a repetition.
   */
  readonly hasWritten: boolean
  /** The writes that have started in the run and in the runs nested in it. */
  readonly started: ReadonlyArray<StartedWrite>
  /** Calls that the ledger answered with another call's write; one for the run and everything nested in it. */
  readonly ledgerAnswers: AnswersByEntry<Run>
  /** The writes of calls whose result is not announced yet, by the ids of the calls: for listeners that are given details. */
  readonly reported: ReadonlyMap<string, ReportedWrite>
}

const none: ReadonlyArray<never> = []
const noneReported: ReadonlyMap<string, ReportedWrite> = new Map()

class State<Run> implements Writes<Run> {
  readonly log: Writes<Run>["log"]
  readonly completed: Writes<Run>["completed"]
  readonly compensatesWhenRejected: boolean
  readonly ledgerAnswers: AnswersByEntry<Run>
  compensations: ReadonlyArray<CompensatedCall> = none
  isCompensating = false
  hasWritten = false
  started: ReadonlyArray<StartedWrite> = none
  reported: ReadonlyMap<string, ReportedWrite> = noneReported

  constructor(
    log: Writes<Run>["log"],
    completed: Writes<Run>["completed"],
    compensatesWhenRejected: boolean,
    ledgerAnswers: AnswersByEntry<Run>
  ) {
    this.log = log
    this.completed = completed
    this.compensatesWhenRejected = compensatesWhenRejected
    this.ledgerAnswers = ledgerAnswers
  }
}

/** Known writes of a run: most records go to the outer runs as well. */
interface Writing {
  readonly writes: Pick<Writes<unknown>, "compensations" | "hasWritten" | "isCompensating" | "reported" | "started">
  readonly parent: Writing | undefined
}

/** The writes of a run that starts. `compensates`: whether the run compensates, and whether it does so if a call is rejected. */
export const newWrites = <Run>(
  parent: { readonly writes: Writes<Run> } | undefined,
  log: Writes<Run>["log"],
  compensates: { readonly whenRejected: boolean } | undefined
): Writes<Run> => {
  const around = parent?.writes
  return new State(
    log,
    around?.completed ?? (compensates && new CompletedWrites()),
    compensates?.whenRejected === true || around?.compensatesWhenRejected === true,
    around?.ledgerAnswers ?? new AnswersByEntry()
  )
}

const own = (run: Writing): State<unknown> => run.writes as State<unknown>

/** Notes a write that has started in a run and in all runs around it. */
export const noteStartedWrite = (run: Writing | undefined, write: StartedWrite): void => {
  for (let current = run; current !== undefined; current = current.parent) {
    const state = own(current)
    if (state.started === none) state.started = [write]
    else (state.started as Array<StartedWrite>).push(write)
  }
}

/** Notes in a run, and in all that it is nested in, that a write has started that no ledger knows. */
export const noteWritten = (run: Writing | undefined): void => {
  for (let current = run; current !== undefined; current = current.parent) own(current).hasWritten = true
}

/** Notes the outcome of a write that the run was to compensate. */
export const addCompensation = (run: Writing, call: CompensatedCall): void => {
  const state = own(run)
  state.compensations = [...state.compensations, call]
}

/** Notes that the compensation of a run has started. */
export const noteCompensating = (run: Writing): void => {
  own(run).isCompensating = true
}

/** Notes the write of a call for the event of its result, or removes the note of a write that did not happen. */
export const noteReported = (run: Writing, callId: string, write: ReportedWrite | undefined): void => {
  const state = own(run)
  if (state.reported === noneReported) {
    if (write === undefined) return
    state.reported = new Map()
  }
  const reported = state.reported as Map<string, ReportedWrite>
  if (write === undefined) reported.delete(callId)
  else reported.set(callId, write)
}

/** Returns the write of a call whose result is announced, and removes its note. */
export const takeReported = (run: Writing, callId: string): ReportedWrite | undefined => {
  const write = run.writes.reported.get(callId)
  if (write !== undefined) noteReported(run, callId, undefined)
  return write
}
