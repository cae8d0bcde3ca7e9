/** Timeline: a run as text, with one line for each event and each injected fault. */
import { AgentEvent } from "@recourse/core"
import { placeOf } from "../faults/injector.ts"
import type { Observation } from "./simulation.ts"

/** A line that is read beside others: what was said or answered in full stands in the record. */
const cut = (line: string): string => line.length > maxLine ? `${line.slice(0, maxLine - 1)}…` : line

const maxLine = 120

/** The timeline of a run; times are virtual milliseconds from its start. */
export const render = ({ events, injected }: Pick<Observation, "events" | "injected">): string => {
  const start = events[0]?.at ?? 0
  const at = (time: number) => `${String(Math.round(time - start)).padStart(8)} ms`
  const left = [...injected]
  const lines: Array<string> = []
  const attempts = new Set<string>()
  const faults = (isDue: (fault: Observation["injected"][number]) => boolean) => {
    for (let index = left.findIndex(isDue); index >= 0; index = left.findIndex(isDue)) {
      const fault = left.splice(index, 1)[0]!
      const { applied, at: time, n, type } = fault
      lines.push(`${at(time)} ! ${placeOf(fault)} ${n}: ${type}${applied ? "" : " (nothing to spoil)"}`)
    }
  }
  for (const event of events) {
    // A fault stands before its consequences, and behind the attempt that it is a fault of.
    faults((fault) =>
      fault.at <= event.at && (fault.attempt !== undefined
        ? attempts.has(`${fault.callId} ${fault.attempt}`)
        : fault.at < event.at || (fault.tool !== undefined
          ? "callId" in event && event.callId === fault.callId
          : fault.store !== undefined
          ? "callId" in event || event._tag === "RunFinished"
          : event._tag === "ModelTurnFinished" || event._tag === "ModelRetry" || event._tag === "RunFinished"))
    )
    if (event._tag === "ToolAttempt") attempts.add(`${event.callId} ${event.attempt}`)
    const said = AgentEvent.describe(event)
    if (said !== undefined) lines.push(`${at(event.at)}   ${cut(said)}`)
  }
  faults(() => true)
  return lines.join("\n")
}
