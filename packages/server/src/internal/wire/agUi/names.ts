/**
 * Names of agents and calls in AG-UI's events: those of the outermost agent unchanged, others by the run of their
 * agent.
 */
import type { AgUiEvent } from "../../../AgUiEvent.ts"

/** An event without its time: the time of the agent's event is added to it. */
export type Untimed = AgUiEvent extends infer E ? E extends AgUiEvent ? Omit<E, "timestamp"> : never : never

export class Names {
  /** The run of the outermost agent. */
  root = ""
  /**
   * Number of starts of inner agents in this run: one that waited for a person while the run continued starts again.
   */
  private readonly startedAgents = new Map<string, number>()

  /** A run begins: of an agent of its own, with no agent within. */
  begin(root: string): void {
    this.root = root
    this.startedAgents.clear()
  }

  /** An inner agent starts, or resumes. */
  beginWithin(agentRunId: string): void {
    this.startedAgents.set(agentRunId, this.timesOf(agentRunId) + 1)
  }

  hasStarted(agentRunId: string): boolean {
    return this.startedAgents.has(agentRunId)
  }

  private timesOf(agentRunId: string): number {
    return this.startedAgents.get(agentRunId) ?? 0
  }

  /** Suffix of the ids of an inner agent that has started before: each id starts once in a run. */
  again({ agentRunId }: { readonly agentRunId: string }): string {
    const times = this.timesOf(agentRunId)
    return times <= 1 ? "" : `:${times}`
  }

  /** The id of an agent within. */
  within(agentRunId: string): string {
    return agentRunId + this.again({ agentRunId })
  }

  /** Further fields of an agent's event. */
  by({ agentRunId }: { readonly agentRunId: string }): { readonly subagentRunId?: string } {
    return agentRunId === this.root ? {} : { subagentRunId: this.within(agentRunId) }
  }

  callId({ agentRunId, callId }: { readonly agentRunId: string; readonly callId: string }): string {
    return agentRunId === this.root ? callId : `${agentRunId}/${callId}`
  }
}
