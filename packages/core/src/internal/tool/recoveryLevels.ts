/**
 * Levels of recovery around a call: an outer level neither undoes nor repeats what an inner one decided. A level that has
 * met an error by another attempt, its own or Effect's, ends with it again.
 */
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type Call, mayRunAgain, ToolCall } from "../call/call.ts"
import { refused } from "../call/refusal.ts"
import { decideLevel, isDecided } from "../call/repetition.ts"
import { provide } from "../foundation/effect/provideService.ts"
import { after, before } from "../foundation/effect/sequence.ts"
import { CurrentRun } from "../run/run.ts"
import type { Any } from "./tool.ts"
import { type LevelEnd, noteLevelEnd } from "../call/record/recovering.ts"

type Level = Effect.Effect<unknown, unknown, unknown>

/** How a level ended, where that can be said again: not cut off, and neither by a defect nor by a signal. */
const repeatable = (exit: Exit.Exit<unknown, unknown> | undefined): Exit.Exit<unknown, unknown> | undefined =>
  exit === undefined || Exit.isSuccess(exit) || exit.cause.reasons.every(Cause.isFailReason) ? exit : undefined

/** The error that an effect has failed with, if it has. */
const errorIn = (exit: Exit.Exit<unknown, unknown> | undefined): Cause.Fail<unknown> | undefined =>
  exit === undefined || Exit.isSuccess(exit) ? undefined : exit.cause.reasons.find(Cause.isFailReason)

/** Whether a level has ended with an error that it has decided about, for the same arguments. */
const hasDecided = ({ arguments: args, record }: Call, end: LevelEnd): boolean => {
  const failed = errorIn(record.recovering[end])
  return failed !== undefined && !record.recovering.isRetryPaid && record.attempts.requested?.arguments === args &&
    isDecided(record, failed.error)
}

/**
 * A level as the one around it gets it. Where the call may not run again, it ends as it ended before; where nothing can be
 * said of that, its recovery runs once more, on attempts that are refused.
 */
const level = (end: LevelEnd, inner: (call: Call) => Level): Level =>
  Effect.contextWith((context: Context.Context<ToolCall>) => {
    const call = Context.get(context, ToolCall)
    const { record } = call
    if (mayRunAgain(call) && call.closed !== true && !hasDecided(call, end)) {
      const from = record.attempts.count
      return after(inner(call), (exit) => {
        noteLevelEnd(record, end, exit)
        const failed = record.recovering.repetitions && errorIn(exit)
        if (failed !== undefined) decideLevel(record, from, failed.error)
        return Effect.void
      })
    }
    const ended = repeatable(record.recovering[end])
    return ended === undefined
      ? inner({ ...call, closed: true })
      : before(refused(call, Context.get(context as Context.Context<never>, CurrentRun), ended), () => ended)
  })

/** The call with its own recovery, as its agent's gets it: running it again is up to the tool's `effects` from here on. */
export const guarded = (tool: Any): Level =>
  level("endedInTool", (call) => provide(tool.recovered, ToolCall, { ...call, level: "tool" }))

/** The call with the agent's recovery for its tool, as the one for all tools gets it. */
export const guardedAgain = (recovered: Level): Level =>
  level("endedInAgent", (call) => provide(recovered, ToolCall, call))
