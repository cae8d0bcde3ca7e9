/** Writes of a run: those that have started, those that can be compensated, and those that were. */
import type { DoneWrites } from "../writes/completedWrites.ts"
import type { CompensatedCall } from "../runEntries.ts"
import type { WriteLog } from "../writes/writeLog.ts"
import { AnswersByEntry } from "./answersByEntry.ts"

/** A write that a run has started, with the known outcome of its call. */
export interface StartedWrite {
  readonly happened: "no" | "unknown" | "yes"
  readonly isCompensated: boolean
}

export interface Writes<Run> {
  /** Store of the start and the end of the writes, if there is one: never together with a journal. */
  readonly log: WriteLog | undefined
  /** The writes that can be compensated; none if neither the run nor a run around it compensates. */
  readonly done: DoneWrites | undefined
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
}

const none: ReadonlyArray<never> = []

class State<Run> implements Writes<Run> {
  readonly log: Writes<Run>["log"]
  readonly done: Writes<Run>["done"]
  readonly ledgerAnswers: AnswersByEntry<Run>
  compensations: ReadonlyArray<CompensatedCall> = none
  hasWritten = false
  started: ReadonlyArray<StartedWrite> = none

  constructor(log: Writes<Run>["log"], done: Writes<Run>["done"], ledgerAnswers: AnswersByEntry<Run>) {
    this.log = log
    this.done = done
    this.ledgerAnswers = ledgerAnswers
  }
}

/** Known writes of a run: most records go to the outer runs as well. */
interface Writing {
  readonly writes: Pick<Writes<unknown>, "compensations" | "hasWritten" | "started">
  readonly parent: Writing | undefined
}

/** The writes of a run that starts. */
export const newWrites = <Run>(
  parent: { readonly writes: Writes<Run> } | undefined,
  log: Writes<Run>["log"],
  done: Writes<Run>["done"]
): Writes<Run> => new State(log, done, parent?.writes.ledgerAnswers ?? new AnswersByEntry())

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
