/**
 * Outcomes of calls that are neither success nor failure: a write whose outcome is unknown, and writes that were compensated, or
 * could not be.
 */
import { callKey } from "./spanTree.ts"
import type { CallOutcome, Event } from "./types.ts"

type Open = { -readonly [K in keyof CallOutcome]: CallOutcome[K] }

/** The code of a failure that leaves open whether a write has happened. */
const unknownCode = "outcome_unknown"

/** The outcomes of a run. */
export class Outcomes {
  readonly list: Array<Open> = []
  private readonly byCall = new Map<string, Open>()
  private readonly arguments = new Map<string, string>()

  receive(event: Event, number: number, spanId: string | undefined): void {
    switch (event._tag) {
      case "ToolCallStarted":
        this.arguments.set(callKey(event), event.arguments)
        return
      case "ToolAttempt":
        this.arguments.set(callKey(event), event.arguments)
        return
      case "ToolResult":
        // The tool that made a call says itself how it ended.
        if (event.code === unknownCode && event.parentCallId === undefined) {
          this.note(event, number, spanId, "unknown")
        }
        return
      case "ToolCompensated": {
        const outcome = this.note(event, number, spanId, event.outcome)
        if (event.because !== undefined) outcome.because = event.because
        if (event.error !== undefined) outcome.error = event.error
        return
      }
      default:
        return
    }
  }

  private note(
    event: Extract<Event, { readonly _tag: "ToolResult" | "ToolCompensated" }>,
    number: number,
    spanId: string | undefined,
    state: CallOutcome["state"]
  ): Open {
    const { agentRunId, at, callId, tool } = event
    const key = spanId ?? callKey(event)
    const known = this.byCall.get(key)
    if (known !== undefined) return Object.assign(known, { state, number, at })
    const args = this.arguments.get(key)
    const outcome: Open = {
      number,
      at,
      spanId,
      agentRunId,
      callId,
      tool,
      state,
      ...(args === undefined ? undefined : { arguments: args })
    }
    this.byCall.set(key, outcome)
    this.list.push(outcome)
    return outcome
  }
}
