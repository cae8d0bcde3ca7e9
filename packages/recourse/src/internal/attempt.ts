/** One attempt of a tool call: read, admitted, charged, executed, timed. Everything that recovery repeats is this effect. */
import { Duration, Effect, Exit, Option, Result, Schema } from "effect"
import { Locale } from "../Catalogue.ts"
import { declaredBy } from "../ErrorProjection.ts"
import { tagOf } from "../recovery/tags.ts"
import { CurrentRetryBudget } from "../RetryBudget.ts"
import { type Call, mayRunAgain, ToolCall } from "../ToolCall.ts"
import {
  AgentException,
  Escalated,
  Escalation,
  ExecutionError,
  type FailedAttempt,
  IdempotencyConflict,
  InvalidArgs,
  LedgerUnavailable,
  OutcomeUnknown,
  PartialSuccess,
  Pending,
  Timeout
} from "../ToolError.ts"
import { ToolInterceptor } from "../ToolInterceptor.ts"
import * as Arguments from "./arguments.ts"
import type { AttemptError, ToolInfo } from "./callRecord.ts"
import { admit } from "./gate.ts"
import { type Idempotency, once, unanswered, type Verdicts } from "./idempotency.ts"
import { notOnRecord } from "./lookup.ts"
import { CurrentRun, emit, type Run, use } from "./run.ts"
import { fromIssue } from "./schemaIssues.ts"
import * as Telemetry from "./telemetry.ts"

/** Errors that an executor may fail with as they are: they already say what is to happen. */
export type PassThrough = Escalation | Escalated | AgentException | PartialSuccess | Pending

const isPassThrough = (u: unknown): u is PassThrough =>
  u instanceof Escalation || u instanceof Escalated || u instanceof AgentException || u instanceof PartialSuccess ||
  u instanceof Pending

/** The ledger's refusal under `Recovery.idempotent`: a defect, as recovery within that operator is not to see it. */
export class LedgerVerdict {
  readonly error: AttemptError
  constructor(error: AttemptError) {
    this.error = error
  }
}

export interface AttemptOptions<Params, A, D, R> {
  readonly info: ToolInfo
  readonly parameters: Schema.Decoder<Params, R>
  readonly success: Schema.Top
  /** How calls are made idempotent; nothing for those that only ask for a task's state. */
  readonly idempotency: Idempotency | undefined | "never"
  readonly timeout: Duration.Duration | undefined
  readonly execute: (params: Params) => Effect.Effect<A, D, R>
}

/** Records that an attempt failed, in the call and for whoever watches. */
const failed = (
  call: Call,
  run: Run | undefined,
  cause: FailedAttempt,
  make: (fields: {
    readonly tool: string
    readonly callId: string
    readonly attempt: number
    readonly causes: ReadonlyArray<FailedAttempt>
  }) => AttemptError
): Effect.Effect<never, AttemptError> =>
  Effect.clockWith((clock) => {
    const record = call.record
    const tool = record.tool?.name ?? ""
    record.causes.push(cause)
    record.lastFailureAt = clock.currentTimeMillisUnsafe()
    const error = make({ tool, callId: call.id, attempt: cause.attempt, causes: [...record.causes] })
    record.lastError = error
    const reason = tagOf(cause.reason)
    return emit(run, () => ({
      _tag: "ToolAttemptFailed",
      callId: call.id,
      tool,
      attempt: cause.attempt,
      error: error._tag,
      ...(reason === undefined ? undefined : { reason })
    })).pipe(
      Effect.andThen(
        Telemetry.spanEvent("recourse.attempt_failed", { attempt: cause.attempt, "error.type": reason ?? error._tag })
      ),
      Effect.andThen(Effect.fail(error))
    )
  })

const executed = <A, E, R>(
  run: Run | undefined,
  call: Call,
  attempt: number,
  execution: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  if (run === undefined) return execution
  const entry = {
    tool: call.record.tool?.name ?? "",
    callId: call.id,
    attempt,
    arguments: Arguments.toText(call.arguments),
    ...(call.record.fixedBy === undefined ? undefined : { fixedBy: call.record.fixedBy }),
    outcome: "running" as "running" | "success" | "failure" | "interrupted"
  }
  for (let current: Run | undefined = run; current !== undefined; current = current.parent) current.executed.push(entry)
  return Effect.onExit(execution, (exit) =>
    Effect.sync(() => {
      if (Exit.isSuccess(exit) || hasBegunTask(exit)) entry.outcome = "success"
      else entry.outcome = Exit.hasInterrupts(exit) ? "interrupted" : "failure"
    }))
}

const hasBegunTask = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && exit.cause.reasons.some((reason) => reason._tag === "Fail" && reason.error instanceof Pending)

const mayBeRepeated = ({ effects }: ToolInfo): boolean => effects === "read" || effects === "idempotent"

/** The effect that is one attempt. Running it again is the next attempt of the same call. */
export const make = <Params, A, D, R>(
  options: AttemptOptions<Params, A, D, R>
): Effect.Effect<A, AttemptError | PassThrough, ToolCall | R> => {
  const { execute, info, timeout } = options
  const decode = Schema.decodeUnknownEffect(options.parameters)

  const intercepted = (call: Call, attempt: number, params: Params): Effect.Effect<A, D, R> =>
    Effect.flatMap(ToolInterceptor, (intercept) => {
      const execution = Effect.suspend(() => execute(params))
      const { effects, name: tool, passesKey } = info
      return intercept === undefined
        ? execution
        : intercept(
          { tool, callId: call.id, attempt, effects, passesKey, timeout, params },
          execution
        ) as typeof execution
    })

  const mayBeDoneTwice = info.effects === "write" && !info.passesKey

  const execution = (
    call: Call,
    run: Run | undefined,
    attempt: number,
    params: Params,
    idempotencyKey: string | undefined
  ) => {
    const timed = timeout === undefined
      ? intercepted(call, attempt, params)
      : intercepted(call, attempt, params).pipe(Effect.timeoutOrElse({
        duration: timeout,
        orElse: () =>
          failed(
            call,
            run,
            { attempt, error: mayBeDoneTwice ? "OutcomeUnknown" : "Timeout" },
            (fields) =>
              mayBeDoneTwice
                ? new OutcomeUnknown({ ...fields, after: timeout })
                : new Timeout({
                  ...fields,
                  after: timeout,
                  ...(mayBeRepeated(info) ? undefined : unanswered(call.idempotency ?? options.idempotency))
                })
          )
      }))
    return Effect.suspend(() => {
      call.record.executed = true
      use(run, "toolCalls", 1)
      return executed(run, call, attempt, timed)
    }).pipe(
      Effect.catch((error): Effect.Effect<never, AttemptError | PassThrough> => {
        if (isPassThrough(error)) call.record.lastError = error
        return error === call.record.lastError
          ? Effect.fail(error as AttemptError | PassThrough)
          : Effect.flatMap(Locale, (locale) => {
            const declared = declaredBy(info.failure, error, locale, mayBeRepeated(info))
            return failed(
              call,
              run,
              { attempt, error: "ExecutionError", reason: error },
              (fields) =>
                new ExecutionError({ ...fields, reason: error, ...(declared === undefined ? undefined : { declared }) })
            )
          })
      }),
      Effect.provideService(ToolCall, { ...call, attempt, idempotencyKey })
    )
  }

  const verdicts = (call: Call, run: Run | undefined, attempt: number): Verdicts<AttemptError> => {
    const refused = (error: string, make: Parameters<typeof failed>[3]) =>
      call.idempotency === undefined
        ? failed(call, run, { attempt, error }, make)
        : Effect.catch(failed(call, run, { attempt, error }, make), (error) => Effect.die(new LedgerVerdict(error)))
    return {
      conflict: (entry) => refused("IdempotencyConflict", (fields) => new IdempotencyConflict({ ...fields, entry })),
      unavailable: (reason) => refused("LedgerUnavailable", (fields) => new LedgerUnavailable({ ...fields, reason })),
      unknown: (since) =>
        refused("OutcomeUnknown", (fields) => new OutcomeUnknown({ ...fields, after: Duration.millis(since) }))
    }
  }

  const run = (call: Call, run: Run | undefined): Effect.Effect<A, AttemptError | PassThrough, R> => {
    const record = call.record
    const attempt = ++record.attempts
    const begin = Effect.clockWith((clock) => {
      const delay = record.lastFailureAt === undefined ? 0 : clock.currentTimeMillisUnsafe() - record.lastFailureAt
      const seen = emit(run, () => ({
        _tag: "ToolAttempt",
        callId: call.id,
        tool: info.name,
        attempt,
        delay,
        arguments: Arguments.toText(call.arguments)
      }))
      return attempt === 1
        ? seen
        : Effect.andThen(seen, Telemetry.spanEvent("recourse.attempt", { attempt, "recourse.delay_ms": delay }))
    })
    const invalid = (issues: InvalidArgs["issues"]) =>
      failed(call, run, { attempt, error: "InvalidArgs" }, (fields) => new InvalidArgs({ ...fields, issues }))

    return Effect.andThen(
      begin,
      Result.match(Arguments.read(call.arguments), {
        onFailure: invalid,
        onSuccess: (object) =>
          Effect.flatMap(
            Effect.catchTag(
              decode(object, { errors: "all" }),
              "SchemaError",
              (error) => invalid(fromIssue(error.issue))
            ),
            (params) => {
              const execute = (key: string | undefined) =>
                call.lookupOnly === true
                  ? notOnRecord
                  : run === undefined
                  ? execution(call, run, attempt, params, key)
                  : Effect.andThen(run.ledger.charge("toolCalls"), execution(call, run, attempt, params, key))
              const idempotency = options.idempotency === "never" ? undefined : call.idempotency ?? options.idempotency
              return Effect.flatMap(
                admit(info, call, object, params) as Effect.Effect<Option.Option<A>, never, R>,
                Option.match({
                  onSome: Effect.succeed,
                  onNone: () =>
                    idempotency === undefined
                      ? execute(undefined)
                      : once(
                        idempotency,
                        { call, run, tool: info.name, params, raw: object, success: options.success },
                        verdicts(call, run, attempt),
                        execute
                      )
                })
              )
            }
          )
      })
    )
  }

  return Effect.flatMap(ToolCall, (call) =>
    Effect.flatMap(CurrentRun, (current) => {
      const record = call.record
      record.tool = info
      if (record.closedBy !== undefined) return Effect.fail(record.closedBy.error as PassThrough)
      if (!mayRunAgain(call)) return refuse(call, current)
      const isRetry = record.attempts > 0 && !record.fixed
      record.fixed = false
      const isPaid = record.retryPaid
      record.retryPaid = false
      if (!isRetry) return record.attempts > 0 ? run(call, current) : Effect.andThen(deposit, run(call, current))
      const charged = current === undefined ? Effect.void : current.ledger.charge("retriesPerTool", info.name)
      const retried = charged.pipe(
        Effect.andThen(Telemetry.countToolRetry(info.name)),
        Effect.andThen(Effect.suspend(() => {
          use(current, "retries", 1)
          return run(call, current)
        }))
      )
      return isPaid
        ? retried
        : Effect.flatMap(withdraw, (isPaid) => isPaid ? retried : refuse(call, current, "retry_budget"))
    }))
}

const deposit = Effect.flatMap(CurrentRetryBudget, (budget) => budget === undefined ? Effect.void : budget.deposit)

/** Whether the process-wide budget, if there is one, pays for one more retry. */
export const withdraw: Effect.Effect<boolean> = Effect.flatMap(
  CurrentRetryBudget,
  (budget) => budget === undefined ? Effect.succeed(true) : budget.withdraw
)

/** Fails as the last attempt did, without running anything. */
export const refuse = (
  call: Call,
  run: Run | undefined,
  because?: "retry_budget"
): Effect.Effect<never, AttemptError> =>
  Effect.andThen(
    emit(run, () => ({
      _tag: "ToolAttemptRefused",
      callId: call.id,
      tool: call.record.tool?.name ?? "",
      error: tagOf(call.record.lastError) ?? "unknown",
      ...(because === undefined ? undefined : { because })
    })),
    Effect.fail(call.record.lastError as AttemptError)
  )
