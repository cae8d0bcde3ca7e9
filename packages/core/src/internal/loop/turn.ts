/** Model turn: one answer of the model, with the decisions about failed calls. */
import type * as AiError from "effect/ai/AiError"
import type * as IdGenerator from "effect/ai/IdGenerator"
import type * as LanguageModel from "effect/ai/LanguageModel"
import * as Model from "effect/ai/Model"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { consult, type ModelFailure, type RespondWith, rethrow, type RetryNotice } from "../model/decision.ts"
import { type EarlierFailure, failuresBefore, recordFailure } from "./earlierFailures.ts"
import { requireCost } from "../model/cost.ts"
import type { Conversation } from "./program.ts"
import { after, before } from "../foundation/sequence.ts"
import { emit, type Run, use } from "../run/run.ts"
import { errorName } from "../run/errorName.ts"
import { inSpan } from "../run/span.ts"
import { type Used, usedSince } from "../run/tally.ts"
import { Redaction } from "../../Redaction.ts"
import * as Telemetry from "../run/counters.ts"
import { withIds } from "../model/request.ts"
import type { AnswerCodec } from "../model/answerRecord.ts"
import { recorded } from "./recordedTurn.ts"
import { TurnEvents } from "../model/turnEvents.ts"
import { separator } from "../run/callIds.ts"

type ModelEffect<A> = Effect.Effect<A, AiError.AiError, IdGenerator.IdGenerator | LanguageModel.LanguageModel>

const inChatSpan = <A>(run: Run, context: Context.Context<never>, call: ModelEffect<A>): ModelEffect<A> => {
  const model = Option.getOrElse(Context.getOption(context, Model.ModelName), () => "unknown")
  return inSpan(
    run.tracing,
    {
      name: `chat ${model}`,
      kind: "client",
      attributes: { "gen_ai.operation.name": "chat", "gen_ai.request.model": model }
    },
    call,
    { errorType: reasonOf, services: withIds }
  )
}

const reasonOf = (exit: Exit.Exit<unknown, AiError.AiError>, context: Context.Context<never>): string | undefined =>
  Exit.isSuccess(exit)
    ? undefined
    : exit.cause.reasons.find(Cause.isFailReason)?.error.reason._tag ??
      errorName(exit.cause, Context.get(context, Redaction))

/**
 * Runs one turn of the model: charges every call, and does what the handler decides about its failures. `codec` is for the
 * journal of the run.
 */
export const turn = <A>(
  state: Conversation,
  codec: AnswerCodec<A>,
  call: (events: TurnEvents) => ModelEffect<A>
): Effect.Effect<A | RespondWith<unknown>, unknown, unknown> =>
  Effect.contextWith((context: Context.Context<never>) => {
    const { program, run } = state
    const number = ++state.session.turn
    const failures: Array<ModelFailure> = []
    const keepsId = (id: string) => id !== "" && !id.includes(separator) && !state.session.callIds.has(id)
    let events: TurnEvents | undefined
    const { isHeld } = state
    const dropped = isHeld === undefined ? Effect.void : state.events?.discard ?? Effect.void
    const begun = () =>
      before(
        before(dropped, () => before(run.account.require("tokens"), () => requireCost(run, context))),
        () =>
          before(run.account.chargeNow("turns"), () => {
            const current = events = new TurnEvents(run, number, keepsId, isHeld)
            state.events = current
            const asked = before(current.started, () => {
              use(run, "turns", 1)
              return inChatSpan(run, context, call(current))
            })
            return run.audience === undefined ? asked : after(asked, (exit) => {
              if (Exit.isFailure(exit)) state.transcript.cutOff(current.text)
              return current.ended(exit)
            })
          })
      )
    /** Whoever heard a part of the answer is told to forget it; what was cut off is no answer any more. */
    const restarted = (retry: number): Effect.Effect<void> => {
      state.transcript.forgetCutOff()
      if (events?.hasContent !== true) return Effect.void
      const { text } = events
      return emit(run, () => ({ _tag: "AnswerRestarted", turn: number, retry, text }))
    }
    const { journal } = run
    let earlier: Array<EarlierFailure> = []
    let used: (() => Used) | undefined
    const waits = ({ delay, error, retry, until }: RetryNotice) => {
      const told = Effect.andThen(
        emit(run, () => ({
          _tag: "ModelRetry",
          turn: number,
          retry,
          delay: Duration.toMillis(delay),
          error: error.reason._tag
        })),
        Telemetry.countModelRetry({ agent: program.name, error: error.reason._tag })
      )
      const at = failures.at(-1)!.at
      const isHeard = events?.hasContent === true
      return journal === undefined || used === undefined ? told : Effect.andThen(
        told,
        Effect.suspend(() => recordFailure(journal, run, number, retry, { error, at, until, isHeard, used: used!() }))
      )
    }
    const failed = (
      failure: ModelFailure,
      isHeard: boolean,
      until: number | undefined
    ): Effect.Effect<A | RespondWith<unknown>, unknown, unknown> => {
      failures.push(failure)
      const { error } = failure
      const consulted = consult(program.onModelError ?? (() => rethrow), failures, {
        hasTime: (now, millis) => run.account.hasTime(now, millis),
        mayRetry: !isHeard,
        mayRestart: true,
        until,
        onRetry: waits
      })
      return Effect.flatMap(consulted, (decision) =>
        decision === "again"
          ? before(restarted(failures.length), attempt)
          : Effect.as(
            emit(run, () => ({ _tag: "ModelSubstituted", turn: number, error: error.reason._tag })),
            decision
          ))
    }
    const attempt = (): Effect.Effect<A | RespondWith<unknown>, unknown, unknown> => {
      const before = earlier.shift()
      return before !== undefined
        ? failed(before, before.isHeard, before.until)
        : Effect.catch(
          begun(),
          (error) => failed({ error, at: run.clock.currentTimeMillisUnsafe() }, events?.hasContent === true, undefined)
        )
    }
    return journal === undefined ? attempt() : recorded(state, journal, number, codec, () => {
      used = usedSince(run)
      earlier = failuresBefore(journal, run, number)
      return attempt()
    })
  })

export { isSubstitute } from "../model/decision.ts"
