/** Recorder of executions: the outcome of each attempt of a tool, and its duration. */
import { Cause, Clock, Effect, Exit, Option, Schema } from "effect"
import type { Tool, ToolInterceptor } from "@recourse/core"
import { stored } from "../text/text.ts"
import { CurrentExecution, markNested } from "./nestedExecution.ts"
import type { Execution, Writable } from "./recording.ts"
import { fieldsOf } from "./storedErrors.ts"
import { failureOf, timed } from "./timed.ts"

type Entry = Writable<typeof Execution.Type>

const failedOutcome = (cause: Cause.Cause<unknown>): Entry["outcome"] => {
  const error = failureOf(cause)
  return Option.isSome(error)
    ? { _tag: "Failed", error: fieldsOf(error.value) }
    : Cause.hasInterrupts(cause)
    ? { _tag: "Unfinished" }
    : { _tag: "Died", defect: Cause.pretty(cause) }
}

/** A result that does not fit its schema is recorded as it is, so that it does not fit in the replay either. */
const completedOutcome = (
  value: unknown,
  success: Schema.Top | undefined,
  isNested: boolean
): Effect.Effect<Entry["outcome"]> => {
  const raw = (): Entry["outcome"] =>
    isNested ? { _tag: "Nested" } : { _tag: "Value", value: stored(value), encoded: false }
  if (success === undefined) return Effect.sync(raw)
  const encoded = Schema.encodeUnknownEffect(Schema.toCodecJson(success))(value) as Effect.Effect<
    unknown,
    Schema.SchemaError
  >
  return Effect.match(encoded, {
    onFailure: raw,
    onSuccess: (value): Entry["outcome"] =>
      isNested ? { _tag: "Nested", value } : { _tag: "Value", value, encoded: true }
  })
}

/** Adds an entry for each attempt of a tool. */
export const recordExecutions =
  (executions: Array<Entry>, tools: ReadonlyArray<Tool.Any>): ToolInterceptor.Interceptor =>
  ({ attempt, callId, tool }, execute) =>
    Effect.suspend(() => {
      const entry: Entry = { tool, callId, attempt, duration: 0, outcome: { _tag: "Unfinished" } }
      executions.push(entry)
      const success = tools.find(({ name }) => name === tool)?.success
      const ended = (exit: Exit.Exit<unknown, unknown>, duration: number): Effect.Effect<void> => {
        const isNested = entry.outcome._tag === "Nested"
        if (isNested && Exit.isFailure(exit)) return Effect.void
        if (!isNested) entry.duration = duration
        const outcome = Exit.isFailure(exit)
          ? Effect.sync(() => failedOutcome(exit.cause))
          : completedOutcome(exit.value, success, isNested)
        return Effect.map(outcome, (outcome) => {
          entry.outcome = outcome
        })
      }
      const execution = Effect.flatMap(Clock.currentTimeMillis, (start) =>
        Effect.provideService(timed(execute, ended), CurrentExecution, { entry, start }))
      return Effect.andThen(markNested, execution)
    })
