/** State of a run: its usage and its calls, its writes, and the words that its model has read. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as RunUsage from "../../../RunUsage.ts"
import type { CompensatedCall, ExecutedCall } from "../runEntries.ts"
import { type CompensableWrite, CompletedWrites } from "../writes/completedWrites.ts"
import type { WriteLog } from "../writes/writeLog.ts"
import { AnswersByEntry } from "./answersByEntry.ts"
import type * as Prompt from "effect/ai/Prompt"

/** A write without a key of an agent within a call, at its place. */
export interface PlacedWrite {
  readonly write: StartedWrite
  readonly isRunning: boolean
}

/** Calls that policies have admitted and that run; one for a run and everything nested in it. */
export interface Admitted {
  /** Grows with each call that is admitted. */
  readonly version: number
  /** The calls, by their records. */
  readonly calls: ReadonlyMap<object, { readonly agentRunId: string; readonly arguments: unknown }> | undefined
  /** Those that wait for a person, once no write runs in parallel to them. */
  readonly blocked: ReadonlySet<object>
  /** Done at the next change; present if a call waits for one. */
  readonly change: Deferred.Deferred<void> | undefined
}

const noCalls: ReadonlySet<object> = new Set()

class AdmittedCalls implements Admitted {
  version = 0
  calls: Map<object, { readonly agentRunId: string; readonly arguments: unknown }> | undefined = undefined
  /** Attempts of one call that run at once share a place. */
  placed: Map<string, PlacedWrite> | undefined = undefined
  blocked = noCalls
  change: Deferred.Deferred<void> | undefined = undefined
}

/** Further counts for an entry of the journal. */
export interface Tally {
  readonly usage: Readonly<Record<string, number>>
  readonly executed: ReadonlyArray<ExecutedCall>
}

class RunTally implements Tally {
  readonly usage: Record<string, number> = {}
  readonly executed: Array<ExecutedCall> = []
}

export interface Counts {
  /** The usage of this agent and everything nested in it. */
  readonly usage: RunUsage.RunUsage
  /** The calls that reached an executor, of this agent and everything nested in it. */
  readonly executed: ReadonlyArray<ExecutedCall>
  readonly admitted: Admitted
  /** Set in a section of the run, which is counted for itself as well. */
  readonly tally: Tally | undefined
}

class RunCounts implements Counts {
  readonly usage: { -readonly [K in keyof RunUsage.RunUsage]: RunUsage.RunUsage[K] }
  readonly executed: Array<ExecutedCall>
  readonly admitted: AdmittedCalls
  readonly tally: RunTally | undefined

  constructor(
    usage: RunUsage.RunUsage,
    executed: Array<ExecutedCall>,
    admitted: AdmittedCalls,
    tally: RunTally | undefined
  ) {
    this.usage = usage
    this.executed = executed
    this.admitted = admitted
    this.tally = tally
  }
}

/** Counts of a run: each count goes to the outer runs as well. */
export interface Counting {
  readonly counts: Counts
  readonly parent: Counting | undefined
}

/** Returns the counts of a run that starts, or of one that is resumed. */
export const newCounts = (
  parent: Counting | undefined,
  before: { readonly usage: Partial<RunUsage.RunUsage>; readonly executed: ReadonlyArray<unknown> } | undefined
): Counts =>
  new RunCounts(
    { ...RunUsage.none, ...before?.usage },
    // Entries are continued, and the snapshot is its owner's.
    before === undefined ? [] : before.executed.map((entry) => ({ ...entry as ExecutedCall })),
    parent === undefined ? new AdmittedCalls() : countsOf(parent).admitted,
    undefined
  )

/** Returns the counts of a section of a run: they are the run's, with a tally. */
export const sectionOf = (run: Pick<Counting, "counts">): Counts => {
  const { admitted, executed, usage } = countsOf(run)
  return new RunCounts(usage, executed, admitted, new RunTally())
}

const countsOf = (run: Pick<Counting, "counts">): RunCounts => run.counts as RunCounts

/** Adds to the usage of a run and of all its parents. */
export const use = (run: Counting | undefined, kind: keyof RunUsage.RunUsage, amount: number): void => {
  for (let current = run; current !== undefined; current = current.parent) {
    const { tally, usage } = countsOf(current)
    usage[kind] = (usage[kind] ?? 0) + amount
    if (tally !== undefined) tally.usage[kind] = (tally.usage[kind] ?? 0) + amount
  }
}

/** Adds an execution to the record of a run and of all its parents. */
export const addExecuted = (run: Counting | undefined, entry: ExecutedCall): void => {
  for (let current = run; current !== undefined; current = current.parent) {
    const { executed, tally } = countsOf(current)
    executed.push(entry)
    tally?.executed.push(entry)
  }
}

/** Notes a call that is admitted. */
export const admitCall = (run: Counting, record: object, agentRunId: string, args: unknown): void => {
  const { admitted } = countsOf(run)
  admitted.version++
  ;(admitted.calls ??= new Map()).set(record, { agentRunId, arguments: args })
}

/** Forgets the admitted calls that a predicate is true for. */
export const forgetAdmitted = (run: Counting, isOver: (record: object) => boolean): void => {
  const { calls } = countsOf(run).admitted
  if (calls === undefined || calls.size === 0) return
  for (const record of calls.keys()) if (isOver(record)) calls.delete(record)
}

/** Returns the write at a place. */
export const placedWrite = (run: Counting, place: string): PlacedWrite | undefined =>
  countsOf(run).admitted.placed?.get(place)

/** Places a write that starts. Returns an effect on the counts: it notes that the write has ended. */
export const placeWrite = (run: Counting, place: string, write: StartedWrite): () => void => {
  const placed = { write, isRunning: true }
  ;(countsOf(run).admitted.placed ??= new Map()).set(place, placed)
  return () => {
    placed.isRunning = false
  }
}

/** Succeeds at the next change of the calls of a run and of everything nested in it. */
export const nextChange = (run: Counting): Effect.Effect<void> =>
  Effect.suspend(() => Deferred.await(countsOf(run).admitted.change ??= Deferred.makeUnsafe<void>()))

/** Notes a change for which calls may wait: a call was made, has ended, or was matched. */
export const noteChange = (run: Counting | undefined): void => {
  if (run === undefined) return
  const { admitted, admitted: { change } } = countsOf(run)
  if (change === undefined) return
  admitted.change = undefined
  Deferred.doneUnsafe(change, Effect.void)
}

/** Notes a call that waits for a person. Returns an effect on the counts: it waits no longer. */
export const blockCall = (run: Counting, record: object): () => void => {
  const { admitted } = countsOf(run)
  admitted.blocked = new Set(admitted.blocked).add(record)
  noteChange(run)
  return () => {
    admitted.blocked = new Set([...admitted.blocked].filter((other) => other !== record))
  }
}

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

export interface Reading {
  /** Untrusted tools whose words the run has read, with those that the runs around it had read when it started. */
  readonly taintedBy: ReadonlyArray<string>
  /** The skill that the agent has chosen for this run. */
  readonly skill: string | undefined
  /** The messages of the agent's last request to the model, if events include requests. */
  readonly requested: ReadonlyArray<Prompt.Message>
  /** Tools that are left out of requests until a time, in milliseconds since the epoch. */
  readonly hidden: ReadonlyMap<string, number>
}

const noTools: ReadonlyMap<string, number> = new Map()
const noMessages: ReadonlyArray<Prompt.Message> = []

/** The reading of a run that is resumed. */
interface Before {
  readonly skill?: string | undefined
  readonly hidden: Readonly<Record<string, number>>
}

/** Facts about a run that it alone writes: its writes, and the reading of its model. */
class Facts<Run> implements Writes<Run>, Reading {
  readonly log: Writes<Run>["log"]
  readonly completed: Writes<Run>["completed"]
  readonly compensatesWhenRejected: boolean
  readonly ledgerAnswers: AnswersByEntry<Run>
  compensations: ReadonlyArray<CompensatedCall> = none
  isCompensating = false
  hasWritten = false
  started: ReadonlyArray<StartedWrite> = none
  reported: ReadonlyMap<string, ReportedWrite> = noneReported
  readonly taintedBy: Array<string>
  skill: string | undefined
  requested = noMessages
  hidden: ReadonlyMap<string, number>

  constructor(
    log: Writes<Run>["log"],
    around: Writes<Run> | undefined,
    compensates: { readonly whenRejected: boolean } | undefined,
    taintedBy: Array<string>,
    before: Before | undefined
  ) {
    this.log = log
    this.completed = around?.completed ?? (compensates && new CompletedWrites())
    this.compensatesWhenRejected = compensates?.whenRejected === true || around?.compensatesWhenRejected === true
    this.ledgerAnswers = around?.ledgerAnswers ?? new AnswersByEntry()
    this.taintedBy = taintedBy
    this.skill = before?.skill
    this.hidden = before === undefined ? noTools : new Map(Object.entries(before.hidden))
  }
}

/** Known writes of a run: most records go to the outer runs as well. */
interface Writing {
  readonly writes: Pick<Writes<unknown>, "compensations" | "hasWritten" | "isCompensating" | "reported" | "started">
  readonly parent: Writing | undefined
}

interface Has {
  readonly reading: Reading
}

/** The facts of a run that starts with this taint, or is resumed. `compensates`: whether the run compensates, and whether it does so if a call is rejected. */
export const newFacts = <Run>(
  parent: { readonly writes: Writes<Run> } | undefined,
  log: Writes<Run>["log"],
  compensates: { readonly whenRejected: boolean } | undefined,
  taintedBy: Array<string>,
  before: Before | undefined
): { readonly writes: Writes<Run>; readonly reading: Reading } => {
  const facts = new Facts(log, parent?.writes, compensates, taintedBy, before)
  return { writes: facts, reading: facts }
}

const writesOf = (run: Writing): Facts<unknown> => run.writes as Facts<unknown>

const readingOf = (run: Has): Facts<unknown> => run.reading as Facts<unknown>

/** Notes a write that has started in a run and in all runs around it. */
export const noteStartedWrite = (run: Writing | undefined, write: StartedWrite): void => {
  for (let current = run; current !== undefined; current = current.parent) {
    const state = writesOf(current)
    if (state.started === none) state.started = [write]
    else (state.started as Array<StartedWrite>).push(write)
  }
}

/** Notes in a run, and in all that it is nested in, that a write has started that no ledger knows. */
export const noteWritten = (run: Writing | undefined): void => {
  for (let current = run; current !== undefined; current = current.parent) writesOf(current).hasWritten = true
}

/** Notes the outcome of a write that the run was to compensate. */
export const addCompensation = (run: Writing, call: CompensatedCall): void => {
  const state = writesOf(run)
  state.compensations = [...state.compensations, call]
}

/** Notes that the compensation of a run has started. */
export const noteCompensating = (run: Writing): void => {
  writesOf(run).isCompensating = true
}

/** Notes the write of a call for the event of its result, or removes the note of a write that did not happen. */
export const noteReported = (run: Writing, callId: string, write: ReportedWrite | undefined): void => {
  const state = writesOf(run)
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

/** Adds the names of untrusted tools, each once. */
export const addTaint = (taintedBy: Array<string>, tools: ReadonlyArray<string>): void => {
  for (const tool of tools) if (!taintedBy.includes(tool)) taintedBy.push(tool)
}

/** Notes that the run has read words of untrusted tools. */
export const taintRun = (run: Has, tools: ReadonlyArray<string>): void => {
  addTaint(readingOf(run).taintedBy, tools)
}

/** Notes the skill that the agent has chosen. */
export const chooseSkill = (run: Has, skill: string | undefined): void => {
  readingOf(run).skill = skill
}

/** Keeps the messages of the last request. */
export const keepRequest = (run: Has, messages: ReadonlyArray<Prompt.Message>): void => {
  readingOf(run).requested = messages
}

/** Leaves a tool out of requests until a time, in milliseconds since the epoch. */
export const hideTool = (run: Has, tool: string, until: number): void => {
  const state = readingOf(run)
  state.hidden = new Map(state.hidden).set(tool, until)
}
