/**
 * Visible agents: the agents whose text and calls are the message. The outermost one, and those that it runs by combinators.
 * An agent that runs within a call is not: its call is.
 */
import type { AgentEvent } from "@recourse/core/AgentEvent"

/** The visible agents of a run. */
export class Visible {
  private readonly runs = new Set<string>()

  receive(event: AgentEvent): void {
    if (event._tag === "RunStarted") this.runs.add(event.agentRunId)
    const { parent } = event
    if (event._tag !== "AgentStarted" || parent === undefined || parent.callId !== undefined) return
    if (this.runs.has(parent.agentRunId)) this.runs.add(event.agentRunId)
  }

  has(agentRunId: string): boolean {
    return this.runs.has(agentRunId)
  }
}

/** True if an event is of a visible agent, and of no call made by a tool. */
export const isVisible = (visible: Visible, event: AgentEvent): boolean =>
  visible.has(event.agentRunId) && !("parentCallId" in event && event.parentCallId !== undefined)
