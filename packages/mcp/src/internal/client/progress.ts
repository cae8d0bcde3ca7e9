/** Progress of a call: the server's reports become the call's events, and extend its timeout. */
import * as ToolCall from "@recourse/core/ToolCall"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import { ProgressListener, type ServerProgress } from "./inbox.ts"

/** Number of reports that wait for a slow listener: older ones are dropped. */
const mostWaiting = 64

/** Runs a call. Reports of its progress are events of the call, in order, and all of them come before its end. */
export const reportingProgress = <A, E, R>(self: Effect.Effect<A, E, R>): Effect.Effect<A, E, R | ToolCall.ToolCall> =>
  Effect.suspend(() => {
    const waiting: Array<ServerProgress> = []
    const latch = Latch.makeUnsafe(false)
    const listener = (progress: ServerProgress) => {
      waiting.push(progress)
      if (waiting.length > mostWaiting) waiting.shift()
      latch.openUnsafe()
    }
    const report = Effect.suspend(() => {
      latch.closeUnsafe()
      return Effect.forEach(waiting.splice(0), ToolCall.progress, { discard: true })
    })
    const reports = Effect.forever(Effect.andThen(latch.await, report))
    return Effect.raceFirst(Effect.provideService(self, ProgressListener, listener), reports).pipe(
      Effect.onExit(() => report)
    )
  })
