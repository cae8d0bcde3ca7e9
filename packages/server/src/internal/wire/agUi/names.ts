/** How AG-UI's events name agents and calls: those of the outermost agent as they are, others by the run of their agent. */
import type { AgUiEvent } from "../../../AgUiEvent.ts"

/** An event without its time: the time of the agent's event is added to it. */
export type Untimed = AgUiEvent extends infer E ? E extends AgUiEvent ? Omit<E, "timestamp"> : never : never

export class Names {
  /** The run of the outermost agent. */
  root = ""

  /** What an event of an agent has besides. */
  by({ agentRunId }: { readonly agentRunId: string }): { readonly subagentRunId?: string } {
    return agentRunId === this.root ? {} : { subagentRunId: agentRunId }
  }

  callId({ agentRunId, callId }: { readonly agentRunId: string; readonly callId: string }): string {
    return agentRunId === this.root ? callId : `${agentRunId}/${callId}`
  }
}
