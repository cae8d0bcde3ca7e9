/** Nested agents: those that run within calls, each with the calls that it makes. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { NestedAgent } from "../../UiMessageChunk.ts"

const began = (event: AgentEvent): NestedAgent => {
  const callId = event.parent?.callId
  return {
    agent: event.path.at(-1) ?? "",
    ...(callId === undefined ? undefined : { callId }),
    state: "running",
    calls: []
  }
}

/** The agent after an event of it, if the event changes it. */
const after = (agent: NestedAgent, event: AgentEvent): NestedAgent | undefined => {
  switch (event._tag) {
    case "AgentStarted":
      return { ...agent, state: "running" }
    case "AgentFinished":
      return { ...agent, state: event.outcome }
    case "ToolCallStarted":
      if (event.resumed) return undefined
      return { ...agent, calls: [...agent.calls, { callId: event.callId, tool: event.tool, state: "running" }] }
    case "ToolResult": {
      const { callId, code, isFailure, userMessage } = event
      const state = code === "outcome_unknown"
        ? "unknown" as const
        : isFailure
        ? "failure" as const
        : "success" as const
      const userText = userMessage === undefined ? undefined : { userMessage }
      return {
        ...agent,
        calls: agent.calls.map((call) => call.callId === callId ? { ...call, state, ...userText } : call)
      }
    }
    default:
      return undefined
  }
}

/** Follows the nested agents of a run. */
export class NestedAgents {
  private readonly agents = new Map<string, NestedAgent>()

  /** The agent that an event changes. */
  receive(event: AgentEvent): NestedAgent | undefined {
    const known = this.agents.get(event.agentRunId)
    const agent = known === undefined ? event._tag === "AgentStarted" ? began(event) : undefined : after(known, event)
    if (agent !== undefined) this.agents.set(event.agentRunId, agent)
    return agent
  }
}
