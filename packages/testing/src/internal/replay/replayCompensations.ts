/** Replay of compensations: the outcome that the recorded event of each has. */
import { Effect } from "effect"
import type { AgentEvent, ToolInterceptor } from "@recourse/core"
import { InjectedFailure } from "../faults/spoil.ts"
import { NotRecorded } from "./notRecorded.ts"
import type { Recording } from "./recording.ts"

/** Answers each compensation by its recorded outcome. */
export const replayCompensations = (recording: Recording) => {
  // The event of each compensated write has its outcome.
  const compensated = recording.events.filter((event) =>
    event._tag === "ToolCompensated" &&
    (event.outcome === "undone" || event.because === "failed" || event.because === "timeout")
  ) as Array<Extract<AgentEvent.AgentEvent, { readonly _tag: "ToolCompensated" }>>
  return ({ callId, tool }: ToolInterceptor.Compensation): Effect.Effect<unknown, unknown> =>
    Effect.suspend(() => {
      const index = compensated.findIndex((event) => event.tool === tool && event.callId === callId)
      const [event] = index < 0 ? [] : compensated.splice(index, 1)
      if (event === undefined) return Effect.die(new NotRecorded({ what: `undoing ${tool} ${callId}` }))
      if (event.outcome === "undone") return Effect.void
      switch (event.error) {
        case undefined:
          return Effect.never
        case "Defect":
          return Effect.die(new Error("recorded"))
        case "Interrupted":
          return Effect.interrupt
        case "Error":
          return Effect.fail<unknown>(new Error("recorded"))
        default:
          return Effect.fail(new InjectedFailure({ _tag: event.error }, undefined))
      }
    })
}
