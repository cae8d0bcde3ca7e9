/** Counts of a run: its usage, the calls that it has executed, and the calls that run. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as RunUsage from "../../../RunUsage.ts"
import type { ExecutedCall } from "../runEntries.ts"
import type { StartedWrite } from "./writes.ts"

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
}

const noCalls: ReadonlySet<object> = new Set()

class AdmittedCalls implements Admitted {
  version = 0
  calls: Map<object, { readonly agentRunId: string; readonly arguments: unknown }> | undefined = undefined
  /** Attempts of one call that run at once share a place. */
  placed: Map<string, PlacedWrite> | undefined = undefined
  blocked = noCalls
  /** Done at the next change that a call waits for. */
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

class State implements Counts {
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
  new State(
    { ...RunUsage.none, ...before?.usage },
    // Entries are continued, and the snapshot is its owner's.
    before === undefined ? [] : before.executed.map((entry) => ({ ...entry as ExecutedCall })),
    parent === undefined ? new AdmittedCalls() : own(parent).admitted,
    undefined
  )

/** Returns the counts of a section of a run: they are the run's, with a tally. */
export const sectionOf = (run: Pick<Counting, "counts">): Counts => {
  const { admitted, executed, usage } = own(run)
  return new State(usage, executed, admitted, new RunTally())
}

const own = (run: Pick<Counting, "counts">): State => run.counts as State

/** Adds to the usage of a run and of all its parents. */
export const use = (run: Counting | undefined, kind: keyof RunUsage.RunUsage, amount: number): void => {
  for (let current = run; current !== undefined; current = current.parent) {
    const { tally, usage } = own(current)
    usage[kind] = (usage[kind] ?? 0) + amount
    if (tally !== undefined) tally.usage[kind] = (tally.usage[kind] ?? 0) + amount
  }
}

/** Adds an execution to the record of a run and of all its parents. */
export const addExecuted = (run: Counting | undefined, entry: ExecutedCall): void => {
  for (let current = run; current !== undefined; current = current.parent) {
    const { executed, tally } = own(current)
    executed.push(entry)
    tally?.executed.push(entry)
  }
}

/** Notes a call that is admitted. */
export const admitCall = (run: Counting, record: object, agentRunId: string, args: unknown): void => {
  const { admitted } = own(run)
  admitted.version++
  ;(admitted.calls ??= new Map()).set(record, { agentRunId, arguments: args })
}

/** Forgets the admitted calls that a predicate is true for. */
export const forgetAdmitted = (run: Counting, isOver: (record: object) => boolean): void => {
  const { calls } = own(run).admitted
  if (calls === undefined || calls.size === 0) return
  for (const record of calls.keys()) if (isOver(record)) calls.delete(record)
}

/** Returns the write at a place. */
export const placedWrite = (run: Counting, place: string): PlacedWrite | undefined =>
  own(run).admitted.placed?.get(place)

/** Places a write that starts. Returns an effect on the counts: it notes that the write has ended. */
export const placeWrite = (run: Counting, place: string, write: StartedWrite): () => void => {
  const placed = { write, isRunning: true }
  ;(own(run).admitted.placed ??= new Map()).set(place, placed)
  return () => {
    placed.isRunning = false
  }
}

/** Succeeds at the next change of the calls of a run and of everything nested in it. */
export const nextChange = (run: Counting): Effect.Effect<void> =>
  Effect.suspend(() => Deferred.await(own(run).admitted.change ??= Deferred.makeUnsafe<void>()))

/** Notes a change for which calls may wait: a call was made, has ended, or was matched. */
export const noteChange = (run: Counting | undefined): void => {
  if (run === undefined) return
  const { admitted, admitted: { change } } = own(run)
  if (change === undefined) return
  admitted.change = undefined
  Deferred.doneUnsafe(change, Effect.void)
}

/** Notes a call that waits for a person. Returns an effect on the counts: it waits no longer. */
export const blockCall = (run: Counting, record: object): () => void => {
  const { admitted } = own(run)
  admitted.blocked = new Set(admitted.blocked).add(record)
  noteChange(run)
  return () => {
    admitted.blocked = new Set([...admitted.blocked].filter((other) => other !== record))
  }
}
