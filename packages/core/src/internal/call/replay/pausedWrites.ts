/** Started writes within a call that is to wait, in stored form. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Schema from "effect/Schema"
import { PartialSuccess, Pending } from "../../../ToolError.ts"
import type { CallBeforePause } from "../../approval/snapshot.ts"
import { happenedItself } from "../execute/effects.ts"
import { type CallRecord, identityOf, outerOf, rootOf, toolName } from "../record/record.ts"
import { writesWithin } from "../children/writesWithin.ts"
import { storedOutcome } from "../ledger/storedOutcome.ts"

/** Returns the outcome of a call that this execution has completed, if it is known. */
export const endOf = (
  { outcome: { answered, answeredInPlace, happened, lastError, running } }: CallRecord
): Exit.Exit<unknown, unknown> | undefined =>
  happened !== "yes" || running > 0
    ? undefined
    : answered !== undefined || answeredInPlace !== undefined
    ? Exit.succeed((answered ?? answeredInPlace)!.value)
    : lastError instanceof PartialSuccess || lastError instanceof Pending
    ? Exit.fail(lastError)
    : undefined

/** Returns a call as it was completed before the last pause, in stored form. */
const completedBefore = (call: CallRecord): CallBeforePause | undefined =>
  rootOf(call).replay.callsBeforePause?.completed(identityOf(call))

/** The call that was done as a write was: itself, or one around it up to the call of the agent. */
const doneWith = (write: CallRecord, root: CallRecord): CallRecord | undefined => {
  for (let call: CallRecord | undefined = write; call !== undefined; call = outerOf(call)) {
    if (rootOf(call) === root && (endOf(call) ?? completedBefore(call)) !== undefined) return call
  }
  return undefined
}

/**
 * Returns the started writes of the outer call, or within the call itself, by their identities: completed ones are not
 * repeated. `undefined` if one of them is unknown.
 */
export const startedWithin = (record: CallRecord): ReadonlyMap<string, CallRecord> | undefined => {
  const root = rootOf(record)
  const startedCalls = new Map<string, CallRecord>()
  for (const write of writesWithin(root)) {
    // Fixers are not called again about a call that resumes with their answer.
    if (root === record && root.children.byFixers?.has(write) === true) continue
    const happened = happenedItself(write)
    // An earlier attempt of the call that waits may have written.
    if (write === record && (root === record || happened === "no")) continue
    const call = happened === "no" ? write : happened === "yes" ? doneWith(write, root) : undefined
    if (call === undefined) return undefined
    if (rootOf(call) === root) startedCalls.set(identityOf(call), call)
  }
  return startedCalls
}

/**
 * Returns the started writes within the waiting call of an agent, without those of agents, in stored form. `undefined`
 * if the outcome of one of them is unknown.
 */
export const startedInParallel = (
  root: CallRecord
): Effect.Effect<ReadonlyArray<CallBeforePause> | undefined, never, unknown> => {
  const isParallel = (write: CallRecord): boolean =>
    write !== root && rootOf(write) === root && (write.attempts.tool ?? completedBefore(write)) !== undefined
  const stored = (write: CallRecord) => {
    if (happenedItself(write) === "no") return Effect.succeed(triedCall(write))
    const call = doneWith(write, root)
    return call === undefined ? Effect.undefined : doneCall(call)
  }
  return Effect.map(
    Effect.forEach(writesWithin(root).filter(isParallel), stored),
    (startedCalls) => startedCalls.includes(undefined) ? undefined : startedCalls as ReadonlyArray<CallBeforePause>
  )
}

/** A call without effect, in stored form. */
export const triedCall = (record: CallRecord): CallBeforePause => ({
  identity: identityOf(record),
  tool: toolName(record)
})

/** A completed call, in stored form; `undefined` if its result has none. */
export const doneCall = (record: CallRecord): Effect.Effect<CallBeforePause | undefined, never, unknown> => {
  const completed = completedBefore(record)
  if (completed !== undefined) return Effect.succeed(completed)
  const end = endOf(record)
  return end === undefined ? Effect.undefined : storedOutcome(record.attempts.tool!.success, end, record).pipe(
    Effect.map((outcome) => outcome && { ...triedCall(record), outcome: outcome as unknown as Schema.Json }),
    Effect.catchTag("SchemaError", () => Effect.undefined)
  )
}
