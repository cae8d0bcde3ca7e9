/**
 * Replayed failures of a call: attempts that failed in an earlier execution of its run, and the waits behind them. The log of the run has them, and
 * they are not repeated.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Cause from "effect/Cause"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { RunLog } from "../../run/runLog.ts"
import { ExecutionError, OutcomeUnknown, Timeout } from "../../../ToolError.ts"
import { toJson } from "../../foundation/json/jsonValue.ts"
import { stackless } from "../../foundation/stacklessError.ts"
import { callKey, callWithin } from "../../path/entryKeys.ts"
import * as Path from "../../path/path.ts"
import type { Run } from "../../run/run.ts"
import type { Failed, RecoveryPaths, Wait } from "../../run/recoveryLog.ts"
import { countReplayed, usedBy } from "../../run/tally.ts"
import { failureOutcome, numberOf, openEntry } from "../attemptLog.ts"
import type { Call } from "../call.ts"
import type { AttemptError } from "../attemptError.ts"
import { type CallRecord, errorFields, identityOf, toolName } from "../record/record.ts"
import { noteRead } from "../children/untrustedContent.ts"
import { startAttempt } from "../record/attempts.ts"
import { type AttemptFailure, noteFailure, takeUnrecorded, useMarks } from "../record/recovering.ts"
import { noteError, replayOutcome } from "../record/outcome.ts"
import type { AttemptedCall } from "./attemptedCall.ts"
import type { ToolInfo } from "../tool/toolInfo.ts"
import { noteExhausted, noteRepetition } from "../repetition.ts"
import { use } from "../../run/state/runState.ts"

/** Below the place of its run, and for a call that a tool makes of the attempt that makes it. */
const placeOf = (record: CallRecord): string =>
  record.parent === undefined
    ? record.callId
    : callWithin(placeOf(record.parent), record.parent.attempts.count, identityOf(record))

const pathsOf = (run: Run, { id, identity, record, record: { attempts: { tool } } }: Call): RecoveryPaths => ({
  // The tool of a call by hand is known with its first attempt.
  starts: tool && Path.ofCall(run.scope, tool.name, identity ?? id),
  waits: callKey(run.start.place, placeOf(record))
})

/** Returns the failure of the next attempt of a call in an earlier execution of the run: the attempt is not repeated. */
export const nextFailure = (run: Run | undefined, call: Call): Failed | undefined =>
  run?.log?.isReplay === true
    ? run.log.recovery.failureOf(pathsOf(run, call), call.record.attempts.count + 1)
    : undefined

/**
 * Returns the wait behind the last attempt that an earlier execution started, if there is one. A short wait, which was
 * not recorded, has ended.
 */
export const lastWait = (
  run: Run | undefined,
  call: Call
): { readonly at: number | undefined; readonly until: number } | undefined => {
  if (run?.log?.isReplay !== true) return undefined
  const { attempts: { count }, recovering: { lastFailureAt } } = call.record
  return run.log.recovery.waitBehind(pathsOf(run, call), count) ??
    (nextFailure(run, call) === undefined ? undefined : { at: lastFailureAt, until: 0 })
}

/** A value that is JSON itself: a class instance is more than its fields. */
const plain = (value: unknown): Option.Option<Schema.Json> => Option.filter(toJson(value), (json) => json === value)

const encodeReason = (info: ToolInfo, reason: unknown): Effect.Effect<Option.Option<Schema.Json>, never, unknown> =>
  info.failure === undefined
    ? Effect.succeed(plain(reason))
    : Effect.option(
      Schema.encodeUnknownEffect(Schema.toCodecJson(info.failure))(reason) as Effect.Effect<Schema.Json, unknown>
    )

const decodeReason = (info: ToolInfo, reason: Schema.Json): Effect.Effect<unknown, unknown, unknown> =>
  info.failure === undefined
    ? Effect.succeed(reason)
    : Schema.decodeUnknownEffect(Schema.toCodecJson(info.failure))(reason)

const encodeFailed = (
  info: ToolInfo,
  { error, ...failed }: AttemptFailure
): Effect.Effect<ReadonlyArray<Failed>, never, unknown> => {
  const { after, declared, reason, repeatable, underKey } = error as Partial<OutcomeUnknown>
  const stored: Failed = {
    ...failed,
    error: error._tag as Failed["error"],
    ...(declared === undefined ? undefined : { declared }),
    ...(after === undefined ? undefined : { after: Duration.toMillis(after) }),
    ...(underKey === undefined ? undefined : { underKey }),
    ...(repeatable === undefined ? undefined : { repeatable })
  }
  if (!("reason" in error) || reason === undefined) return Effect.succeed([stored])
  return Effect.map(
    encodeReason(info, reason),
    Option.match({ onNone: () => [], onSome: (reason) => [{ ...stored, reason }] })
  )
}

/** Returns the attempts that failed since the last entry of the call, in the stored form of the next entry. */
export const storedFailures = (record: CallRecord): Effect.Effect<ReadonlyArray<Failed>, never, unknown> => {
  const failures = takeUnrecorded(record)
  return failures.length === 0
    ? Effect.succeed(failures as ReadonlyArray<never>)
    : Effect.map(
      Effect.forEach(failures, (failure) => encodeFailed(record.attempts.tool!, failure)),
      (failed) => failed.flat()
    )
}

/**
 * Records a wait, and the failed attempts before it. An attempt whose error is no JSON and has no schema is left out:
 * it is repeated if the process crashes in the wait.
 */
export const recordWait = (
  run: Run,
  log: RunLog,
  call: Call,
  at: number,
  until: number
): Effect.Effect<void, never, unknown> => {
  const { record } = call
  return Effect.flatMap(storedFailures(record), (failed) => {
    const wait: Wait = {
      tool: toolName(record),
      behind: record.attempts.count,
      at,
      until,
      failed,
      ...(record.parent === undefined && run.counts.tally !== undefined ? { used: usedBy(run) } : undefined)
    }
    return log.recovery.append(pathsOf(run, call).waits, wait as unknown as Schema.Json)
  })
}

const errorOf = (fields: ReturnType<typeof errorFields>, failed: Failed, reason: unknown): AttemptError => {
  const { after = 0, declared, repeatable, underKey } = failed
  const said = declared === undefined ? undefined : { declared }
  const mayRepeat = repeatable === undefined ? undefined : { repeatable }
  switch (failed.error) {
    case "ExecutionError":
      return new ExecutionError({ ...fields, reason, ...said })
    case "Timeout":
      return new Timeout({ ...fields, after: Duration.millis(after), ...mayRepeat })
    case "OutcomeUnknown":
      return new OutcomeUnknown({
        ...fields,
        after: Duration.millis(after),
        ...("reason" in failed ? { reason } : undefined),
        ...said,
        ...mayRepeat,
        ...(underKey === undefined ? undefined : { underKey })
      })
  }
}

/**
 * Replays the next attempt of a call that failed in an earlier execution: it fails with the same error, without an
 * execution, a charge or an event. `undefined` if there is none. Returns if the present tool cannot decode its error:
 * the attempt is repeated.
 */
export const replayedFailure = (
  run: Run,
  { attempt: { call }, info }: AttemptedCall
): Effect.Effect<void, AttemptError, unknown> | undefined => {
  const { record } = call
  if (record.admission.continuation !== undefined) return undefined
  const failed = nextFailure(run, call)
  if (failed === undefined) return undefined
  const read = "reason" in failed ? decodeReason(info, failed.reason!) : Effect.undefined
  return Effect.matchEffect(read, {
    onFailure: () => Effect.void,
    onSuccess: (reason) => {
      const { recovery } = run.log!
      const paths = pathsOf(run, call)
      const { used } = recovery.waitBehind(paths, failed.attempt) ?? {}
      if (used !== undefined) countReplayed(run, used)
      const isRetry = record.attempts.count > 0 && !record.recovering.isFix
      const error = noteReplayed(call, info, failed, reason)
      if (failed.attempt > recovery.talliedUpTo(paths) && failed.executed) countAttempt(run, call, isRetry, error)
      return Exit.fail(error)
    }
  })
}

/** Counts an uncounted attempt of a call made by a program or a tool. */
const countAttempt = (run: Run, call: Call, isRetry: boolean, error: AttemptError): void => {
  const { record } = call
  if (isRetry) use(run, "retries", 1)
  run.account.countReplayed({
    used: { toolCalls: 1 },
    retries: isRetry ? { [toolName(record)]: 1 } : {},
    extended: {}
  })
  openEntry({ call, number: numberOf(record), run }).outcome = failureOutcome(Cause.fail(error), record)
}

/** Writes an earlier attempt into the record of its call, like that attempt itself. Returns its error. */
const noteReplayed = (call: Call, info: ToolInfo, failed: Failed, reason: unknown): AttemptError => {
  const { record } = call
  if (record.attempts.count > 0) noteRepetition(record, record.attempts.count + 1)
  startAttempt(record, call)
  const attempt = numberOf(record)
  useMarks(record)
  replayOutcome(record, failed)
  noteFailure(
    record,
    { attempt, error: failed.cause, ...("reason" in failed ? { reason } : undefined) },
    failed.at
  )
  if (info.results.areUntrusted) noteRead(record, [info.name])
  const error = stackless(() => errorOf({ ...errorFields(record), attempt }, failed, reason))
  noteError(record, error)
  if (record.recovering.repetitions !== undefined) noteExhausted(record, error)
  return error
}
