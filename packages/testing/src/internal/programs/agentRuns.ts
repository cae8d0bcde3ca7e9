/** Runs of agents from events: their nesting, their ends, and the compensating ones. */
import type { AgentEvent } from "@recourse/core"
import { clerk, desk, partner } from "./forms.ts"
import type { Program } from "./program.ts"
import type { Observed } from "./observed.ts"
import type { SideEffect } from "./world.ts"

/** A run of an agent. */
export interface AgentRun {
  readonly id: string
  readonly name: string
  readonly parent: string | undefined
  /** Its last start or resumption, and its number; and its last end. */
  begunAt: number
  isResumed: boolean
  end: { readonly at: number; readonly outcome: string; readonly code: string | undefined } | undefined
}

type Ends = Extract<AgentEvent.AgentEvent, { readonly _tag: "RunFinished" | "AgentFinished" }>

const isEnd = (event: AgentEvent.AgentEvent): event is Ends =>
  event._tag === "RunFinished" || event._tag === "AgentFinished"

/** The runs of agents, by the ids of their executions: one that resumes within another may have another id there. */
export const agentRunsOf = ({ events }: Observed): ReadonlyMap<string, AgentRun> => {
  const runs = new Map<string, AgentRun>()
  const places = new Map<string, AgentRun>()
  for (const [at, event] of events.entries()) {
    const id = event.agentRunId
    if (event._tag === "RunStarted" || event._tag === "AgentStarted") {
      const name = event.path.at(-1) ?? ""
      const parent = event.parent === undefined ? undefined : runs.get(event.parent.agentRunId)?.id
      const place = `${parent ?? event.runId} ${event.parent?.callId ?? ""} ${name}`
      const known = runs.get(id) ?? (event.resumed ? places.get(place) : undefined)
      const run = known ?? { id, name, parent, begunAt: at, isResumed: false, end: undefined }
      Object.assign(run, { begunAt: at, isResumed: event.resumed, end: undefined })
      runs.set(id, run)
      places.set(place, run)
    }
    const run = runs.get(id)
    if (run !== undefined && isEnd(event)) run.end = { at, outcome: event.outcome, code: event.code }
  }
  return runs
}

/** True if an agent compensates. */
export const hasCompensation = ({ compensates, undoesAround }: Program, { name }: AgentRun): boolean =>
  name === clerk || name === partner ? compensates : undoesAround && (name === desk || name.endsWith(" compensated"))

/** The runs that a side effect was done in, from the innermost one. */
export const runsAround = (
  { events }: Observed,
  runs: ReadonlyMap<string, AgentRun>,
  { after, agent, callId }: SideEffect
): ReadonlyArray<AgentRun> => {
  const began = events.slice(0, after).findLast((event) =>
    event._tag === "ToolAttempt" && event.callId === callId && event.path.at(-1) === agent
  )
  const around: Array<AgentRun> = []
  let run = began && runs.get(began.agentRunId)
  while (run !== undefined) {
    around.push(run)
    run = run.parent === undefined ? undefined : runs.get(run.parent)
  }
  return around
}
