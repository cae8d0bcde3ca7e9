/**
 * Begun writes: what the journal of a run says of writes that can be undone. Each is recorded before it begins, so that a run which is undone in another
 * life knows of it, whether its program comes by it again or not.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Journal } from "../../../Journal.ts"
import { separator } from "../../foundation/idsWithin.ts"
import { auditedKey, callKey, compensationKey, notHappenedKey, reportedKey } from "../../path/entryKeys.ts"
import { isBelow } from "../../path/path.ts"
import { DoneWrite } from "./completedWrites.ts"
import { addDone } from "./noteWrite.ts"
import type { Run } from "../run.ts"
import { Used } from "../tally.ts"

/** A write that begins, as it stands in a record. */
const Begun = Schema.Struct({
  write: DoneWrite,
  /** The calls that the agents around it run within, from the second agent of its path on: null for one that runs within none. */
  around: Schema.optionalKey(Schema.Array(Schema.NullOr(Schema.String))),
  /** The record of the call of a model that it is part of. */
  call: Schema.String,
  /** The record of its own outcome. */
  child: Schema.String,
  /** Tells a later attempt from those before it. */
  later: Schema.optionalKey(Schema.String),
  /** It is committed together with that record. */
  isAtomic: Schema.optionalKey(Schema.Literal(true))
})

const decodeBegun = Schema.decodeUnknownOption(Schema.Struct({ begun: Begun }))
const decodeCall = Schema.decodeUnknownOption(Schema.Struct({ used: Used }))

/** Whether an earlier life knew what became of a write that was to be undone. */
export const hasFate = (journal: Journal, id: string): boolean => journal.find("compensation", id) !== undefined

/** Whether an earlier life has undone a write, or begun to. */
const isUndone = (journal: Journal, id: string): boolean =>
  hasFate(journal, id) || journal.find("compensation", compensationKey(id)) !== undefined

/** A write that an earlier life has undone, though the run goes on with what it did: what was undone for did not come again. */
export const compensatedButContinued = ({ writes: { done }, journal }: Run): DoneWrite | undefined =>
  done === undefined || journal?.isResumed !== true
    ? undefined
    : done.newestFirst().find(({ write: { id, revoked } }) => revoked !== true && isUndone(journal, id))?.write

const outerCallsOf = ({ parent, start: { outerCall } }: Run): ReadonlyArray<string | null> =>
  parent === undefined ? [] : [...outerCallsOf(parent), outerCall?.id ?? null]

/** What is recorded before a write begins. */
export const startedWriteFields = (
  run: Run,
  write: DoneWrite,
  { child, isAtomic, later }: { readonly child: string; readonly isAtomic: boolean; readonly later: string }
): { readonly begun: Schema.Json } => {
  const around = outerCallsOf(run)
  return {
    begun: {
      write,
      ...(around.some((call) => call !== null) ? { around } : undefined),
      call: callKey(run.start.place, write.root),
      child,
      ...(later === "" ? undefined : { later }),
      ...(isAtomic ? { isAtomic } : undefined)
    } as Schema.Json
  }
}

/** Returns the write whose start is in an entry, if it can be compensated. */
export const writeIn = (journal: Journal, entry: string): DoneWrite | undefined =>
  Option.getOrUndefined(decodeBegun(journal.find("write", entry)))?.begun.write

/** Returns all writes that can be compensated, as their starts are recorded. */
function* recordedWrites(journal: Journal): Generator<typeof Begun.Type> {
  for (const kind of ["write", "compensation"] as const) {
    for (const [, value] of journal.entries(kind)) {
      const begun = Option.getOrUndefined(decodeBegun(value))?.begun
      if (begun !== undefined) yield begun
    }
  }
}

/** Whether an earlier execution of a run has started a write under a claim of its key. */
export const hasStartedUnder = (journal: Journal, id: string, claim: string): boolean => {
  for (const { write } of recordedWrites(journal)) if (write.id === id && write.intent?.claim === claim) return true
  return false
}

const wasNotUndone = Schema.is(Schema.Struct({ outcome: Schema.Literal("not_undone") }))

/** Whether the outcome of a compensation has reached everybody: the audit, and people if the write was not compensated. */
const isSettled = (journal: Journal, id: string): boolean => {
  const fate = journal.find("compensation", id)
  if (fate === undefined || journal.find("compensation", auditedKey(id)) === undefined) return false
  return !wasNotUndone(fate) || journal.find("compensation", reportedKey(id)) !== undefined
}

/** What is known of a write that an earlier execution has started; nothing if it is known not to have happened. */
const knownOf = (
  journal: Journal,
  { call, child, isAtomic, later = "", write }: typeof Begun.Type
): DoneWrite | undefined => {
  if (journal.find("compensation", notHappenedKey(write.id + later)) !== undefined) return undefined
  const result = journal.find("child", child)
  if (result !== undefined) return { ...write, known: "done", result }
  const recorded = journal.find("call", call)
  if (recorded === undefined) return isAtomic === true ? undefined : write
  const { used: { done = [] } } = Option.getOrElse(decodeCall(recorded), () => ({ used: { done: [write] } }))
  const listed = done.find((one) => one.id === write.id)
  // The record of a call says of the call's own write that it did not happen. Of a write that was made within the call it says nothing.
  return listed ?? (isAtomic === true || write.callId === write.root ? undefined : write)
}

/** A write as an agent of its path knows it, by the place of that agent: 1 is the outermost one. */
const knownAt = (level: number, { around = [] }: typeof Begun.Type, write: DoneWrite): DoneWrite => {
  const calls = around.slice(level - 1).filter((call) => call !== null)
  return calls.length === 0
    ? write
    : { ...write, callId: [...calls, write.callId].join(separator), root: calls[0]! }
}

/**
 * Returns the writes that earlier executions have started, unless they are known not to have happened: as the agents know them that have made
 * them, or as an agent at a level around these does.
 */
function* startedIn(journal: Journal, level = Infinity): Generator<DoneWrite> {
  for (const begun of recordedWrites(journal)) {
    const write = knownOf(journal, begun)
    if (write !== undefined) yield knownAt(level, begun, write)
  }
}

/** Returns those writes of {@link startedIn} whose compensation is not settled. */
export function* startedUnsettled(journal: Journal, level = Infinity): Generator<DoneWrite> {
  for (const write of startedIn(journal, level)) if (!isSettled(journal, write.id)) yield write
}

const isIn = (scope: string, write: DoneWrite): boolean => write.scope === scope || isBelow(write.scope, scope)

/** Whether an earlier life has begun a write within a scope that is not known to be undone. */
export const hasStartedWithin = (journal: Journal, scope: string): boolean => {
  for (const write of startedUnsettled(journal)) if (isIn(scope, write)) return true
  return false
}

/** Adds to the log of a run the writes that earlier executions have started by a call of its model, or within it. */
export const recallCall = (run: Run, callId: string): void => {
  const { writes: { done }, journal, path, scope } = run
  if (done === undefined || journal?.isResumed !== true) return
  for (const write of startedIn(journal, path.length)) {
    if (write.root === callId && isIn(scope, write) && !done.knows(write.id)) addDone(run, write, undefined)
  }
}

/**
 * Adds to the logs of a run, and of those around it, the writes that earlier executions have started within it and this one has not met. The
 * settled ones are among them, because the record of the run names each compensation.
 */
export const recallDone = (run: Run): void => {
  const { writes: { done }, journal, parent, path, scope } = run
  if (done === undefined || journal?.isResumed !== true) return
  for (const write of startedIn(journal, parent === undefined ? 1 : path.length)) {
    const isKnown = done.knows(write.id) || (write.intent !== undefined && done.ofEntry(write.intent.id) !== undefined)
    if (!isKnown && (parent === undefined || isIn(scope, write))) addDone(run, write, undefined)
  }
}
