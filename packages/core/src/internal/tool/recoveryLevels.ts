/**
 * Levels of recovery around a call: an outer level neither reverses nor repeats a decision of an inner one. A level
 * that has met an error by another attempt, its own or Effect's, ends with it again.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { identity } from "effect/Function"
import { type Call, mayRunAgain, ToolCall } from "../call/call.ts"
import { refused } from "../call/refusal.ts"
import { decideLevel, isDecided } from "../call/repetition.ts"
import { keepingTags } from "../foundation/builtInTags.ts"
import { provide } from "../foundation/effect/provideService.ts"
import { CurrentRun } from "../run/run.ts"
import type { Any } from "./tool.ts"
import { type LevelEnd, noteLevelEnd } from "../call/record/outcome.ts"

type Level = Effect.Effect<unknown, unknown, unknown>

/** End of a level, if it is repeatable: not interrupted, and neither by a defect nor by a signal. */
const repeatable = (exit: Exit.Exit<unknown, unknown> | undefined): Exit.Exit<unknown, unknown> | undefined =>
  exit === undefined || Exit.isSuccess(exit) || exit.cause.reasons.every(Cause.isFailReason) ? exit : undefined

/** The error that an effect has failed with, if it has. */
const errorIn = (exit: Exit.Exit<unknown, unknown> | undefined): Cause.Fail<unknown> | undefined =>
  exit === undefined || Exit.isSuccess(exit) ? undefined : exit.cause.reasons.find(Cause.isFailReason)

/** True if a level has ended with an error that it has decided about, for the same arguments. */
const hasDecided = ({ arguments: args, record }: Call, end: LevelEnd): boolean => {
  const failed = errorIn(record.outcome[end])
  return failed !== undefined && !record.recovering.isRetryPaid && record.attempts.requested?.arguments === args &&
    isDecided(record, failed.error)
}

/**
 * A level for the outer one, with the call as it sees it. If the call may not run again, it ends with its earlier end.
 * If that is unknown, its recovery runs once more, on attempts that are refused.
 */
const level = (end: LevelEnd, recovered: Level, seen: (call: Call) => Call): Level =>
  Effect.contextWith((context: Context.Context<ToolCall>) => {
    const call = Context.get(context, ToolCall)
    const run = (next: Call): Level => next === call ? recovered : provide(recovered, ToolCall, next)
    const { record } = call
    if (mayRunAgain(call) && call.closed !== true && !hasDecided(call, end)) {
      const from = record.attempts.count
      return Effect.onExitPrimitive(run(seen(call)), (exit) => {
        noteLevelEnd(record, end, exit)
        const failed = record.recovering.repetitions && errorIn(exit)
        if (failed !== undefined) decideLevel(record, from, failed.error)
        return undefined
      })
    }
    const ended = repeatable(record.outcome[end])
    return ended === undefined
      ? run(seen({ ...call, closed: true }))
      : Effect.flatMapEager(
        refused(call, Context.get(context as Context.Context<never>, CurrentRun), ended),
        () => ended
      )
  })

/** The call with its own recovery, for its agent's: from here on the tool's `effects` decide if it may run again. */
export const guarded = (tool: Any): Level =>
  keepingTags(level("endedInTool", tool.recovered, (call) => ({ ...call, level: "tool" })), tool.recovered)

/** The call with the agent's recovery for its tool, for the one of all tools. */
export const guardedAgain = (recovered: Level): Level => level("endedInAgent", recovered, identity)
