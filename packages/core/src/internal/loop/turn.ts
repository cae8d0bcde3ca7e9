/** Model turn: one answer of the model, with the decisions about failed calls. */
import type * as AiError from "effect/ai/AiError"
import type * as IdGenerator from "effect/ai/IdGenerator"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { consult, type ModelFailure, type RespondWith, rethrow, type RetryNotice } from "../model/modelDecision.ts"
import { type TurnFailures, turnFailures } from "./replayedModelFailures.ts"
import { requireCost } from "../model/callModel.ts"
import type { Conversation, Delay } from "./program.ts"
import { hasRetried, startCall } from "../foundation/effect/retriedFailures.ts"
import { emit, type Run } from "../run/run.ts"
import { errorName } from "../run/observe/errorName.ts"
import { inSpan } from "../run/observe/telemetry.ts"
import * as ModelProvider from "../../ModelProvider.ts"
import { Redaction } from "../../Redaction.ts"
import * as Telemetry from "../run/observe/telemetry.ts"
import { withIds } from "../model/sendRequest.ts"
import type { AnswerCodec } from "../model/answerRecord.ts"
import { recorded } from "./recordedTurn.ts"
import { TurnEvents } from "../model/modelTurnEvents.ts"
import { use } from "../run/state/runState.ts"

type ModelEffect<A> = Effect.Effect<A, AiError.AiError, IdGenerator.IdGenerator | LanguageModel.LanguageModel>

const inChatSpan = <A>(run: Run, context: Context.Context<never>, call: ModelEffect<A>): ModelEffect<A> => {
  const model = ModelProvider.nameIn(context) ?? Telemetry.unknownModel
  const { isMeasured } = run.start.tracing
  const began = isMeasured ? run.clock.currentTimeMillisUnsafe() : 0
  return inSpan(
    run.start.tracing,
    {
      name: `chat ${model}`,
      kind: "client",
      attributes: { "gen_ai.operation.name": "chat", "gen_ai.request.model": model }
    },
    call,
    {
      errorType: reasonOf,
      services: withIds,
      onEnd: isMeasured
        ? (exit) => {
          const errorType = Exit.isFailure(exit) ? reasonOf(exit, context) : undefined
          Telemetry.measureModelCall(context, run.clock.currentTimeMillisUnsafe() - began, errorType)
          return Effect.void
        }
        : undefined
    }
  )
}

const reasonOf = ({ cause }: Exit.Failure<unknown, AiError.AiError>, context: Context.Context<never>): string =>
  cause.reasons.find(Cause.isFailReason)?.error.reason._tag ?? errorName(cause, Context.get(context, Redaction))

/** True if the parts of an answer are of interest: to listeners, or to a caller who streams and is not to get a part twice. */
const isObserved = (run: Run): boolean => run.audience !== undefined || run.start.streaming

type Answered<A> = Effect.Effect<A | RespondWith<unknown>, unknown, unknown>

/** A turn of the model: its calls, until one has an answer or a replacement is decided. */
class Turn<A extends object> {
  private readonly state: Conversation
  private readonly call: (events: TurnEvents | undefined) => ModelEffect<A>
  private readonly number: number
  private readonly isDelayed: Delay
  private readonly failures: Array<ModelFailure> = []
  /** Failures of earlier executions of the run, which do not occur again, and the log for those of this one. */
  private readonly logged: TurnFailures | undefined

  constructor(
    state: Conversation,
    call: (events: TurnEvents | undefined) => ModelEffect<A>,
    number: number,
    isDelayed: Delay,
    logged: TurnFailures | undefined
  ) {
    this.state = state
    this.call = call
    this.number = number
    this.isDelayed = isDelayed
    this.logged = logged
  }

  attempt(): Answered<A> {
    const earlier = this.logged?.earlier[this.failures.length]
    return earlier === undefined
      ? this.charged()
      : this.failed(earlier, undefined, earlier.isHeard, earlier.until)
  }

  /** One call of the model, within the budget. */
  private charged(): Answered<A> {
    const { isDelayed, state: { context, run, run: { account } } } = this
    const cost = account.hasCap("cost") ? () => requireCost(run, context) : undefined
    const dropped = isDelayed === undefined ? undefined : this.state.events?.discard
    const charged = dropped === undefined
      ? account.chargeTurn(cost)
      : Effect.andThen(dropped, Effect.suspend(() => account.chargeTurn(cost)))
    return Effect.flatMapEager(charged, () => this.asked())
  }

  private asked(): Answered<A> {
    const { isDelayed, number, state, state: { exchange, run, session } } = this
    const events = state.events = isObserved(run)
      ? new TurnEvents(run, number, (id) => session.keepsId(id), isDelayed)
      : undefined
    const asked = Effect.flatMapEager(events === undefined ? Effect.void : events.started, () => {
      use(run, "turns", 1)
      startCall(exchange)
      return inChatSpan(run, state.context, this.call(events))
    })
    const withEvents = run.audience === undefined || events === undefined ?
      asked :
      Effect.onExitPrimitive(asked, (exit) => {
        if (Exit.isFailure(exit)) state.transcript.cutOff(events.text, run.reading.taintedBy)
        return events.ended(exit)
      })
    return Effect.catch(
      withEvents,
      (error) => {
        const isRetried = hasRetried(exchange, error)
        return this.failed(
          { error, at: run.clock.currentTimeMillisUnsafe(), isRetried },
          events,
          events?.hasContent === true,
          undefined
        )
      }
    )
  }

  /** `events`: those of the call that has failed; `undefined` for one of an earlier execution. */
  private failed(
    failure: ModelFailure,
    events: TurnEvents | undefined,
    isHeard: boolean,
    until: number | undefined
  ): Answered<A> {
    const { failures, number, state: { program, run } } = this
    failures.push(failure)
    const consulted = consult(program.onModelError ?? (() => rethrow), failures, {
      hasTime: (millis) => run.account.hasTime(millis),
      mayRetry: !isHeard,
      mayRestart: true,
      until,
      onRetry: (notice) => this.waits(notice, failure.at, isHeard)
    })
    return Effect.flatMap(consulted, (decision) =>
      decision === "again"
        ? Effect.flatMapEager(this.restarted(events), () => this.attempt())
        : Effect.as(
          emit(run, () => ({ _tag: "ModelSubstituted", turn: number, error: failure.error.reason._tag })),
          decision
        ))
  }

  private waits({ delay, error, retry, until }: RetryNotice, at: number, isHeard: boolean): Effect.Effect<void> {
    const { logged, number, state: { program, run } } = this
    const emitted = Effect.andThen(
      emit(run, () => ({
        _tag: "ModelRetry",
        turn: number,
        retry,
        delay: Duration.toMillis(delay),
        error: error.reason._tag
      })),
      Effect.contextWith((context: Context.Context<never>) =>
        Effect.sync(() => Telemetry.countModelRetry(context, { agent: program.name, error: error.reason._tag }))
      )
    )
    return logged === undefined
      ? emitted
      : Effect.andThen(emitted, Effect.suspend(() => logged.record({ error, at, until, isHeard })))
  }

  /** Listeners that received a part of the answer are informed that it is discarded. */
  private restarted(events: TurnEvents | undefined): Effect.Effect<void> {
    const { failures: { length: retry }, number, state: { run, transcript } } = this
    const { hasContent = false, text = "" } = events ?? {}
    // A conversation that the run was given may end with an interrupted answer of another run.
    if (run.audience !== undefined && text !== "") transcript.forgetCutOff()
    if (!hasContent) return Effect.void
    return emit(run, () => ({ _tag: "AnswerRestarted", turn: number, retry, text }))
  }
}

/**
 * Starts one turn of the model: the effect runs it, once. Charges every call, and executes the handler's decisions about
 * its failures. `codec` is for the journal of the run.
 */
export const turn = <A extends object>(
  state: Conversation,
  codec: AnswerCodec<A>,
  call: (events: TurnEvents | undefined) => ModelEffect<A>,
  isDelayed: Delay
): Effect.Effect<A | RespondWith<unknown>, unknown, unknown> => {
  const { run, run: { log }, session } = state
  const number = ++session.turn
  const make = (logged: TurnFailures | undefined) => new Turn(state, call, number, isDelayed, logged)
  return log === undefined
    ? make(undefined).attempt()
    : recorded(state, log, number, codec, isDelayed, () => make(turnFailures(log, run, number)).attempt())
}

export { isSubstitute } from "../model/modelDecision.ts"
