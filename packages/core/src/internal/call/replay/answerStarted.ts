/** Answer of a call that an earlier execution of the run has started without a key: it is not executed again. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Schema from "effect/Schema"
import type { RecordedStart } from "../../run/recordedStart.ts"
import type { Run } from "../../run/run.ts"
import { openEntry } from "../attemptLog.ts"
import { close, isWrite, type PassThrough, recordStart } from "../execute/effects.ts"
import { noteCompensable } from "../compensableWrite.ts"
import type { AttemptError } from "../attemptError.ts"
import { noteAnswer } from "../record/outcome.ts"
import { refuse } from "../refusal.ts"
import { type AttemptedCall, matchAttempt, pathOfCall, startsOf } from "./attemptedCall.ts"

/** Adds the write of an earlier execution to the log of its run, if it can be compensated. */
const noteWrite = (
  { attempt: { call }, info }: AttemptedCall,
  run: Run,
  start: RecordedStart | undefined,
  exit: Exit.Exit<unknown, unknown>,
  encoded: Schema.Json | undefined
): void => {
  const intent = start === undefined ? undefined : run.log!.compensations.writeIn(start.entry)?.intent
  noteCompensable({ call, encoded, info, intent, isKeyed: start?.key !== undefined, live: undefined, run }, exit)
}

/**
 * Ends a call that an earlier execution has started without a recorded outcome: as unknown. It has no further
 * executions.
 */
export const unknownOutcome = (
  attempted: AttemptedCall,
  run: Run,
  start: RecordedStart | undefined
): Effect.Effect<never, AttemptError> =>
  Effect.suspend(() => {
    const { attempt, attempt: { call: { record } } } = attempted
    recordStart(run, record, "unknown", () => run.clock.currentTimeMillisUnsafe())
    openEntry(attempt).outcome = "unknown"
    close(record)
    noteWrite(attempted, run, start, Exit.fail(undefined), undefined)
    matchAttempt(run, attempted)
    return refuse(attempt.call, run) as Effect.Effect<never, AttemptError>
  })

/** Answers with a recorded outcome. If the schema of today cannot decode it, the call has happened and its result is unknown. */
const answer = <A>(
  attempted: AttemptedCall,
  run: Run,
  start: RecordedStart | undefined,
  outcome: Schema.Json
): Effect.Effect<A, AttemptError | PassThrough, unknown> =>
  Effect.matchEffect(Schema.decodeUnknownEffect(Schema.toCodecJson(attempted.success))(outcome), {
    onFailure: () => unknownOutcome(attempted, run, start),
    onSuccess: (value) =>
      Effect.sync(() => {
        const { attempt, attempt: { call: { record } } } = attempted
        recordStart(run, record, "yes", () => run.clock.currentTimeMillisUnsafe())
        openEntry(attempt).outcome = "success"
        noteAnswer(record, { value })
        noteWrite(attempted, run, start, Exit.succeed(value), outcome)
        matchAttempt(run, attempted)
        return value as A
      })
  })

/**
 * Returns the answer of a call that an earlier execution has started: its outcome, if the journal has it. It is unknown
 * if the start has no key and may not be repeated. No present verdict or tool reverts a start. Returns `undefined` for
 * a call that may be executed, or that the ledger decides about.
 */
export const answerStarted = <A>(
  run: Run,
  attempted: AttemptedCall
): Effect.Effect<A, AttemptError | PassThrough, unknown> | undefined => {
  const { log } = run
  if (log === undefined) return undefined
  const path = pathOfCall(run, attempted)
  if (!log.has(path)) return undefined
  const starts = startsOf(run, attempted)
  const ended = starts.find(({ entry }) => log.find("child", entry) !== undefined)
  const outcome = ended === undefined ? log.find("child", path) : log.find("child", ended.entry)
  if (outcome !== undefined) return answer(attempted, run, ended, outcome)
  const { info } = attempted
  // An agent that is a tool has no starts of its own: the tool was another one.
  const plain = starts.find(({ isRepeatable, key }) =>
    info.isAgent === true || (key === undefined && (!isRepeatable || isWrite(info)))
  )
  return plain === undefined ? undefined : unknownOutcome(attempted, run, plain)
}

/** Notes that a call may have been done which is not called again, because its run is cancelled. */
export const noteCancelledStart = (run: Run, attempted: AttemptedCall): void => {
  const start = startsOf(run, attempted).at(-1)
  if (start === undefined) return
  recordStart(run, attempted.attempt.call.record, "unknown", () => run.clock.currentTimeMillisUnsafe())
  noteWrite(attempted, run, start, Exit.fail(undefined), undefined)
}
