/** Call span: the span and the first event of a model's tool call. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type Call, ToolCall } from "../call/call.ts"
import { EnclosingCall } from "../call/children/childCall.ts"
import * as Arguments from "../call/arguments/toolArguments.ts"
import type { RoundContext } from "./roundContext.ts"
import { type CallOutcome, codeOf, type RequestedCall } from "../run/callResult.ts"
import { Redaction } from "../../Redaction.ts"
import { cutText } from "../foundation/json/jsonShape.ts"
import { emit } from "../run/run.ts"
import { errorName } from "../run/observe/errorName.ts"
import { inSpan } from "../run/observe/span.ts"

/** Done when a call has ended, however it did. */
export type OnEnd = (exit: Exit.Exit<CallOutcome, unknown>) => Effect.Effect<void>

/** Error type of a failed call in its span. */
const errorType = (exit: Exit.Exit<CallOutcome, unknown>, context: Context.Context<never>): string | undefined =>
  Exit.isFailure(exit)
    ? errorName(exit.cause, Context.get(context, Redaction))
    : exit.value._tag === "Waiting"
    ? "approval_required"
    : codeOf(exit.value.result)

/** Writes the arguments and the result into the span of a call. */
const captured = (raw: RequestedCall, effect: Effect.Effect<CallOutcome, unknown, unknown>): typeof effect =>
  Effect.andThen(
    Effect.annotateCurrentSpan("gen_ai.tool.call.arguments", Arguments.toText(raw.params)),
    Effect.tap(effect, (outcome) =>
      outcome._tag === "Done"
        ? Effect.annotateCurrentSpan("gen_ai.tool.call.result", JSON.stringify(outcome.result.encoded))
        : Effect.void)
  )

/** Runs the answer of a call in the call's span; `call` is the running call, if it is one of a tool. */
export const inCallSpan = (
  calls: RoundContext,
  raw: RequestedCall,
  effect: Effect.Effect<CallOutcome, unknown, unknown>,
  { call, onEnd, resumedWith }: {
    readonly call?: Call
    readonly onEnd?: OnEnd
    /** The arguments of a call that waited, and whose start was already emitted. */
    readonly resumedWith?: unknown
  } = {}
): Effect.Effect<CallOutcome, unknown, unknown> => {
  const { run, shown } = calls
  const name = cutText(raw.name, 64)
  const spanned = inSpan(
    run.start.tracing,
    {
      name: `execute_tool ${name}`,
      attributes: {
        "gen_ai.operation.name": "execute_tool",
        "gen_ai.tool.name": name,
        "gen_ai.tool.call.id": raw.id,
        "gen_ai.tool.type": "function"
      }
    },
    shown.capture ? captured(raw, effect) : effect,
    {
      errorType,
      onEnd,
      services: call && ((context) => Context.add(Context.add(context, ToolCall, call), EnclosingCall, call))
    }
  )
  return Effect.flatMapEager(announceStart(calls, raw, resumedWith), () => spanned)
}

/** Emits the start of a call. `resumedWith`: the arguments of a call that was emitted before the pause. */
export const announceStart = (
  calls: RoundContext,
  raw: RequestedCall,
  resumedWith?: unknown
): Effect.Effect<void> =>
  emit(calls.run, () => {
    calls.emittedStarts.add(raw.id)
    return {
      _tag: "ToolCallStarted",
      callId: raw.id,
      tool: raw.name,
      arguments: Arguments.toText(resumedWith ?? raw.params),
      resumed: resumedWith !== undefined
    }
  })
