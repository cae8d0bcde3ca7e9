/** Child call span: the span and the events of a call that a tool makes. No model reads its result. */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { Pending } from "../../ToolError.ts"
import * as Arguments from "../call/arguments.ts"
import type { Call } from "../call/call.ts"
import { type CallRecord, subjectOf, toolName } from "../call/record.ts"
import { after, before } from "../foundation/sequence.ts"
import { toolFailure } from "../projection/failures.ts"
import { CurrentRun, emit } from "../run/run.ts"
import { inSpan } from "../run/span.ts"

/** The code of a call that did not succeed. */
const codeOf = ({ executed, stop, tool }: CallRecord, exit: Exit.Exit<unknown, unknown>): string | undefined => {
  if (Exit.isSuccess(exit)) return undefined
  if (stop !== undefined && stop._tag !== "CutOff") {
    return stop._tag === "Denied" ? "permission_denied" : "approval_required"
  }
  const fail = exit.cause.reasons.find(Cause.isFailReason)
  if (fail?.error instanceof Pending) return undefined
  if (fail !== undefined) return toolFailure(fail.error, "").code
  return executed && tool?.effects === "write" ? "outcome_unknown" : "not_run"
}

export const childSpan = <A, E, R>(
  context: Context.Context<never>,
  { arguments: args, record }: Call,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> => {
  const run = Context.get(context, CurrentRun)
  const about = subjectOf(record)
  record.ended = undefined
  let told: "nothing" | "start" | "end" = "nothing"
  const ended = (exit: Exit.Exit<A, E>): Effect.Effect<void> => {
    if (run !== undefined && told === "end") return Effect.void
    told = "end"
    record.ended = Exit.isSuccess(exit) ? "succeeded" : "failed"
    const code = codeOf(record, exit)
    // A call that waits has no result yet.
    return code === "approval_required" ? Effect.void : emit(run, () => ({
      _tag: "ToolResult",
      ...about,
      isFailure: code !== undefined,
      ...(code === undefined ? undefined : { code }),
      result: null
    }))
  }
  if (run === undefined) return after(effect, ended)
  const begun = before(
    emit(run, () => {
      told = "start"
      return { _tag: "ToolCallStarted", ...about, arguments: Arguments.toText(args), resumed: false }
    }),
    () =>
      inSpan(
        run.clock,
        `execute_tool ${about.tool}`,
        {
          attributes: {
            "gen_ai.operation.name": "execute_tool",
            "gen_ai.tool.name": toolName(record),
            "gen_ai.tool.call.id": record.callId,
            "gen_ai.tool.type": "function"
          }
        },
        effect,
        { errorType: (exit) => codeOf(record, exit), onEnd: ended }
      )
  )
  // An interruption between the start and the span has a result too.
  return run.audience === undefined ? begun : after(begun, (exit) => told === "start" ? ended(exit) : Effect.void)
}
