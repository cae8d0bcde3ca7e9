/** Recoveries: the steps of each call until its result. Calls made by a tool belong to the tool's call. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import { maxRecoverySteps, type Recovery, type RecoveryStep } from "../../UiMessageChunk.ts"
import { stepOf } from "./recoverySteps.ts"

type OfCall = Extract<AgentEvent, { readonly callId: string; readonly tool: string }>

const isOfCall = (event: AgentEvent): event is OfCall => "callId" in event && "tool" in event

const parentOf = (event: OfCall): string | undefined => "parentCallId" in event ? event.parentCallId : undefined

/** State of a recovery after an event. */
export interface Recovered extends Recovery {
  /** Names the call among those of all agents of the run. */
  readonly key: string
  readonly agentRunId: string
}

/** Follows the calls of a run. */
export class Recoveries {
  /** Of a call that a tool made: the tool's call. */
  private readonly parents = new Map<string, string>()
  private readonly steps = new Map<string, Array<RecoveryStep>>()
  private readonly tools = new Map<string, string>()

  /** Returns the recovery that an event changes, unless it is only a first attempt that may succeed. */
  receive(event: AgentEvent): Recovered | undefined {
    if (!isOfCall(event)) return undefined
    const { agentRunId, callId, tool } = event
    const key = (callId: string) => `${agentRunId}/${callId}`
    const parent = parentOf(event)
    if (parent !== undefined) this.parents.set(key(callId), parent)
    else if (event._tag === "ToolCallStarted") this.tools.set(key(callId), tool)
    const step = stepOf(event)
    if (step === undefined) return undefined
    let outer = callId
    for (let around = parent; around !== undefined; around = this.parents.get(key(outer))) outer = around
    const steps = this.steps.get(key(outer)) ?? []
    this.steps.set(key(outer), steps)
    steps.push(outer === callId ? step : { ...step, tool })
    if (steps.length > maxRecoverySteps) steps.splice(1, 1)
    if (steps.length === 1 && step.kind === "attempt") return undefined
    return { key: key(outer), agentRunId, callId: outer, tool: this.tools.get(key(outer)) ?? tool, steps: [...steps] }
  }
}
