/**
 * Calls that had started before a pause: when their outer call is made again, completed ones are answered with their
 * earlier answers, and are not repeated.
 */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { noteChange } from "../../run/state/runState.ts"
import type { CallBeforePause } from "../../approval/snapshot.ts"
import { Outcome } from "../../idempotency/ledgerStore.ts"
import type { Run } from "../../run/run.ts"
import type { Call } from "../call.ts"
import { isPassThrough, type PassThrough, recordStart } from "../execute/effects.ts"
import type { AttemptError } from "../attemptError.ts"
import { type CallRecord, errorFields, identityOf, newRecord, rootOf } from "../record/record.ts"
import { startAttempt } from "../record/attempts.ts"
import { noteWithin } from "../record/children.ts"
import { noteAnswer, noteEffects, noteError } from "../record/outcome.ts"
import { setCallsBeforePause } from "../record/replay.ts"
import type { ToolInfo } from "../tool/toolInfo.ts"
import { refuse } from "../refusal.ts"
import { replay } from "../ledger/storedOutcome.ts"

/**
 * Stores the started calls within a call of an agent. Completed calls are among the started ones, also before their
 * replay.
 */
export const remember = (root: CallRecord, calls: ReadonlyArray<CallBeforePause>): void => {
  setCallsBeforePause(root, calls)
  for (const { identity, outcome } of calls) {
    if (outcome === undefined) continue
    const placeholder = identity === identityOf(root) ? root : newRecord(identity, { identity, parent: root })
    noteEffects(placeholder, "yes")
    if (placeholder !== root) noteWithin(root, placeholder)
  }
}

/** Remembers that something was done within a call before its agent came to wait. */
export const rememberPart = (record: CallRecord): void => {
  const placeholder = newRecord(record.callId, { identity: record.identity, parent: record })
  noteEffects(placeholder, "yes")
  noteWithin(record, placeholder)
}

const decode = Schema.decodeUnknownOption(Outcome)

/** Outcome of a call before the pause; `undefined` if the present schema cannot decode it. */
const endOf = (
  record: CallRecord,
  { success }: ToolInfo,
  outcome: Schema.Json
): Effect.Effect<Exit.Exit<unknown, unknown> | undefined, never, unknown> =>
  Option.match(decode(outcome), {
    onNone: () => Effect.undefined,
    onSome: (outcome) =>
      Effect.matchEager(replay(record, { ...errorFields(record), attempt: 1 }, success, outcome), {
        onFailure: (error) => isPassThrough(error) ? Exit.fail(error) : undefined,
        onSuccess: Exit.succeed
      })
  })

/**
 * Ends an attempt of a call that was completed before the pause with the call's outcome; `undefined` for other calls.
 */
export const snapshotAnswer = <A>(
  info: ToolInfo,
  call: Call,
  run: Run | undefined
): Effect.Effect<A, AttemptError | PassThrough, unknown> | undefined => {
  const { record } = call
  const root = rootOf(record)
  const completed = root.replay.callsBeforePause?.completed(identityOf(record))
  if (completed === undefined) return undefined
  if (record.outcome.executed) return refuse(call, run)
  return Effect.flatMapEager(endOf(record, info, completed.outcome), (exit) => {
    if (record.outcome.executed) return refuse(call, run)
    root.replay.callsBeforePause!.match(completed.identity)
    noteChange(run)
    startAttempt(record, call)
    recordStart(run, record, exit === undefined ? "unknown" : "yes", () => 0)
    if (exit === undefined) return refuse(call, run)
    if (Exit.isSuccess(exit)) noteAnswer(record, exit)
    else noteError(record, Option.getOrUndefined(Exit.findErrorOption(exit)))
    return refuse(call, run)
  })
}
