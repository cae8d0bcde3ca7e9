/** Timeline: a run as text, with one line for each event, each injected fault and each request of a double. */
import { AgentEvent } from "@recourse/core"
import { placeOf } from "../faults/injector.ts"
import { textOf } from "../text/text.ts"
import type { Observation } from "./simulation.ts"

/** A line among others: the record has the full texts. */
const cut = (line: string): string => line.length > maxLine ? `${line.slice(0, maxLine - 1)}…` : line

const maxLine = 120

type SideEffect = Observation["sideEffects"][number]

/** A tool's request to the double of its service, with its key. */
const requestLine = ({ details, duplicate, key, read, tool, compensates }: SideEffect): string =>
  [
    tool,
    compensates === undefined ? "asks the service" : `asks the service to undo ${compensates.callId}`,
    ...(details === undefined ? [] : [textOf(details)]),
    ...(key === undefined ? read === true ? [] : ["without a key"] : [`under key ${key}`]),
    ...(duplicate ? ["again: no effect"] : [])
  ].join(" ")

/**
 * The requests of doubles by the number of events before the execution that made them. Those of compensations are apart, and
 * others outside executions come last.
 */
const requestsByPlace = (
  sideEffects: ReadonlyArray<SideEffect>,
  executions: Observation["executions"]
): Map<number | string, ReadonlyArray<SideEffect>> =>
  Map.groupBy(
    sideEffects,
    ({ executions: within, compensates }) =>
      compensates === undefined
        ? executions[within?.at(-1) ?? -1]?.after ?? Infinity
        : compensationOf(compensates.callId)
  )

/** The events that follow a call to the model, with its fault. */
const afterModelCall: ReadonlySet<AgentEvent.AgentEvent["_tag"]> = new Set([
  "ModelTurnFinished",
  "ModelTurnFailed",
  "ModelRetry",
  "RunFinished"
])

/** Place of the requests that compensate a call: before the event of the compensation. */
const compensationOf = (callId: string): string => `compensation of ${callId}`

/**
 * The parts of a run that its timeline shows.
 *
 * @category models
 * @since 0.2.0
 */
export type Shown =
  & Pick<Observation, "events" | "injected">
  & Partial<Pick<Observation, "executions" | "sideEffects">>

/**
 * The timeline of a run; times are virtual milliseconds from its start.
 *
 * @category formatting
 * @since 0.2.0
 */
export const render = ({ events, executions = [], injected, sideEffects = [] }: Shown): string => {
  const start = events[0]?.at ?? 0
  const at = (time: number) => `${String(Math.round(time - start)).padStart(8)} ms`
  const left = [...injected]
  const lines: Array<string> = []
  const attempts = new Set<string>()
  let modelCalls = 0
  const requests = requestsByPlace(sideEffects, executions)
  const asks = (place: number | string, time: number) => {
    for (const effect of requests.get(place) ?? []) lines.push(`${at(time)} > ${cut(requestLine(effect))}`)
    requests.delete(place)
  }
  const faults = (isDue: (fault: Observation["injected"][number]) => boolean) => {
    for (let index = left.findIndex(isDue); index >= 0; index = left.findIndex(isDue)) {
      const fault = left.splice(index, 1)[0]!
      const { applied, at: time, n, type } = fault
      lines.push(`${at(time)} ! ${placeOf(fault)} ${n}: ${type}${applied ? "" : " (nothing to spoil)"}`)
    }
  }
  for (const [index, event] of events.entries()) {
    // A fault precedes its consequences, and follows its attempt.
    faults((fault) =>
      fault.at <= event.at && (fault.attempt !== undefined
        ? attempts.has(`${fault.callId} ${fault.attempt}`)
        : fault.at < event.at || (fault.tool !== undefined
          ? "callId" in event && event.callId === fault.callId
          : fault.store !== undefined
          ? "callId" in event || event._tag === "RunFinished"
          : fault.n <= modelCalls && afterModelCall.has(event._tag)))
    )
    if (event._tag === "ModelTurnStarted") modelCalls++
    if (event._tag === "ToolAttempt") attempts.add(`${event.callId} ${event.attempt}`)
    if (event._tag === "ToolCompensated") asks(compensationOf(event.callId), event.at)
    const said = AgentEvent.describe(event)
    if (said !== undefined) lines.push(`${at(event.at)}   ${cut(said)}`)
    asks(index + 1, event.at)
  }
  for (const place of requests.keys()) asks(place, events.at(-1)?.at ?? 0)
  faults(() => true)
  return lines.join("\n")
}
