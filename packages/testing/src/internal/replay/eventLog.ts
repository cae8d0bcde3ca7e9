/** Recording from a log of events, such as production writes: the answers of its model and its tools. */
import { Effect, Predicate, Schema } from "effect"
import { AiError } from "effect/ai"
import { AgentEvent } from "@recourse/core"
import { modelReasons } from "../faults/modelReasons.ts"
import { pausesOf } from "./decided.ts"
import { type Recording, version } from "./recording.ts"

type Event = AgentEvent.AgentEvent
type Of<Tag extends Event["_tag"]> = Extract<Event, { readonly _tag: Tag }>

/** True if two events are of one run of one agent. */
const isOfSameAgent = (a: Event, b: Event): boolean => a.agentRunId === b.agentRunId

const readArguments = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** A tool's answer, without its wrapping for the model. */
const unmarked = (result: unknown): unknown =>
  Predicate.hasProperty(result, "untrusted") && result.untrusted === true && Predicate.hasProperty(result, "content")
    ? result.content
    : (Predicate.hasProperty(result, "degraded") || Predicate.hasProperty(result, "outcome_unknown")) &&
        Predicate.hasProperty(result, "result")
    ? result.result
    : result

const failedCall = (
  event: Of<"ModelTurnFailed">,
  start: number,
  retryAfter: number | undefined
): Recording["modelCalls"][number] => {
  if (event.error === "Interrupted" || event.error === "Guardrail") {
    return { request: "", duration: event.at - start, outcome: { _tag: "Unfinished" } }
  }
  const known = Object.hasOwn(modelReasons, event.error) ? event.error as keyof typeof modelReasons : "UnknownError"
  const reason = modelReasons[known]("recorded", retryAfter)
  return {
    request: "",
    duration: event.at - start,
    outcome: { _tag: "Failed", error: AiError.make({ module: "Replay", method: "fromEvents", reason }) }
  }
}

const answered = (
  event: Of<"ModelTurnFinished">,
  calls: ReadonlyArray<Of<"ToolCallStarted">>,
  start: number
): Recording["modelCalls"][number] => ({
  request: "",
  duration: event.at - start,
  outcome: {
    _tag: "Parts",
    parts: [
      ...(event.text === "" ? [] : [{ type: "text", text: event.text }]),
      ...calls.map(({ arguments: text, callId, tool }) => ({
        type: "tool-call",
        id: callId,
        name: tool,
        params: readArguments(text)
      })),
      // Calls of an interrupted answer are counted, and not emitted.
      ...Array.from({ length: event.toolCalls - calls.length }, (_, nth) => ({
        type: "tool-call",
        id: `untold_${nth}`,
        name: "untold",
        params: {}
      })),
      {
        type: "finish",
        reason: event.finishReason,
        usage: { inputTokens: { total: event.inputTokens }, outputTokens: { total: event.outputTokens } }
      }
    ]
  }
})

const modelCallsOf = (events: ReadonlyArray<Event>): Recording["modelCalls"] =>
  events.flatMap((event, index) => {
    switch (event._tag) {
      case "ModelTurnFinished":
      case "ModelTurnFailed": {
        const start = events.slice(0, index).findLast((earlier) =>
          earlier._tag === "ModelTurnStarted" && isOfSameAgent(earlier, event)
        )?.at ?? event.at
        const behind = events.slice(index + 1).filter((later) =>
          isOfSameAgent(later, event)
        )
        if (event._tag !== "ModelTurnFinished") {
          const [end] = behind
          return [failedCall(event, start, end !== undefined && "retryAfter" in end ? end.retryAfter : undefined)]
        }
        const next = behind.findIndex(({ _tag }) => _tag === "ModelTurnStarted")
        const calls = behind.slice(0, next < 0 ? behind.length : next).filter((later): later is Of<"ToolCallStarted"> =>
          later._tag === "ToolCallStarted" && !later.resumed && later.parentCallId === undefined
        )
        return [answered(event, calls.slice(0, event.toolCalls), start)]
      }
      default:
        return []
    }
  })

const executionsOf = (events: ReadonlyArray<Event>): Recording["executions"] =>
  events.flatMap((event, index): ReadonlyArray<Recording["executions"][number]> => {
    if (event._tag !== "ToolAttempt") return []
    const { attempt, callId, tool } = event
    const later = events.slice(index + 1)
    const ending = later.findIndex((other) =>
      "callId" in other && other.callId === callId && isOfSameAgent(other, event) &&
      ((other._tag === "ToolAttemptFailed" && other.attempt === attempt) || other._tag === "ToolResult" ||
        other._tag === "ApprovalRequested")
    )
    const end = later[ending] as Of<"ToolAttemptFailed"> | Of<"ToolResult"> | Of<"ApprovalRequested"> | undefined
    if (end?._tag === "ApprovalRequested") return []
    const common = { tool, callId, attempt, duration: (end?.at ?? event.at) - event.at }
    const isNested = later.slice(0, Math.max(0, ending)).some((other) =>
      other._tag === "AgentStarted" && other.parent?.agentRunId === event.agentRunId &&
      (other.parent.callId ?? callId) === callId
    )
    if (isNested) return [{ ...common, duration: 0, outcome: { _tag: "Nested" } }]
    if (end === undefined) return [{ ...common, outcome: { _tag: "Unfinished" } }]
    if (end._tag === "ToolResult") {
      return [{
        ...common,
        outcome: !end.isFailure
          ? { _tag: "Value", value: unmarked(end.result), encoded: true }
          : { _tag: end.code === "invalid_result" ? "Misfit" : "Unfinished" }
      }]
    }
    switch (end.error) {
      case "InvalidArgs":
        return []
      case "Defect":
        return [{ ...common, outcome: { _tag: "Died", defect: "recorded" } }]
      case "Interrupted":
        return [{ ...common, outcome: { _tag: "Interrupted" } }]
      default:
        return end.error === "ExecutionError" || end.reason !== undefined
          ? [{ ...common, outcome: { _tag: "Failed", error: { _tag: end.reason ?? "Failure" } } }]
          // Without an answer: the tool's own timeout ends it again.
          : [{ ...common, outcome: { _tag: "Unfinished" } }]
    }
  })

/** Events of pieces of an answer, or of its transport: a run without streaming and network emits none. */
const left: ReadonlySet<Event["_tag"]> = new Set([
  "TextDelta",
  "TextFinished",
  "ReasoningDelta",
  "ReasoningFinished",
  "ToolCallDelta",
  "ModelRequested",
  "TransportRetry"
])

/** An event without the fields of `AgentEvent.Details`, such as one of a server. */
const withoutDetails = (event: Event): Event => {
  const { limits: _limits, operatorMessage: _message, ...told } = event as Event & {
    readonly limits?: unknown
    readonly operatorMessage?: unknown
  }
  return told as Event
}

/**
 * A recording of an unrecorded run: of its events alone. They do not contain the requests to the model, so these are
 * not compared; a failure has only the recorded tag. Of a log of several runs, `runId` names the one. Default: the
 * first.
 *
 * @category constructors
 * @since 0.2.0
 */
export const fromEvents = (
  log: ReadonlyArray<AgentEvent.AgentEvent>,
  options?: { readonly runId?: string | undefined }
): Recording => {
  const runId = options?.runId ?? log[0]?.runId
  const events = log.filter((event) => event.runId === runId)
  const started = events.find((event) => event._tag === "RunStarted")
  const pauses = pausesOf(events)
  return {
    version,
    agent: started?.path[0] ?? "",
    input: started?.input,
    streaming: false,
    events: events.filter(({ _tag }) => !left.has(_tag)).map(withoutDetails),
    modelCalls: modelCallsOf(events),
    executions: executionsOf(events),
    ...(pauses.length === 0 ? undefined : { pauses })
  }
}

const decodeEvent = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.toCodecJson(AgentEvent.AgentEvent)))

/**
 * The events of a log: one JSON object a line.
 *
 * @category decoding
 * @since 0.2.0
 */
export const parseLog = (lines: string) =>
  Effect.forEach(lines.split("\n").filter((line) => line.trim() !== ""), (line) => decodeEvent(line))
