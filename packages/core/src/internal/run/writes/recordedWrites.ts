/** Writes that earlier executions of a run have started: the fields of their entries, and their recall into the writes of the run. */
import type * as Schema from "effect/Schema"
import { callKey, writeField } from "../../path/entryKeys.ts"
import type { CompensableWrite } from "./completedWrites.ts"
import { isWithin } from "./compensationLog.ts"
import type { Run } from "../run.ts"

/**
 * Returns a write that an earlier execution has compensated, although the run continues with its result: the reason of
 * the compensation did not recur.
 */
export const compensatedButContinued = (run: Run): CompensableWrite | undefined => {
  const { log, writes: { completed } } = run
  return completed === undefined || log?.isReplay !== true
    ? undefined
    : completed.newestFirst(run).find(({ write: { id, revoked } }) =>
      revoked !== true && log.compensations.stateOf(id) !== "none"
    )?.write
}

const outerCallsOf = ({ parent, start: { outerCall } }: Run): ReadonlyArray<string | null> =>
  parent === undefined ? [] : [...outerCallsOf(parent), outerCall?.id ?? null]

/** Returns the fields that are recorded before the start of a write. */
export const startedWriteFields = (
  run: Run,
  write: CompensableWrite,
  { child, isAtomic, later }: { readonly child: string; readonly isAtomic: boolean; readonly later: string }
): { readonly [writeField]: Schema.Json } => {
  const around = outerCallsOf(run)
  return {
    [writeField]: {
      write,
      ...(around.some((call) => call !== null) ? { around } : undefined),
      call: callKey(run.start.place, write.root),
      child,
      ...(later === "" ? undefined : { later }),
      ...(isAtomic ? { isAtomic } : undefined)
    } as Schema.Json
  }
}

/** Adds to the log of a run the writes that earlier executions have started by a call of its model, or within it. */
export const recallCall = (run: Run, callId: string): void => {
  const { log, path, scope, writes: { completed } } = run
  if (completed === undefined || log?.isReplay !== true) return
  for (const write of log.compensations.writes(path.length)) {
    if (write.root === callId && isWithin(scope, write) && !completed.knows(write.id)) {
      completed.add(run, write, undefined)
    }
  }
}

/**
 * Adds to the logs of a run, and of those around it, the writes that earlier executions have started within it and this one has not met. The
 * settled ones are among them, because the record of the run names each compensation.
 */
export const recallDone = (run: Run): void => {
  const { log, parent, path, scope, writes: { completed } } = run
  if (completed === undefined || log?.isReplay !== true) return
  for (const write of log.compensations.writes(parent === undefined ? 1 : path.length)) {
    const isKnown = completed.knows(write.id) ||
      (write.intent !== undefined && completed.ofEntry(write.intent.id) !== undefined)
    if (!isKnown && (parent === undefined || isWithin(scope, write))) completed.add(run, write, undefined)
  }
}
