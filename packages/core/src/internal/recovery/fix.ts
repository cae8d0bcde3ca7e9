/** Fixers: an agent, a model or a function gives a failed call other arguments, or answers it. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { Redaction } from "../../Redaction.ts"
import { AgentException, Escalated, type Escalation, ExecutionError, InvalidArgs } from "../../ToolError.ts"
import { escalation } from "../call/execute/executorAnswers.ts"
import { type Call, mayRunAgain, ToolCall } from "../call/call.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { checkTimes } from "../foundation/backOff.ts"
import { aLimit, anything, checkArgument, checkOptions, oneOf } from "../foundation/options/optionCheck.ts"
import { kindOf } from "../foundation/options/valueKind.ts"
import { embeddedJson } from "../foundation/json/embeddedJson.ts"
import type { FixFinished } from "../../AgentEventSchema.ts"
import {
  type Among,
  catchInstances,
  type HasTags,
  type KnownCall,
  type Misplaced,
  type OtherTags,
  type TagOf
} from "../foundation/errorTags.ts"
import type { HookError, HookServices, HookSuccess } from "../foundation/options/inferredOptions.ts"
import { type CallRecord, subjectOf, toolName } from "../call/record/record.ts"
import { noteByFixer } from "../call/record/children.ts"
import { closeCall, markFix, noteFixed } from "../call/record/recovering.ts"
import { isDecided } from "../call/repetition.ts"
import { isInterruption } from "../foundation/effect/signal.ts"
import { bounded } from "../run/costCap.ts"
import * as Telemetry from "../run/observe/telemetry.ts"
import { CurrentRun, emit } from "../run/run.ts"
import { escalateAs } from "./escalate.ts"
import { looked } from "./guardedWords.ts"
import { type FixRequest, type FixTag, renderFixRequest, requestOf } from "./fixRequest.ts"
import { use } from "../run/state/runState.ts"

/**
 * A final result instead of new arguments; made by {@link fixResult}.
 *
 * @category models
 * @since 0.2.0
 */
export class FixResult<out A> {
  readonly _tag = "FixResult"
  readonly result: A
  constructor(result: A) {
    this.result = result
  }
}

/**
 * The answer of a fixer that has solved the problem itself: the call answers with this result, once it was checked
 * against the tool's `success` schema.
 *
 * **Example** (Answering for the tool)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * const Count = Tool.make("count", {
 *   success: Schema.Int,
 *   effects: "read",
 *   execute: () => Effect.fail("unreadable" as const)
 * }).pipe(
 *   Tool.onError(
 *     Recovery.fix("ExecutionError", Agent.fromFunction("zero", () => Effect.succeed(Recovery.fixResult(0))))
 *   )
 * )
 *
 * await Effect.runPromise(
 *   Count.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })))
 * ) // => 0
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const fixResult = <A>(result: A): FixResult<A> => new FixResult(result)

/**
 * The answer of a fixer that declines: the failure passes unchanged.
 *
 * @category models
 * @since 0.2.0
 */
export class FixDeclined {
  readonly _tag = "FixDeclined"
}

/**
 * The answer of a fixer that declines: the failure passes unchanged.
 *
 * @category constants
 * @since 0.2.0
 */
export const declined: FixDeclined = new FixDeclined()

/**
 * An agent that fixes: asked a request, answers new arguments as JSON text, a {@link fixResult}, or {@link declined}.
 *
 * @category models
 * @since 0.2.0
 */
export interface Fixer<in In, out Out, out E, out R> {
  readonly name: string
  readonly run: (input: In) => Effect.Effect<Out, E, R>
}

/**
 * A fixer agent that takes text: an agent of `Agent.make` without another `input`.
 *
 * @category models
 * @since 0.2.0
 */
export interface TextFixer<out Out, out E, out R> extends Fixer<string, Out, E, R> {
  readonly takesText: true
}

/**
 * Possible input of a fixer for a tag.
 *
 * @category utility types
 * @since 0.2.0
 */
export type FixInput<Tag> = FixRequest<Tag extends "InvalidArgs" ? InvalidArgs : ExecutionError>

/**
 * Limits of a fix.
 *
 * @category options
 * @since 0.2.0
 */
export interface FixOptions {
  /** Number of the fixer's runs for one call. Default: 1. */
  readonly times?: number | undefined
  /** Model calls that the fixer may use for one answer, fixers nested in it included; beyond that it has failed. Default: 10. */
  readonly steps?: number | undefined
}

/**
 * Errors of a call by its fixer. A member of a type, because such types are displayed expanded and not by their
 * names.
 *
 * @category utility types
 * @since 0.2.0
 */
export type FixError<FE> = {
  readonly error: Exclude<FE, Escalated> | ([Among<FE, Escalated>] extends [never] ? never : Escalation)
}["error"]

type Answer = string | FixResult<unknown> | FixDeclined

/** Outcome of a fixer in an event. */
const fixOutcome = (exit: Exit.Exit<Option.Option<Answer>, unknown>): {
  readonly answer: (typeof FixFinished.Type)["answer"]
  readonly arguments?: string
} => {
  if (Exit.isFailure(exit)) {
    const failure = exit.cause.reasons.find(Cause.isFailReason)?.error
    if (failure instanceof Escalated) return { answer: "escalated" }
    if (failure instanceof AgentException) return { answer: "exception" }
    return { answer: failure === undefined && exit.cause.reasons.some(isInterruption) ? "interrupted" : "failed" }
  }
  const answer = Option.getOrUndefined(exit.value)
  if (answer === undefined) return { answer: "failed" }
  if (typeof answer === "string") return { answer: "arguments", arguments: embeddedJson(answer) }
  return { answer: answer._tag === "FixResult" ? "result" : "declined" }
}

/** Records the writes of a fixer: it is not called again about a call that continues with its answer. */
const noteWrites = (record: CallRecord, before: ReadonlySet<CallRecord>): void => {
  for (const write of record.children.within ?? []) if (!before.has(write)) noteByFixer(record, write)
}

/** Runs a fixer once: charged, observed, and with its ways of giving up separated. */
const ask = <FE, FR>(
  current: Call,
  error: InvalidArgs | ExecutionError,
  fixer: Fixer<never, Answer, FE, FR>,
  takesText: boolean,
  steps: number,
  fix: number
): Effect.Effect<Answer, FE | Escalation, FR> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const run = Context.get(context, CurrentRun)
    const subject = { ...subjectOf(current.record), fixer: fixer.name, fix }
    const tool = toolName(current.record)
    const request = looked(context, current, error, requestOf(current, error, fix, Context.get(context, Redaction)))
    const callsBeforePause = new Set(current.record.children.within)
    let isReported = false
    const started = emit(run, () => {
      isReported = true
      return { _tag: "FixStarted", ...subject, error: error._tag }
    })
    const finished = (exit: Exit.Exit<Option.Option<Answer>, FE>): Effect.Effect<void> =>
      isReported ? emit(run, () => ({ _tag: "FixFinished", ...subject, ...fixOutcome(exit) })) : Effect.void
    const gaveUp = (failure: FE): Effect.Effect<never, FE | Escalation> => {
      if (failure instanceof Escalated) {
        const { reason, severity } = failure
        return escalateAs(current, context, escalation(current, { reason, severity, error }))
      }
      if (failure instanceof AgentException) closeCall(current.record, failure, fixer)
      return Effect.fail(failure)
    }
    const asked = bounded(
      fixer.name,
      { turns: steps },
      Effect.flatMap(request, (request) => fixer.run((takesText ? renderFixRequest(request) : request) as never))
    )
    return (run === undefined ? Effect.void : run.account.charge("fixes")).pipe(
      Effect.andThen(Effect.sync(() => {
        use(run, "fixes", 1)
        Telemetry.countToolFix(context, { tool, fixer: fixer.name })
      })),
      Effect.andThen(Effect.onExitPrimitive(Effect.flatMapEager(started, () => asked), finished)),
      Effect.onExit(() => Effect.sync(() => noteWrites(current.record, callsBeforePause))),
      Effect.catch(gaveUp),
      Effect.map(Option.match({
        onNone: (): Answer => declined,
        onSome: (answer) => typeof answer === "string" ? embeddedJson(answer) : answer
      })),
      Effect.tap((answer) =>
        typeof answer === "string" && run !== undefined
          ? run.account.requireArguments(tool, answer)
          : Effect.void
      )
    )
  })

/**
 * Runs a fixer on failures with the given tag, and runs the same call again with the fixer's arguments. They are
 * checked and charged like the model's own. When they fail in the same way, the fixer runs again, up to `times`; after
 * that the failure passes, with all attempts listed.
 *
 * A fixer that calls its `escalate` tool makes the call an `Escalation`; one that calls `throwException` ends the run.
 * A write that was executed is not fixed. A fixer is bounded by `steps`, by its own budget and by its parents'.
 *
 * **Example** (A deterministic fixer)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * const quote = Agent.fromFunction("quote", (request: Recovery.FixRequest) =>
 *   Effect.succeed(request.arguments.replaceAll("'", "\"")))
 *
 * const Greet = Tool.make("greet", {
 *   parameters: Schema.Struct({ name: Schema.String }),
 *   success: Schema.String,
 *   execute: ({ name }) => Effect.succeed(`Hello ${name}`)
 * }).pipe(Tool.onError(Recovery.fix("InvalidArgs", quote)))
 *
 * await Effect.runPromise(
 *   Greet.call.pipe(
 *     Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: "{'name': 'Ada'}" }))
 *   )
 * ) // => "Hello Ada"
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const fix = <
  Answers,
  Known,
  const Tag extends Extract<TagOf<Known>, FixTag> | OtherTags<Known, FixTag>,
  F extends Fixer<FixInput<Tag>, unknown, unknown, unknown> | TextFixer<unknown, unknown, unknown>
>(
  tag: Tag,
  fixer: F & FixerFits<HookSuccess<F, "run">, Answers>,
  options?: FixOptions
) => {
  checkArgument("Recovery.fix", "its tag", tag, oneOf("InvalidArgs", "ExecutionError"))
  checkOptions("Recovery.fix", options ?? {}, { kinds: { times: anything, steps: aLimit }, otherNames: {} })
  const times = options?.times ?? 1
  checkTimes("Recovery.fix", times)
  const steps = options?.steps ?? 10
  return <A, E, R>(
    call:
      | (
        & Effect.Effect<A, E, R>
        & KnownCall<Answers, Known, R>
        & HasTags<E, Tag>
        & FixerFits<HookSuccess<F, "run">, A>
      )
      | Misplaced<Known>
  ): Effect.Effect<A, E | FixError<HookError<F, "run">>, R | HookServices<F, "run"> | ToolCall> => {
    type FE = HookError<F, "run">
    type FR = HookServices<F, "run">
    if (typeof (fixer as { readonly run?: unknown } | undefined)?.run !== "function") {
      const problem = `its fixer is ${
        kindOf(fixer)
      } and has to be an agent. Make one of a function: Agent.fromFunction("fix", ...)`
      throw new ConfigurationError({ subject: `Recovery.fix of ${tag}`, problem })
    }
    const takesText = (fixer as { readonly takesText?: true }).takesText === true
    const asked = fixer as Fixer<never, Answer, FE, FR>
    const failure = tag === "InvalidArgs" ? InvalidArgs : ExecutionError
    const attempt = (fixes: number): Effect.Effect<A, E | FE | Escalation, R | FR | ToolCall> =>
      catchInstances(
        call as Effect.Effect<A, E, R>,
        failure,
        (error) =>
          Effect.flatMap(ToolCall, (current): Effect.Effect<A, E | FE | Escalation, R | FR | ToolCall> => {
            const { claiming: { claim }, recovering: { closedBy } } = current.record
            if (closedBy !== undefined) return Effect.fail(closedBy.fixer === fixer ? closedBy.error as FE : error)
            return fixes >= times || !mayRunAgain(current) || claim !== undefined || isDecided(current.record, error)
              ? Effect.fail(error)
              : Effect.flatMap(ask(current, error as never, asked, takesText, steps, fixes + 1), (answer) => {
                if (answer instanceof FixResult) {
                  return Effect.succeed(answer.result as A)
                }
                if (answer instanceof FixDeclined) {
                  return Effect.fail(error)
                }
                markFix(current.record)
                noteFixed(current.record, fixer.name, answer)
                return Effect.provideService(attempt(fixes + 1), ToolCall, { ...current, arguments: answer })
              })
          })
      )
    return attempt(0) as never
  }
}

/**
 * Asks that a fixer answers text, or a result that the call can answer.
 *
 * @category utility types
 * @since 0.2.0
 */
export type FixerFits<Out, A> = [Out] extends [string | FixResult<A> | FixDeclined] ? unknown : FixerDoesNotFit<Out>

/**
 * A compile error with the type of a fixer's answer that is neither text nor a fitting result.
 *
 * @category models
 * @since 0.2.0
 */
export interface FixerDoesNotFit<Out> {
  readonly "A fixer answers arguments as text or Recovery.fixResult of a fitting result, not": Out
}
