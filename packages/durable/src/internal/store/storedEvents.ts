/** Stored form of events: without the fields that the row and the event's number imply. Events of earlier versions are whole. */
import type * as Schema from "effect/Schema"
import type * as AgentEvent from "@recourse/core/AgentEvent"
import * as EventJson from "@recourse/core/EventJson"
import * as RunUsage from "@recourse/core/RunUsage"
import type { StoredRun } from "./store.ts"

type Run = Pick<StoredRun, "runId" | "agent">

type Fields = Readonly<Record<string, Schema.Json>>

/** The usage of an end, without its zeros. */
const used = (usage: unknown): Fields =>
  Object.fromEntries(Object.entries(usage as Readonly<Record<string, number>>).filter(([, count]) => count !== 0))

/** The stored form of an event of a run. */
export const eventToStored = (event: AgentEvent.AgentEvent, { agent, runId }: Run): Schema.Json => {
  const { agentRunId, path, runId: _run, sequence: _sequence, ...left } = EventJson.encode(event) as Fields
  const names = path as ReadonlyArray<string>
  return {
    ...left,
    ...("usage" in left ? { usage: used(left["usage"]) } : undefined),
    ...(agentRunId === runId ? undefined : { agentRunId: agentRunId! }),
    ...(names.length === 1 && names[0] === agent ? undefined : { path: names })
  }
}

/** The stored event, in JSON. */
export const eventFromStored = (stored: Schema.Json, { agent, runId }: Run, sequence: number): Schema.Json => {
  if (typeof stored !== "object" || stored === null || "runId" in stored) return stored
  const { usage, ...event } = stored as Fields
  const all = usage === undefined ? undefined : { usage: { ...RunUsage.none, ...usage as Fields } }
  return { runId, agentRunId: runId, path: [agent], sequence, ...event, ...all }
}
