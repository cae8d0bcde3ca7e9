/**
 * Recorded writes: the journal's entries of a run about compensable writes. Each is recorded before its start, so that
 * a run that another execution compensates has them, replayed or not.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Entries } from "../runLog.ts"
import { separator } from "../../path/idsWithin.ts"
import { auditedKey, callKey, compensationKey, notHappenedKey, reportedKey } from "../../path/entryKeys.ts"
import { isBelow } from "../../path/path.ts"
import { CompensableWrite } from "./completedWrites.ts"
import type { Run } from "../run.ts"
import { Used } from "../tally.ts"

/** A starting write, in its stored form. */
const Begun = Schema.Struct({
  write: CompensableWrite,
  /** The calls that the agents around it run within, from the second agent of its path on: null for one that runs within none. */
  around: Schema.optionalKey(Schema.Array(Schema.NullOr(Schema.String))),
  /** The record of the call of a model that it is part of. */
  call: Schema.String,
  /** The record of its own outcome. */
  child: Schema.String,
  /** Separates a later attempt from earlier ones. */
  later: Schema.optionalKey(Schema.String),
  /** It is committed together with that record. */
  isAtomic: Schema.optionalKey(Schema.Literal(true))
})

const decodeStarted = Schema.decodeUnknownOption(Schema.Struct({ begun: Begun }))
const decodeCall = Schema.decodeUnknownOption(Schema.Struct({ used: Used }))

/** True if an earlier execution knew the outcome of a write's compensation. */
export const hasFate = (log: Entries, id: string): boolean => log.find("compensation", id) !== undefined

/** True if an earlier execution has compensated a write, or started to. */
const isCompensated = (log: Entries, id: string): boolean =>
  hasFate(log, id) || log.find("compensation", compensationKey(id)) !== undefined

/**
 * Returns a write that an earlier execution has compensated, although the run continues with its result: the reason of
 * the compensation did not recur.
 */
export const compensatedButContinued = (run: Run): CompensableWrite | undefined => {
  const { log, writes: { completed } } = run
  return completed === undefined || log?.isReplay !== true
    ? undefined
    : completed.newestFirst(run).find(({ write: { id, revoked } }) => revoked !== true && isCompensated(log, id))
      ?.write
}

const outerCallsOf = ({ parent, start: { outerCall } }: Run): ReadonlyArray<string | null> =>
  parent === undefined ? [] : [...outerCallsOf(parent), outerCall?.id ?? null]

/** Returns the fields that are recorded before the start of a write. */
export const startedWriteFields = (
  run: Run,
  write: CompensableWrite,
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
export const writeIn = (log: Entries, entry: string): CompensableWrite | undefined =>
  Option.getOrUndefined(decodeStarted(log.find("write", entry)))?.begun.write

/** Returns all writes that can be compensated, by their recorded starts. */
function* recordedWrites(log: Entries): Generator<typeof Begun.Type> {
  for (const kind of ["write", "compensation"] as const) {
    for (const [, value] of log.entries(kind)) {
      const begun = Option.getOrUndefined(decodeStarted(value))?.begun
      if (begun !== undefined) yield begun
    }
  }
}

/** True if an earlier execution of a run has started a write under a claim of its key. */
export const hasStartedUnder = (log: Entries, id: string, claim: string): boolean => {
  for (const { write } of recordedWrites(log)) if (write.id === id && write.intent?.claim === claim) return true
  return false
}

const wasNotCompensated = Schema.is(Schema.Struct({ outcome: Schema.Literal("not_undone") }))

/**
 * True if the outcome of a compensation was reported completely: to the audit, and to people if the write was not
 * compensated.
 */
const isSettled = (log: Entries, id: string): boolean => {
  const fate = log.find("compensation", id)
  if (fate === undefined || log.find("compensation", auditedKey(id)) === undefined) return false
  return !wasNotCompensated(fate) || log.find("compensation", reportedKey(id)) !== undefined
}

/**
 * Returns the known state of a write that an earlier execution has started; `undefined` if it is known not to have
 * happened.
 */
const knownOf = (
  log: Entries,
  { call, child, isAtomic, later = "", write }: typeof Begun.Type
): CompensableWrite | undefined => {
  if (log.find("compensation", notHappenedKey(write.id + later)) !== undefined) return undefined
  const result = log.find("child", child)
  if (result !== undefined) return { ...write, known: "done", result }
  const recorded = log.find("call", call)
  if (recorded === undefined) return isAtomic === true ? undefined : write
  const { used: { done = [] } } = Option.getOrElse(decodeCall(recorded), () => ({ used: { done: [write] } }))
  const listed = done.find((one) => one.id === write.id)
  // The entry of a call reports that the call's own write did not happen. It does not cover an inner write.
  return listed ?? (isAtomic === true || write.callId === write.root ? undefined : write)
}

/** A write as an agent of its path knows it, by the place of that agent: 1 is the outermost one. */
const knownAt = (level: number, { around = [] }: typeof Begun.Type, write: CompensableWrite): CompensableWrite => {
  const calls = around.slice(level - 1).filter((call) => call !== null)
  return calls.length === 0
    ? write
    : { ...write, callId: [...calls, write.callId].join(separator), root: calls[0]! }
}

/**
 * Returns the writes that earlier executions have started, unless they are known not to have happened: as the agents know them that have made
 * them, or as an agent at a level around these does.
 */
function* startedIn(log: Entries, level = Infinity): Generator<CompensableWrite> {
  for (const begun of recordedWrites(log)) {
    const write = knownOf(log, begun)
    if (write !== undefined) yield knownAt(level, begun, write)
  }
}

/** Returns those writes of {@link startedIn} whose compensation is not settled. */
export function* startedUnsettled(log: Entries, level = Infinity): Generator<CompensableWrite> {
  for (const write of startedIn(log, level)) if (!isSettled(log, write.id)) yield write
}

const isIn = (scope: string, write: CompensableWrite): boolean => write.scope === scope || isBelow(write.scope, scope)

/** True if an earlier execution has started a write within a scope that is not known to be compensated. */
export const hasStartedWithin = (log: Entries, scope: string): boolean => {
  for (const write of startedUnsettled(log)) if (isIn(scope, write)) return true
  return false
}

/** Adds to the log of a run the writes that earlier executions have started by a call of its model, or within it. */
export const recallCall = (run: Run, callId: string): void => {
  const { log, path, scope, writes: { completed } } = run
  if (completed === undefined || log?.isReplay !== true) return
  for (const write of startedIn(log, path.length)) {
    if (write.root === callId && isIn(scope, write) && !completed.knows(write.id)) completed.add(run, write, undefined)
  }
}

/**
 * Adds to the logs of a run, and of those around it, the writes that earlier executions have started within it and this one has not met. The
 * settled ones are among them, because the record of the run names each compensation.
 */
export const recallDone = (run: Run): void => {
  const { log, parent, path, scope, writes: { completed } } = run
  if (completed === undefined || log?.isReplay !== true) return
  for (const write of startedIn(log, parent === undefined ? 1 : path.length)) {
    const isKnown = completed.knows(write.id) ||
      (write.intent !== undefined && completed.ofEntry(write.intent.id) !== undefined)
    if (!isKnown && (parent === undefined || isIn(scope, write))) completed.add(run, write, undefined)
  }
}
