/** Recording from a log of events, such as production writes: the answers of its model and its tools. */
import { Effect, Predicate, Schema } from "effect"
import { AiError } from "effect/ai"
import { AgentEvent } from "@recourse/core"
import { modelReasons } from "../faults/modelFaults.ts"
import { type Recording, version } from "./recording.ts"

type Event = AgentEvent.AgentEvent
type Of<Tag extends Event["_tag"]> = Extract<Event, { readonly _tag: Tag }>

const isSame = (a: ReadonlyArray<string>, b: ReadonlyArray<string>): boolean =>
  a.length === b.length && a.every((name, index) => name === b[index])

const readArguments = (text: string): unknown => {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return text
  }
}

/** What a tool answered, without what stands around it for the model. */
const unmarked = (result: unknown): unknown =>
  Predicate.hasProperty(result, "untrusted") && result.untrusted === true && Predicate.hasProperty(result, "content")
    ? result.content
    : Predicate.hasProperty(result, "degraded") && Predicate.hasProperty(result, "result")
    ? result.result
    : result

const failedCall = (
  event: Of<"ModelRetry"> | Of<"ModelSubstituted">,
  start: number
): Recording["modelCalls"][number] => {
  const known = Object.hasOwn(modelReasons, event.error) ? event.error as keyof typeof modelReasons : "UnknownError"
  const reason = modelReasons[known]("recorded", undefined)
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
    if (event._tag !== "ModelTurnFinished" && event._tag !== "ModelRetry" && event._tag !== "ModelSubstituted") {
      return []
    }
    const start = events.slice(0, index).findLast((earlier) =>
      (earlier._tag === "ModelTurnStarted" || earlier._tag === "ModelRetry") && isSame(earlier.path, event.path)
    )?.at ?? event.at
    if (event._tag !== "ModelTurnFinished") {
      return [failedCall(event, start)]
    }
    const calls = events.slice(index).filter((later): later is Of<"ToolCallStarted"> =>
      later._tag === "ToolCallStarted" && isSame(later.path, event.path)
    )
    return [answered(event, calls.slice(0, event.toolCalls), start)]
  })

const executionsOf = (events: ReadonlyArray<Event>): Recording["executions"] =>
  events.flatMap((event, index): ReadonlyArray<Recording["executions"][number]> => {
    if (event._tag !== "ToolAttempt") return []
    const { attempt, callId, tool } = event
    const later = events.slice(index + 1)
    const ending = later.findIndex((other) =>
      "callId" in other && other.callId === callId && isSame(other.path, event.path) &&
      ((other._tag === "ToolAttemptFailed" && other.attempt === attempt) || other._tag === "ToolResult" ||
        other._tag === "ApprovalRequested")
    )
    const end = later[ending] as Of<"ToolAttemptFailed"> | Of<"ToolResult"> | Of<"ApprovalRequested"> | undefined
    if (end?._tag === "ApprovalRequested") return []
    const common = { tool, callId, attempt, duration: (end?.at ?? event.at) - event.at }
    const isNested = later.slice(0, Math.max(0, ending)).some((other) =>
      other._tag === "AgentStarted" && other.path.length === event.path.length + 1 &&
      isSame(other.path.slice(0, -1), event.path)
    )
    if (isNested) return [{ ...common, duration: 0, outcome: { _tag: "Nested" } }]
    if (end === undefined) return [{ ...common, outcome: { _tag: "Unfinished" } }]
    if (end._tag === "ToolResult") {
      return end.isFailure
        ? [{ ...common, outcome: { _tag: "Unfinished" } }]
        : [{ ...common, outcome: { _tag: "Value", value: unmarked(end.result), encoded: true } }]
    }
    return end.error === "ExecutionError" || end.reason !== undefined
      ? [{ ...common, outcome: { _tag: "Failed", error: { _tag: end.reason ?? "Failure" } } }]
      // Without an answer: the tool's own timeout ends it again.
      : end.error === "InvalidArgs"
      ? []
      : [{ ...common, outcome: { _tag: "Unfinished" } }]
  })

/** What was decided at each pause: what ran behind it was approved, what did not was rejected. */
const pausesOf = (events: ReadonlyArray<Event>): NonNullable<Recording["pauses"]> =>
  events.flatMap((event, index) => {
    if (event._tag !== "RunFinished" || event.outcome !== "paused" || index === events.length - 1) return []
    const before = events.slice(0, index)
    const begin = before.findLastIndex(({ _tag }) => _tag === "RunStarted")
    const behind = events.slice(index + 1)
    const asked = before.slice(begin).filter((other): other is Of<"ApprovalRequested"> =>
      other._tag === "ApprovalRequested"
    )
    return [{
      waited: (behind[0]?.at ?? event.at) - event.at,
      decisions: asked.map(({ argumentsHash, callId }) =>
        behind.some((other) => other._tag === "ToolAttempt" && other.callId === callId)
          ? { _tag: "Approve" as const, callId, argumentsHash }
          : { _tag: "Reject" as const, callId, argumentsHash, reason: "" }
      )
    }]
  })

/**
 * A recording of a run that was not recorded: of its events alone. What the model was sent is not in them, so it is not
 * compared; a failure is one with the recorded tag.
 */
export const fromEvents = (events: ReadonlyArray<Event>): Recording => {
  const begun = events.find((event) => event._tag === "RunStarted")
  const pauses = pausesOf(events)
  return {
    version,
    agent: begun?.path[0] ?? "",
    input: begun?.input,
    streaming: false,
    events: events.filter(({ _tag }) => _tag !== "TextDelta" && _tag !== "ReasoningDelta"),
    modelCalls: modelCallsOf(events),
    executions: executionsOf(events),
    ...(pauses.length === 0 ? undefined : { pauses })
  }
}

const decodeEvent = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.toCodecJson(AgentEvent.AgentEvent)))

/** The events of a log: one JSON object a line. */
export const parseLog = (lines: string) =>
  Effect.forEach(lines.split("\n").filter((line) => line.trim() !== ""), (line) => decodeEvent(line))
