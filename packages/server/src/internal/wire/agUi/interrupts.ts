/** Interrupts: calls that wait for a person, and the agents that they are of. */
import type { AgentEvent, Pending } from "@recourse/core/AgentEvent"
import type { Interrupt } from "../../../AgUiEvent.ts"
import { decisionSchema } from "../decisionSchema.ts"
import type { Names } from "./names.ts"

/** The last moment that ISO 8601 writes with four digits of a year. */
const lastYear = Date.UTC(9999, 11, 31)

interface Waiting {
  readonly agentRunId: string
  readonly toolCallId: string
  readonly subagentRunId: string | undefined
}

export class Interrupts {
  private readonly names: Names
  private readonly idOf: (callId: string) => string
  private readonly waiting = new Map<string, Waiting>()

  constructor(names: Names, idOf: (callId: string) => string) {
    this.names = names
    this.idOf = idOf
  }

  hear(event: Extract<AgentEvent, { readonly _tag: "ApprovalRequested" }>): void {
    const { agentRunId, code, pendingCallId } = event
    if (code === "client_tool") return
    const { subagentRunId } = this.names.by(event)
    this.waiting.set(pendingCallId, { agentRunId, toolCallId: this.names.callId(event), subagentRunId })
  }

  /** Those that an agent within a call waits for. */
  idsOf(agentRunId: string): ReadonlyArray<string> {
    return [...this.waiting].flatMap(([callId, waiting]) =>
      waiting.agentRunId === agentRunId ? [this.idOf(callId)] : []
    )
  }

  of(pending: ReadonlyArray<typeof Pending.Type>): ReadonlyArray<Interrupt> {
    return pending.flatMap((call) => {
      const { argumentsHash, callId, code, expiresAt, reasons, tool } = call
      // The page executes it, and answers by a message.
      if (code === "client_tool") return []
      const { subagentRunId, toolCallId = callId.split("/", 1)[0]! } = this.waiting.get(callId) ?? {}
      return [{
        id: this.idOf(callId),
        reason: code,
        message: reasons.join("\n") || `${tool} waits for an approval.`,
        toolCallId,
        ...(subagentRunId === undefined ? undefined : { subagentRunId }),
        responseSchema: decisionSchema,
        ...(expiresAt < lastYear ? { expiresAt: new Date(expiresAt).toISOString() } : undefined),
        metadata: { tool, arguments: call.arguments, argumentsHash }
      }]
    })
  }

  clear(): void {
    this.waiting.clear()
  }
}
