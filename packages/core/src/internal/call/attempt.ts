/** One attempt of a tool call: read, admitted, charged, executed, timed. Everything that recovery repeats is this effect. */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { CurrentRetryBudget } from "../../RetryBudget.ts"
import { IdempotencyConflict, InvalidArgs, LedgerUnavailable, OutcomeUnknown } from "../../ToolError.ts"
import { decoderOfJson } from "../foundation/jsonForm.ts"
import { after, before, valueOf } from "../foundation/sequence.ts"
import { fromIssue } from "../foundation/schemaIssues.ts"
import { signal } from "../foundation/signal.ts"
import * as Telemetry from "../run/counters.ts"
import { heldBack } from "../run/heldBack.ts"
import { CurrentRun, type Run, use } from "../run/run.ts"
import * as Arguments from "./arguments.ts"
import { asJson } from "./argumentsAsJson.ts"
import { announceAttempt, announceEnd, type Attempt, failAttempt, numberFor, numberOf } from "./attemptLog.ts"
import { type Call, mayRunAgain, ToolCall } from "./call.ts"
import { doneBefore } from "./begunBefore.ts"
import { anew } from "./childCall.ts"
import { refuseDetached } from "./detached.ts"
import { failedBefore, hasFailedBefore } from "./earlierAttempts.ts"
import { underEarlierKeys } from "./earlierKeys.ts"
import type { PassThrough } from "./execution.ts"
import { type Executable, execute, idempotencyOf } from "./executor.ts"
import { admit, isOpen } from "./gate.ts"
import { isStopped, stopAgain } from "./stop.ts"
import { comingBy } from "./hiddenBeginning.ts"
import { begunBefore, noteCutOff } from "./intent.ts"
import { recorded } from "./loggedWrite.ts"
import { notInLedger } from "./ledgerOnly.ts"
import { noteUntrusted } from "./untrustedReads.ts"
import { LedgerVerdict, oncePerKey, type Refusals } from "./oncePerKey.ts"
import { type AttemptError, type ErrorFields, noteArguments, type ToolInfo } from "./record.ts"
import { refuse, withdraw } from "./refusal.ts"
import { stoppedUnlessBegun, unlessBegun } from "./refusedAgain.ts"
import { isGivenUp, noteStart } from "./repetition.ts"

export interface AttemptOptions<Params, A, D, R> extends Executable<Params, A, D, R> {
  readonly parameters: Schema.Decoder<Params, R>
}

/** A tool whose calls are attempted. */
interface Attempted<Params, A, D, R> extends AttemptOptions<Params, A, D, R> {
  readonly decode: (args: Arguments.RawArguments) => Effect.Effect<Params, Schema.SchemaError, R>
}

type Attempting<A, R> = Effect.Effect<A, AttemptError | PassThrough, R>

/** Decodes arguments. Looks for all that is wrong only where something is: reading up to the first issue takes half as long. */
const decoderOf = <Params, R>(
  parameters: Schema.Decoder<Params, R>,
  onExcessProperty: "error" | "ignore"
): Attempted<Params, never, never, R>["decode"] => {
  const decode = Schema.decodeUnknownEffect(parameters)
  const decodeJson = decoderOfJson(parameters)
  return ({ isLarge, object }) => {
    // Options of any kind take the slower of effect's two ways through a struct.
    const decoded = onExcessProperty === "ignore" ? decode(object) : decode(object, { onExcessProperty })
    return valueOf(decoded) !== undefined
      ? decoded
      : decodeJson(object, { errors: isLarge ? "first" : "all", onExcessProperty, reportInput: true })
  }
}

/** What an attempt fails with that its ledger refuses. */
const verdicts = (attempt: Attempt): Refusals<AttemptError> => {
  const refused = (error: string, make: (fields: ErrorFields) => AttemptError) =>
    attempt.call.idempotency === undefined
      ? failAttempt(attempt, { error }, make)
      : Effect.catch(failAttempt(attempt, { error }, make), (error) => signal(new LedgerVerdict(error)))
  return {
    conflict: (entry) => refused("IdempotencyConflict", (fields) => new IdempotencyConflict({ ...fields, entry })),
    unavailable: (reason) => refused("LedgerUnavailable", (fields) => new LedgerUnavailable({ ...fields, reason })),
    unknown: (since) =>
      refused("OutcomeUnknown", (fields) => new OutcomeUnknown({ ...fields, after: Duration.millis(since) }))
  }
}

/** Executes what was let on, charged. */
const charged = <Params, A, D, R>(
  tool: Attempted<Params, A, D, R>,
  attempt: Attempt,
  params: Params,
  key: string | undefined
): Attempting<A, R> => {
  const { call, run } = attempt
  if (call.lookupOnly === true) return notInLedger
  if (run === undefined || call.record.continuation !== undefined) return execute(tool, attempt, params, key, false)
  // What may not run is not charged: another attempt may have begun while this one was let on.
  if (isStopped(call.record)) return stopAgain
  if (!mayRunAgain(call)) return refuse(call, run)
  const begin = () => recorded(run, { attempt, ...tool }, key, () => execute(tool, attempt, params, key, true))
  return before(run.account.chargeNow("toolCalls"), begin)
}

/** Goes on with an attempt that is let on: tells it, and executes it, under the call's key if it has one. */
const letOn = <Params, A, D, R>(
  tool: Attempted<Params, A, D, R>,
  attempt: Attempt,
  raw: Record<string, unknown>,
  params: Params
): Attempting<A, R> =>
  before(announceAttempt(attempt), () => {
    const { info, success } = tool
    const { call, run } = attempt
    // Also where the ledger answers: the words are the same.
    if (info.untrusted) noteUntrusted(attempt, info.name)
    const idempotency = idempotencyOf(tool, call)
    const executed = idempotency === undefined ? charged(tool, attempt, params, undefined) : oncePerKey(
      idempotency,
      { call, run, tool: info.name, params, raw, success, timeout: tool.timeout },
      verdicts(attempt),
      (key) => charged(tool, attempt, params, key)
    )
    return run?.journal?.isResumed === true ? comingBy(run.journal, run, { attempt, ...tool }, executed) : executed
  })

const invalid = ({ effects, foreignDescription, name }: ToolInfo, attempt: Attempt, issues: InvalidArgs["issues"]) => {
  // Whoever reads the issues reads the schema, and a fixer reads the description.
  if (foreignDescription) noteUntrusted(attempt, name)
  const isRead = effects === "read" ? { isRead: true } as const : undefined
  const make = (fields: ErrorFields) => new InvalidArgs({ ...fields, issues, ...isRead })
  return before(announceAttempt(attempt), () => failAttempt(attempt, { error: "InvalidArgs" }, make))
}

/** Lets on what may run with the arguments that were read. */
const admitted = <Params, A, D, R>(
  tool: Attempted<Params, A, D, R>,
  attempt: Attempt,
  raw: Record<string, unknown>,
  params: Params
): Attempting<A, R> => {
  const { info, parameters, success } = tool
  const { call } = attempt
  const isAdmitted = isOpen(info, call)
  if (isAdmitted && idempotencyOf(tool, call) === undefined) return letOn(tool, attempt, raw, params)
  return Effect.flatMapEager(
    Effect.catchEager(asJson(parameters, raw, params), (issues) => invalid(info, attempt, issues)),
    (json): Attempting<A, R> =>
      isAdmitted ? letOn(tool, attempt, json, params) : stoppedUnlessBegun(
        tool,
        { attempt, params, raw: json, refusals: verdicts(attempt) },
        admit(info, call, json, params, success) as Effect.Effect<Option.Option<A>, never, R>,
        Option.match({
          onSome: (value) => {
            call.record.answered = { value }
            return Effect.succeed(value)
          },
          onNone: () => letOn(tool, attempt, json, params)
        })
      )
  )
}

/** Reads the arguments, and executes what is let on with them. */
const begun = <Params, A, D, R>(tool: Attempted<Params, A, D, R>, attempt: Attempt): Attempting<A, R> => {
  const { call, run } = attempt
  noteArguments(call.record, call.arguments)
  call.record.requested = call
  const earlier = run?.journal && begunBefore<A>(run.journal, run, { attempt, ...tool })
  if (earlier !== undefined) return earlier as Attempting<A, R>
  const held = tool.info.isAgent === true ? undefined : heldBack(run)
  if (held !== undefined) {
    noteCutOff({ attempt, ...tool })
    return held
  }
  return unlessSought(tool, attempt, () => readAnew(tool, attempt))
}

/** What an attempt comes to that an earlier life may have begun under another key than today's; or else. */
const unlessSought = <Params, A, D, R>(
  tool: Attempted<Params, A, D, R>,
  attempt: Attempt,
  otherwise: () => Attempting<A, R>
): Attempting<A, R> => {
  const { run } = attempt
  const sought = run?.journal && underEarlierKeys(tool, attempt, run, run.journal, verdicts(attempt))
  return sought === undefined
    ? otherwise()
    : Effect.flatMap(sought, (found) => found === undefined ? otherwise() : Effect.succeed(found.value))
}

/**
 * How an attempt fails that failed in an earlier life. That life may have begun the attempt behind the last of those, which today's recovery may not
 * make.
 */
const failedAgain = <Params, A, D, R>(
  tool: Attempted<Params, A, D, R>,
  context: Context.Context<never>,
  call: Call,
  run: Run | undefined,
  error: AttemptError
): Attempting<A, R> => {
  const { record } = call
  const attempt: Attempt = { call, run, number: numberOf(record), nth: record.attempts, context, told: "nothing" }
  return hasFailedBefore(run, call) ? Effect.fail(error) : unlessSought(tool, attempt, () => Effect.fail(error))
}

const readAnew = <Params, A, D, R>(tool: Attempted<Params, A, D, R>, attempt: Attempt): Attempting<A, R> => {
  const read = Arguments.readSized(attempt.call.arguments)
  if (Result.isFailure(read)) return invalid(tool.info, attempt, read.failure)
  const raw = read.success.object
  const decoded = tool.decode(read.success)
  const known = valueOf(decoded)
  if (known !== undefined) return admitted(tool, attempt, raw, known.value)
  return Effect.matchEffect(decoded, {
    onFailure: (error) =>
      unlessBegun(
        tool,
        { attempt, raw, params: undefined, refusals: verdicts(attempt) },
        invalid(tool.info, attempt, fromIssue(error.issue, { messages: true }))
      ),
    onSuccess: (params) => admitted(tool, attempt, raw, params)
  })
}

const attempted = <Params, A, D, R>(
  tool: Attempted<Params, A, D, R>,
  context: Context.Context<never>,
  call: Call,
  run: Run | undefined
): Attempting<A, R> => {
  const nth = ++call.record.attempts
  const attempt: Attempt = { call, run, number: numberFor(run, call), nth, context, told: "nothing" }
  return run?.audience === undefined
    ? begun(tool, attempt)
    : after(begun(tool, attempt), (exit) => announceEnd(attempt, exit))
}

/** The effect that is one attempt. Running it again is the next attempt of the same call. */
export const make = <Params, A, D, R>(
  options: AttemptOptions<Params, A, D, R>
): Effect.Effect<A, AttemptError | PassThrough, ToolCall | R> => {
  const { info, parameters } = options
  const decode = decoderOf(parameters, info.onUnknownKeys === "refuse" ? "error" : "ignore")
  const tool: Attempted<Params, A, D, R> = { ...options, decode }
  const attempt: Attempting<A, ToolCall | R> = Effect.contextWith((ambient: Context.Context<ToolCall>) => {
    const context = ambient as Context.Context<never>
    const call = Context.get(ambient, ToolCall)
    const current = Context.get(context, CurrentRun)
    const { record } = call
    record.tool = info
    const done = refuseDetached(record) ?? doneBefore<A>(info, call, current)
    if (done !== undefined) return done as Attempting<A, R>
    anew(call)
    if (record.closedBy !== undefined || call.closed === true || !mayRunAgain(call)) return refuse(call, current)
    const earlier = failedBefore(current, call, info)
    if (earlier !== undefined) {
      return Effect.matchEffect(earlier, {
        onFailure: (error) => failedAgain(tool, context, call, current, error),
        onSuccess: () => attempt
      }) as Attempting<A, ToolCall | R>
    }
    const isRetry = record.attempts > 0 && !record.fixed
    if (isRetry && !record.retryPaid && isGivenUp(record, call.arguments)) return refuse(call, current)
    noteStart(record)
    if (record.fixed) record.fixed = false
    const isPaid = record.retryPaid
    record.retryPaid = false
    if (!isRetry) {
      const deposit = record.attempts > 0 ? undefined : Context.get(context, CurrentRetryBudget)?.deposit
      return before(deposit ?? Effect.void, () => attempted(tool, context, call, current))
    }
    return Effect.flatMapEager(
      isPaid ? Effect.succeed(true) : withdraw(context),
      (isPaid) =>
        isPaid
          ? before(
            current === undefined ? Effect.void : current.account.chargeNow("retriesPerTool", info.name),
            () => {
              Telemetry.countToolRetry(context, { tool: info.name })
              use(current, "retries", 1)
              return attempted(tool, context, call, current)
            }
          )
          : refuse(call, current, "retry_budget")
    )
  })
  return attempt
}
