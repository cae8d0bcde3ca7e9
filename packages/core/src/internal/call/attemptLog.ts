/** Attempt log: records and announces the start, the execution and the failure of an attempt. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Redaction } from "../../Redaction.ts"
import { errorName, errorTag } from "../run/observe/errorName.ts"
import { operatorMessage } from "../run/runFailure.ts"
import type { ExecutedCall } from "../run/runEntries.ts"
import type { Call } from "./call.ts"
import { ExecutionError, type FailedAttempt, OutcomeUnknown, Pending, Timeout } from "../../ToolError.ts"
import * as Arguments from "./arguments/toolArguments.ts"
import { isWrite, mayBeRepeated } from "./execute/effects.ts"
import { type CallRecord, type ErrorFields, errorFields, subjectOf, waitsInAgent } from "./record/record.ts"
import type { AttemptError } from "./attemptError.ts"
import { addUnrecorded, noteFailure } from "./record/recovering.ts"
import { forgetAnswer, noteError } from "./record/outcome.ts"
import { noteExhausted } from "./repetition.ts"
import { emit, type Run } from "../run/run.ts"
import { isInterruption } from "../foundation/effect/signal.ts"
import { stackless } from "../foundation/stacklessError.ts"
import * as Telemetry from "../run/observe/telemetry.ts"
import { addExecuted, use } from "../run/state/runState.ts"

/** An attempt of a call. */
export interface Attempt {
  readonly call: Call
  readonly run: Run | undefined
  /** 1 is the first. */
  readonly number: number
  /** The same, since the resumption: its number in the journal. */
  readonly nth: number
  readonly context: Context.Context<never>
  /** The last of its events that was emitted, for all steps of the attempt. */
  readonly emitted: { last: "nothing" | "start" | "end" }
}

/** Emits the start of an attempt. */
export const announceAttempt = (attempt: Attempt): Effect.Effect<void> => {
  const { call, context, number, run } = attempt
  if (run?.audience === undefined && number === 1) return Effect.void
  if (call.record.admission.continuation !== undefined) {
    // It started before the pause, and was announced then.
    attempt.emitted.last = "start"
    return Effect.void
  }
  const { recovering: { lastFailureAt } } = call.record
  const now = Context.get(context, Clock.Clock).currentTimeMillisUnsafe()
  const delay = lastFailureAt === undefined ? 0 : now - lastFailureAt
  if (number > 1) Telemetry.addSpanEvent(context, "recourse.attempt", { attempt: number, "recourse.delay_ms": delay })
  return emit(run, () => {
    attempt.emitted.last = "start"
    return {
      _tag: "ToolAttempt",
      ...subjectOf(call.record),
      attempt: number,
      delay,
      arguments: Arguments.toText(call.arguments)
    }
  })
}

/** Emits the end of an attempt, if its start was emitted and its end was not. */
export const announceEnd = (attempt: Attempt, exit: Exit.Exit<unknown, unknown>): Effect.Effect<void> => {
  const { call, context, number, run } = attempt
  // An attempt of a waiting agent resumes with the agent.
  if (attempt.emitted.last !== "start" || waitsInAgent(call.record, number)) return Effect.void
  attempt.emitted.last = "end"
  const subject = { ...subjectOf(call.record), attempt: number }
  return emit(run, () =>
    Exit.isFailure(exit) && failureOutcome(exit.cause, call.record) !== "success"
      ? {
        _tag: "ToolAttemptFailed",
        ...subject,
        error: errorName(exit.cause, Context.get(context, Redaction)),
        ...operatorMessage(run, exit.cause)
      }
      : { _tag: "ToolAttemptSucceeded", ...subject })
}

/** The run of a nested agent, named as in entries. */
const nestedRunOf = (run: Run | undefined): string | undefined => run?.parent === undefined ? undefined : run.agentRunId

type Entry = { -readonly [K in keyof ExecutedCall]: ExecutedCall[K] }

/** Counts an execution, and writes it into the record of the run and of all that it is nested in. */
export const openEntry = ({ call, number, run }: Pick<Attempt, "call" | "number" | "run">) => {
  const { recovering: { fixedBy } } = call.record
  const by = nestedRunOf(run)
  const entry: Entry = {
    tool: call.record.attempts.tool?.name ?? "",
    callId: call.id,
    attempt: number,
    arguments: Arguments.toText(call.arguments),
    outcome: "running"
  }
  if (by !== undefined) entry.agentRunId = by
  if (fixedBy !== undefined) entry.fixedBy = fixedBy
  use(run, "toolCalls", 1)
  addExecuted(run, entry)
  return entry
}

/** Returns the entries of the executions of a call, in the record of its run. */
const executedBy = (run: Run, records: Run, id: string): ReadonlyArray<Entry> =>
  // An agent within may have made a call with the same id.
  records.counts.executed.filter(({ agentRunId, callId }) => callId === id && agentRunId === nestedRunOf(run))

/**
 * Returns the entries of an execution that continues or waits: those in the records of its run and of all outer runs.
 */
export const entriesOf = (run: Run | undefined, id: string): ReadonlyArray<Entry> => {
  const entries: Array<Entry> = []
  for (let current = run; current !== undefined; current = current.parent) {
    const entry = executedBy(run!, current, id).findLast(({ outcome }) => outcome === "running")
    if (entry !== undefined) entries.push(entry)
  }
  return entries
}

/** Number of attempts of a call that were emitted before the pause. */
export const announcedAttempts = (run: Run, id: string): number =>
  executedBy(run, run, id).reduce((most, { attempt }) => Math.max(most, attempt), 0)

/** The number of the last attempt of a call. */
export const numberOf = ({ attempts: { count: attempts, countBefore: attemptsBefore } }: CallRecord): number =>
  attemptsBefore + attempts

/** Returns the number of the attempt in which an agent started that is resumed. */
export const resumedNumber = (run: Run | undefined, { id, record }: Call): number =>
  entriesOf(run, id)[0]?.attempt ?? numberOf(record)

/** Returns the outcome of an execution that gave no answer. A started task is a success of the call that started it. */
export const failureOutcome = (
  { reasons }: Cause.Cause<unknown>,
  { outcome: { happened }, attempts: { tool } }: Call["record"]
): ExecutedCall["outcome"] =>
  reasons.some((reason) => Cause.isFailReason(reason) && reason.error instanceof Pending)
    ? "success"
    : reasons.some(isInterruption)
    ? "interrupted"
    : happened === "unknown" && !mayBeRepeated(tool!)
    ? "unknown"
    : "failure"

/** Fields of an `OutcomeUnknown` beyond those of every error. */
export type OfUnknown = Partial<Pick<OutcomeUnknown, "after" | "declared" | "underKey" | "repeatable">>

/**
 * Returns the error of an attempt: unknown if a started attempt may have had an effect, regardless of this one's error.
 */
const errorOf = (
  { call: { record }, context, number }: Attempt,
  cause: Omit<FailedAttempt, "attempt">,
  make: (fields: ErrorFields) => AttemptError,
  { after, ...others }: OfUnknown
): AttemptError => {
  const fields = { ...errorFields(record), attempt: number }
  if (record.outcome.happened !== "unknown" || !isWrite(record.attempts.tool!)) return make(fields)
  const now = Context.get(context, Clock.Clock).currentTimeMillisUnsafe()
  return new OutcomeUnknown({
    ...fields,
    after: after ?? Duration.millis(Math.max(0, now - record.outcome.startedAt)),
    ...("reason" in cause ? { reason: cause.reason } : undefined),
    ...others
  })
}

/** Records the remaining facts of a failed attempt; none of one that is not known as a whole. */
const noteFailed = (record: CallRecord, at: number, attempt: number, cause: string, error: AttemptError): void => {
  // Writes that it made below are known by their own records only.
  if (record.children.within !== undefined) return
  if (!(error instanceof ExecutionError || error instanceof Timeout || error instanceof OutcomeUnknown)) return
  const { outcome: { executed, happened, startedAt } } = record
  addUnrecorded(record, { attempt, cause, error, at, startedAt, executed, happened })
}

/** Fails an attempt: in the call's record, in events and in the span. */
export const failAttempt = (
  attempt: Attempt,
  cause: Omit<FailedAttempt, "attempt">,
  make: (fields: ErrorFields) => AttemptError,
  ofUnknown: OfUnknown = {}
): Effect.Effect<never, AttemptError> => {
  const { call, context, number, run } = attempt
  const { record } = call
  const at = Context.get(context, Clock.Clock).currentTimeMillisUnsafe()
  noteFailure(record, { attempt: number, ...cause }, at)
  const error = stackless(() => errorOf(attempt, cause, make, ofUnknown))
  noteError(record, error)
  if (run?.log !== undefined) noteFailed(record, at, attempt.nth, cause.error, error)
  if (record.recovering.repetitions !== undefined) noteExhausted(record, error)
  forgetAnswer(record)
  const reason = errorTag(cause.reason, Context.get(context, Redaction))
  Telemetry.addSpanEvent(context, "recourse.attempt_failed", {
    attempt: number,
    "error.type": reason ?? error._tag
  })
  const seen = emit(run, () => {
    attempt.emitted.last = "end"
    return {
      _tag: "ToolAttemptFailed",
      ...subjectOf(call.record),
      attempt: number,
      error: error._tag,
      ...(reason === undefined ? undefined : { reason }),
      ...operatorMessage(run, Cause.fail(error))
    }
  })
  return Effect.flatMapEager(seen, () => Effect.fail(error))
}
