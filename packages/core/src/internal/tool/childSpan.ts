/** Child call span: the span and the events of a call that a tool makes. No model reads its result. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Arguments from "../call/arguments/toolArguments.ts"
import type { Call } from "../call/call.ts"
import { noteAudited } from "../call/auditedCall.ts"
import { subjectOf, toolName } from "../call/record/record.ts"
import { noteDegraded } from "../call/record/marks.ts"
import { noteEnded, reopen } from "../call/record/outcome.ts"
import { announceResult, verdictOf } from "../result/announce.ts"
import { deliver, presentationOf } from "../result/delivery.ts"
import { type CallResult, codeOf } from "../run/callResult.ts"
import { CurrentRun, emit, type Run } from "../run/run.ts"
import { inSpan, tracingOf } from "../run/observe/telemetry.ts"
import { type ChildExit, childResult, waits } from "./childResult.ts"
import type { Any, Checked } from "./tool.ts"

type Ran<E, R> = Effect.Effect<Checked<unknown>, E, R>

/** Records the end of a call, and its facts for the outer call. */
const noteEnd = (tool: Any, call: Call, exit: ChildExit): void => {
  const { record } = call
  noteEnded(record, exit)
  if (record.outcome.ended === "succeeded" && record.parent !== undefined) {
    noteDegraded(record.parent, record.marks.degraded)
  }
  // A stop of a call stops the call of the agent too, which is audited.
  if (record.admission.stop !== undefined || record.gate === undefined) return
  const verdict = verdictOf(childResult(tool, call, exit, ""))
  if (verdict !== undefined && verdict.decision !== "cancelled") noteAudited(record, verdict)
}

/** Delivers a result to listeners like any other; the guard is not called for an interrupted call. */
const delivered = (
  context: Context.Context<never>,
  run: Run,
  tool: Any,
  call: Call,
  exit: ChildExit,
  skipsGuard: boolean
): Effect.Effect<CallResult> => {
  const shown = presentationOf(context)
  const result = childResult(tool, call, exit, run.id, shown.user)
  return deliver(skipsGuard ? { ...shown, guard: undefined } : shown, run, tool.info, result, call.record.marks.read)
}

/** Runs a call that a tool makes, within a run: in its span, with its events. */
const inRun = <E, R>(
  context: Context.Context<never>,
  run: Run,
  tool: Any,
  call: Call,
  effect: Ran<E, R>
): Ran<E, R> => {
  const { arguments: args, record } = call
  const about = subjectOf(record)
  let lastEvent: "nothing" | "start" | "end" = "nothing"
  let result: CallResult | undefined
  const ended = (exit: ChildExit): Effect.Effect<void> => {
    lastEvent = "end"
    noteEnd(tool, call, exit)
    if (waits(record) || run.audience === undefined) return Effect.void
    const shown = result === undefined ? delivered(context, run, tool, call, exit, true) : Effect.succeed(result)
    return Effect.flatMap(shown, (result) => announceResult(run, result))
  }
  const deliveredAs = (exit: Exit.Exit<Checked<unknown>, E>): Ran<E, never> => {
    if (waits(record)) return exit
    return Effect.flatMapEager(delivered(context, run, tool, call, exit, Exit.hasInterrupts(exit)), (shown) => {
      result = shown
      return exit
    })
  }
  const heard = run.audience === undefined ? effect : Effect.matchCauseEffect(effect, {
    onFailure: (cause) => deliveredAs(Exit.failCause(cause)),
    onSuccess: (checked) => deliveredAs(Exit.succeed(checked))
  })
  const withStart = Effect.flatMapEager(
    emit(run, () => {
      lastEvent = "start"
      return { _tag: "ToolCallStarted", ...about, arguments: Arguments.toText(args), resumed: false }
    }),
    () =>
      inSpan(
        tracingOf(context),
        {
          name: `execute_tool ${about.tool}`,
          attributes: {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": toolName(record),
            "gen_ai.tool.call.id": record.callId,
            "gen_ai.tool.type": "function"
          }
        },
        heard,
        { errorType: (exit) => codeOf(childResult(tool, call, exit, "")), onEnd: ended }
      )
  )
  // An interruption between the start and the span has a result too.
  return run.audience === undefined
    ? withStart
    : Effect.onExitPrimitive(withStart, (exit) => lastEvent === "start" ? ended(exit) : undefined)
}

/** Runs a call that a tool makes. */
export const childSpan = <E, R>(
  context: Context.Context<never>,
  tool: Any,
  call: Call,
  effect: Ran<E, R>
): Ran<E, R> => {
  const run = Context.get(context, CurrentRun)
  reopen(call.record)
  return run === undefined
    ? Effect.onExitPrimitive(effect, (exit) => {
      noteEnd(tool, call, exit)
      return undefined
    })
    : inRun(context, run, tool, call, effect)
}
