/** Decisions at the pauses of a run, from its events. */
import { Predicate, Schema } from "effect"
import type { AgentEvent, Approval } from "@recourse/core"
import type { Recording } from "./recording.ts"

type Event = AgentEvent.AgentEvent
type Asked = Extract<Event, { readonly _tag: "ApprovalRequested" }>

const isObject = Schema.is(Schema.Record(Schema.String, Schema.Json))
const decodeObject = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.Record(Schema.String, Schema.Json)))
const isJson = Schema.is(Schema.Json)

/** The model's text of a rejected call, before the person's reason. */
const rejected = "A person rejected this call: "

const reasonIn = (result: unknown): string => {
  const text = Predicate.hasProperty(result, "message_for_model") ? result.message_for_model : undefined
  return typeof text === "string" && text.startsWith(rejected) ? text.slice(rejected.length) : ""
}

/** Decision about a call: calls that ran behind the pause were approved, unchanged or with other arguments. */
const decisionOf = (asked: Asked, behind: ReadonlyArray<Event>): ReadonlyArray<Approval.Decision> => {
  const about = { callId: asked.pendingCallId, argumentsHash: asked.argumentsHash }
  const own = behind.filter((event) => "callId" in event && event.callId === asked.callId && event.tool === asked.tool)
  const started = own.find((event) => event._tag === "ToolCallStarted")
  const result = own.find((event) => event._tag === "ToolResult")
  const again = own.find((event) => event._tag === "ApprovalRequested")
  if (own.some(({ _tag }) => _tag === "ToolAttempt" || _tag === "ToolReplayed")) {
    const changed = started === undefined || started.arguments === asked.arguments
      ? undefined
      : decodeObject(started.arguments).pipe((found) => found._tag === "Some" ? found.value : undefined)
    return changed !== undefined && isObject(changed)
      ? [{ _tag: "Edit", ...about, arguments: changed }]
      : [{ _tag: "Approve", ...about }]
  }
  if (result === undefined) return again?.code === "approval_expired" ? [{ _tag: "Approve", ...about }] : []
  if (!result.isFailure && isJson(result.result)) return [{ _tag: "Respond", ...about, result: result.result }]
  return result.deniedBy === "person"
    ? [{ _tag: "Reject", ...about, reason: reasonIn(result.result) }]
    : [{ _tag: "Approve", ...about }]
}

/** Decisions at each pause, up to the next. */
export const pausesOf = (events: ReadonlyArray<Event>): NonNullable<Recording["pauses"]> => {
  const ends = events.flatMap(({ _tag }, index) => _tag === "RunFinished" ? [index] : [])
  return ends.flatMap((end, nth) => {
    const event = events[end]!
    const behind = events.slice(end + 1, ends[nth + 1] === undefined ? undefined : ends[nth + 1]! + 1)
    if (event._tag !== "RunFinished" || event.outcome !== "paused" || behind.length === 0) return []
    const asked = events.slice(0, end).filter((other): other is Asked =>
      other._tag === "ApprovalRequested" && event.pending?.some(({ callId }) => callId === other.pendingCallId) === true
    )
    const last = [...new Map(asked.map((one) => [one.pendingCallId, one])).values()]
    return [{
      waited: (behind[0]?.at ?? event.at) - event.at,
      decisions: last.flatMap((one) => decisionOf(one, behind))
    }]
  })
}
