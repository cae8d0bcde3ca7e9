/** Content of a recording: texts of models, tools and people, without ids, names and tags. */
import { Prompt } from "effect/ai"
import type { AgentEvent } from "@recourse/core"
import { textOf } from "../text/text.ts"
import type { Recording } from "./recording.ts"
import { mapError } from "./storedErrors.ts"
import { each, withFields } from "./texts.ts"

/** Visitor of each piece of content. The returned value replaces it. */
export interface Visitor {
  readonly value: (value: unknown) => unknown
  /** Pieces of one text, which may be the beginning of an interrupted one. Their number does not change. */
  readonly pieces: (pieces: ReadonlyArray<string>, isCut: boolean) => ReadonlyArray<string>
}

type Event = AgentEvent.AgentEvent
type Parts = ReadonlyArray<{ readonly type: string; readonly id?: string; readonly delta?: string }>

/** A text in pieces: `key` identifies it. */
interface Streamed {
  readonly key: string
  readonly isCut: boolean
}

/** Converts each delta. */
const deltasOf = <A extends object>(
  items: ReadonlyArray<A>,
  streamOf: (item: A) => Streamed | undefined,
  { pieces }: Visitor
): ReadonlyMap<A, string> => {
  const deltas = new Map<A, string>()
  const deltaOf = (item: A) => (item as { readonly delta?: unknown }).delta
  const streams = Map.groupBy(
    items.flatMap((item) => {
      const stream = typeof deltaOf(item) === "string" ? streamOf(item) : undefined
      return stream === undefined ? [] : [{ item, stream }]
    }),
    ({ stream }) => stream.key
  )
  for (const stream of streams.values()) {
    const shown = pieces(stream.map(({ item }) => deltaOf(item) as string), stream.some(({ stream }) => stream.isCut))
    for (const [index, { item }] of stream.entries()) deltas.set(item, shown[index]!)
  }
  return deltas
}

/** Kind, author and id of a part. */
const ofPart: ReadonlySet<string> = new Set(["type", "id", "name", "role", "toolCallId", "toolName", "mediaType"])

/** Parts without content. */
const silent: ReadonlySet<string> = new Set(["finish", "response-metadata"])

/** The library's own fields next to a tool's, in a result in the model's form. */
const extraFields = {
  failure: new Set(["status", "code", "trace_id"]),
  envelope: new Set(["source", "call_id", "trace_id", "notice"])
} as const

const resultOf = (result: unknown, isFailure: boolean, visitor: Visitor): unknown => {
  if (typeof result !== "object" || result === null) return visitor.value(result)
  const without = (names: ReadonlySet<string>) =>
    withFields(
      result,
      (key, field) =>
        names.has(key) ? field : key === "content" ? resultOf(field, false, visitor) : visitor.value(field)
    )
  if (isFailure) return without(extraFields.failure)
  if ("untrusted" in result && "notice" in result) return without(extraFields.envelope)
  return visitor.value(result)
}

const partOf = <A extends object>(part: A, visitor: Visitor): A => {
  if ("type" in part && silent.has(String(part.type))) return part
  const isFailure = "isFailure" in part && part.isFailure === true
  return withFields(
    part,
    (key, field) =>
      ofPart.has(key) ? field : key === "result" ? resultOf(field, isFailure, visitor) : visitor.value(field)
  )
}

const partsOf = (parts: ReadonlyArray<unknown>, isCut: boolean, visitor: Visitor): ReadonlyArray<unknown> => {
  const deltas = deltasOf(parts as Parts, ({ id, type }) => ({ key: `${type} ${id}`, isCut }), visitor)
  return each(parts as Parts, (part) => {
    const delta = deltas.get(part)
    return delta === undefined
      ? partOf(part, visitor)
      : withFields(part, (key, field) => key === "delta" ? delta : field)
  })
}

const messageOf = <A extends object>(message: A, visitor: Visitor): A =>
  withFields(message, (key, field) =>
    key !== "content"
      ? field
      : Array.isArray(field)
      ? each(field as ReadonlyArray<object>, (part) => partOf(part, visitor))
      : visitor.value(field))

const promptOf = <A>(prompt: A, visitor: Visitor): A =>
  typeof prompt !== "object" || prompt === null
    ? prompt
    : withFields(prompt, (key, field) =>
      key === "content" && Array.isArray(field)
        ? each(field as ReadonlyArray<object>, (message) => messageOf(message, visitor))
        : field)

const requestOf = (request: string, visitor: Visitor): string => {
  if (request === "") return request
  const messages: unknown = JSON.parse(request)
  const shown = Array.isArray(messages)
    ? each(messages as ReadonlyArray<object>, (message) => messageOf(message, visitor))
    : visitor.value(messages)
  return shown === messages ? request : textOf(shown)
}

const modelCallOf = (
  call: Recording["modelCalls"][number],
  visitor: Visitor
): Recording["modelCalls"][number] =>
  withFields(call, (key, field) =>
    key === "request"
      ? requestOf(field as string, visitor)
      : key === "outcome"
      ? withFields(
        field as object,
        (key, field) =>
          key === "parts"
            ? partsOf(field as ReadonlyArray<unknown>, "error" in call.outcome, visitor)
            : visitor.value(field)
      )
      : field)

/** Content fields of events. */
const said: ReadonlySet<string> = new Set([
  "input",
  "output",
  "text",
  "arguments",
  "before",
  "result",
  "reason",
  "reasons",
  "message",
  "userMessage",
  "operatorMessage",
  "issues",
  "title",
  "url",
  "fileName",
  "degraded"
])

const prompts: ReadonlySet<string> = new Set(["messages", "transcript", "replacedInput"])

const saidIn = <A extends object>(object: A, { value }: Visitor): A =>
  withFields(object, (key, field) => said.has(key) ? value(field) : field)

const eventOf = (event: Event, delta: string | undefined, visitor: Visitor): Event =>
  withFields(event, (key, field) => {
    if (key === "delta" && delta !== undefined) return delta
    if (prompts.has(key)) return promptOf(field, visitor)
    if (key === "compacted" && typeof field === "object" && field !== null) {
      return withFields(field, (key, field) => key === "prompt" ? promptOf(field, visitor) : field)
    }
    if (key === "pending" && Array.isArray(field)) {
      return each(field as ReadonlyArray<object>, (call) => saidIn(call, visitor))
    }
    if (key === "result") return resultOf(field, "isFailure" in event && event.isFailure, visitor)
    // The tag of an executor's error.
    if (key === "reason" && event._tag === "ToolAttemptFailed") return field
    return said.has(key) ? visitor.value(field) : field
  })

/** Text of each delta: a restarted answer has texts of its own. */
const streamsOf = (events: ReadonlyArray<Event>): ReadonlyMap<Event, Streamed> => {
  const answers = new Map<string, number>()
  const keys = new Map<Event, readonly [answer: string, key: string]>()
  const cut = new Set<string>()
  for (const event of events) {
    const { _tag, agentRunId } = event
    const answer = JSON.stringify([agentRunId, answers.get(agentRunId)])
    if (_tag === "TextDelta" || _tag === "ReasoningDelta") {
      keys.set(event, [answer, `${answer} ${_tag} ${event.partId}`])
    }
    if (_tag === "ToolCallDelta") keys.set(event, [answer, `${answer} ${_tag} ${event.callId}`])
    if (_tag === "ModelTurnFailed" || _tag === "AnswerRestarted") cut.add(answer)
    if (_tag === "ModelTurnStarted" || _tag === "AnswerRestarted") {
      answers.set(agentRunId, (answers.get(agentRunId) ?? 0) + 1)
    }
  }
  return new Map([...keys].map(([event, [answer, key]]) => [event, { key, isCut: cut.has(answer) }]))
}

const eventsOf = (events: ReadonlyArray<Event>, visitor: Visitor): ReadonlyArray<Event> => {
  const streams = streamsOf(events)
  const deltas = deltasOf(events, (event) => streams.get(event), visitor)
  return each(events, (event) =>
    event._tag === "AnswerRestarted"
      ? withFields(event, (key, field) => key === "text" ? visitor.pieces([event.text], true)[0] : field)
      : eventOf(event, deltas.get(event), visitor))
}

/** A recording with other content. */
export const mapContent = (recording: Recording, visitor: Visitor): Recording => ({
  ...recording,
  input: Prompt.isPrompt(recording.input) ? promptOf(recording.input, visitor) : visitor.value(recording.input),
  modelCalls: recording.modelCalls.map((call) => modelCallOf(call, visitor)),
  executions: recording.executions.map((execution) =>
    withFields(execution, (key, field) =>
      key === "outcome"
        ? withFields(
          field as object,
          (key, field) =>
            key === "error" ? mapError(field, visitor.value) : key === "_tag" ? field : visitor.value(field)
        )
        : field)
  ),
  events: eventsOf(recording.events, visitor),
  ...(recording.pauses === undefined ? undefined : {
    pauses: recording.pauses.map((pause) => ({
      ...pause,
      decisions: pause.decisions.map((decision) => saidIn(decision, visitor))
    }))
  })
})
