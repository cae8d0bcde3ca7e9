/** Replay of executions: the recorded outcome of each attempt, in the place of its tool. */
import { Effect, Schema } from "effect"
import type { Tool, ToolInterceptor } from "@recourse/core"
import { NotRecorded } from "./notRecorded.ts"
import type { Recording } from "./recording.ts"
import { type Failures, revive } from "./storedErrors.ts"

/**
 * Options of a replay.
 *
 * @category options
 * @since 0.2.0
 */
export interface ReplayOptions {
  /** The tools of the recorded program: their schemas decode the recorded calls. */
  readonly tools: ReadonlyArray<Tool.Any>
  /** Makes the typed failures of the program, by tag, if they have to be instances of its own classes. */
  readonly failures?: Failures | undefined
}

/** Answers each attempt of a tool by its recorded outcome, after its recorded duration. */
export const replayExecutions = (recording: Recording, options: ReplayOptions): ToolInterceptor.Interceptor => {
  const used = new Set<number>()
  return ({ attempt, callId, failure, tool }, execute) =>
    Effect.suspend(() => {
      const index = recording.executions.findIndex((entry, index) =>
        !used.has(index) && entry.tool === tool && entry.callId === callId && entry.attempt === attempt
      )
      const entry = recording.executions[index]
      if (entry === undefined) return Effect.die(new NotRecorded({ what: `${tool} ${callId}, attempt ${attempt}` }))
      used.add(index)
      const { duration, outcome } = entry
      const success = options.tools.find(({ name }) => name === tool)?.success
      const decoded = (value: unknown) =>
        success === undefined
          ? Effect.succeed(value)
          : Effect.orDie(Schema.decodeUnknownEffect(Schema.toCodecJson(success))(value))
      switch (outcome._tag) {
        case "Nested": {
          const again = Effect.delay(execute, duration)
          return outcome.value === undefined ? again : Effect.andThen(again, decoded(outcome.value))
        }
        case "Unfinished":
          return Effect.never
        case "Interrupted":
          return Effect.delay(Effect.interrupt, duration)
        case "Misfit":
          return Effect.delay(Effect.succeed(Symbol("recorded")), duration)
        case "Died":
          return Effect.delay(Effect.die(new Error(outcome.defect)), duration)
        case "Failed":
          return Effect.delay(Effect.flatMap(revive(outcome.error, options, failure), Effect.fail), duration)
        case "Value":
          return Effect.delay(outcome.encoded ? decoded(outcome.value) : Effect.succeed(outcome.value), duration)
      }
    })
}
