/** Facts of a run, from its events. */
import * as Schema from "effect/Schema"
import type { AgentEvent } from "@recourse/core/AgentEvent"
import type { RunInfo } from "@recourse/core/Runs"
import * as RunTimeline from "../../RunTimeline.ts"
import { storyOf } from "./story.ts"
import type { CallFacts, RunFacts } from "./types.ts"

/** Number of characters of the user's input in a list, and of the searched texts. */
const longestInput = 240
const longestWords = 4000

const textIn = (content: unknown): string =>
  typeof content === "string"
    ? content
    : Array.isArray(content)
    ? content.flatMap((part: { readonly type?: unknown; readonly text?: unknown }) =>
      part?.type === "text" && typeof part.text === "string" ? [part.text] : []
    ).join("\n")
    : ""

const isCompensation = Schema.is(Schema.Struct({
  runId: Schema.String,
  write: Schema.Struct({ tool: Schema.String, callId: Schema.String, identity: Schema.String })
}))

/** The text of an input: the user's last message, if it is a conversation. */
export const inputText = (input: unknown): string => {
  if (typeof input === "string") return input
  if (typeof input !== "object" || input === null) return input === undefined ? "" : String(input)
  const { content } = input as { readonly content?: unknown }
  if (isCompensation(input)) return `Undo ${input.write.callId} of ${input.write.tool} in ${input.runId}`
  if (!Array.isArray(content)) return JSON.stringify(input)
  const said = content.findLast((message: { readonly role?: unknown }) => message?.role === "user") as
    | { readonly content?: unknown }
    | undefined
  return textIn(said?.content)
}

const outputText = (output: unknown): string =>
  typeof output === "string" ? output : output === undefined ? "" : JSON.stringify(output)

/** A text that every store takes. */
const plain = (text: string): string => text.replaceAll("\0", "").toWellFormed()

type Open = { -readonly [K in keyof CallFacts]: CallFacts[K] }

/** The calls of a run, by their spans. */
class Calls {
  readonly list = new Map<string, Open>()

  receive(event: AgentEvent): void {
    if (!("callId" in event) || !("tool" in event)) return
    const spanId = RunTimeline.callSpanId(event)
    if (event._tag === "ToolCallStarted") {
      if (this.list.has(spanId)) return
      const { at, callId, tool } = event
      this.list.set(spanId, {
        spanId,
        callId,
        tool,
        at,
        attempts: 0,
        isFailure: false,
        isRetried: false,
        isFixed: false,
        isFallback: false,
        isEscalated: false
      })
      return
    }
    const call = this.list.get(spanId)
    if (call === undefined) return
    switch (event._tag) {
      case "ToolAttempt":
        call.attempts++
        return
      case "ToolRetry":
        call.isRetried = true
        return
      case "FixFinished":
        call.isFixed ||= event.answer === "arguments" || event.answer === "result"
        return
      case "ToolFallback":
        call.isFallback = true
        return
      case "ToolEscalated":
        call.isEscalated = true
        return
      case "ToolResult":
        call.isFailure = event.isFailure
        if (event.code !== undefined) call.code = event.code
        if (event.entry !== undefined) call.entry = event.entry
        if (event.write?.hasCompensation === true) call.hasCompensation = true
    }
  }
}

/** So many calls of a run are kept. */
const mostCalls = 200

/** Calls that are counted by themselves, and one for each tool, by which the run is found. */
const counted = (calls: ReadonlyArray<CallFacts>): ReadonlyArray<CallFacts> => {
  const tools = new Set<string>()
  return calls.filter((call) => {
    const isFirst = !tools.has(call.tool)
    tools.add(call.tool)
    const { isEscalated, isFailure, isFallback, isFixed, isRetried, state } = call
    return isFirst || isFailure || isRetried || isFixed || isFallback || isEscalated || state !== undefined
  }).toSorted((a, b) => Number(b.state !== undefined) - Number(a.state !== undefined)).slice(0, mostCalls)
}

/** Collects the facts of a run from its events. */
export const factsOf = (run: RunInfo, events: ReadonlyArray<AgentEvent>): RunFacts => {
  const timeline = RunTimeline.fromEvents(events)
  const calls = new Calls()
  let input = ""
  let output = ""
  for (const event of events) {
    calls.receive(event)
    if (event._tag === "RunStarted" && event.input !== undefined) input = plain(inputText(event.input))
    if (event._tag === "RunFinished" && event.outcome === "success") output = plain(outputText(event.output))
  }
  for (const outcome of timeline.outcomes) {
    const call = calls.list.get(outcome.spanId ?? "")
    if (call === undefined) continue
    call.state = outcome.state
    if (outcome.arguments !== undefined) call.arguments = plain(outcome.arguments)
    if (outcome.because !== undefined) call.because = outcome.because
  }
  const [root] = timeline.spans
  const { usage, waited, waitingSince } = timeline
  const list = [...calls.list.values()]
  const count = (is: (call: CallFacts) => boolean): number => list.filter(is).length
  const ended = waitingSince ?? root?.endedAt ?? events.at(-1)?.at ?? run.startedAt
  return {
    runId: run.runId,
    agent: run.agent,
    ...(run.owner === undefined ? undefined : { owner: run.owner }),
    status: run.status,
    startedAt: run.startedAt,
    updatedAt: run.updatedAt,
    words: `${input}\n${output}`.toLowerCase().slice(0, longestWords).toWellFormed(),
    pending: run.pending.filter(({ code }) => code !== "client_tool").length,
    waitingSince: Math.min(...run.pending.map(({ requestedAt }) => requestedAt), Infinity) === Infinity
      ? 0
      : Math.min(...run.pending.map(({ requestedAt }) => requestedAt)),
    summary: {
      input: input.slice(0, longestInput).toWellFormed(),
      worked: Math.max(0, Math.round(ended - (root?.startedAt ?? run.startedAt) - waited)),
      waited: Math.round(waited),
      turns: usage.turns,
      calls: timeline.calls,
      attempts: usage.toolCalls,
      tokens: usage.totalTokens,
      cost: usage.cost,
      retries: usage.retries,
      fixes: usage.fixes,
      fallbacks: count(({ isFallback }) => isFallback),
      escalations: count(({ isEscalated }) => isEscalated),
      undone: count(({ state }) => state === "undone"),
      ...(run.failure === undefined ? undefined : { code: run.failure.code }),
      ...(run.status === "waiting" ? { story: storyOf(timeline).map(plain) } : undefined)
    },
    calls: counted(list)
  }
}

/** Common text of runs that ended alike: their agent, and their called tools with the outcomes. */
export const likenessOf = ({ agent, calls, status, summary }: RunFacts): string => {
  const ends = calls.map(({ code, isFailure, tool }) => `${tool}:${isFailure ? code ?? "failure" : "ok"}`)
  return JSON.stringify([agent, status, summary.code ?? "", ...[...new Set(ends)].toSorted()])
}

/** True if a person has to check a call. */
export const isOpenState = (state: CallFacts["state"]): boolean => state === "unknown" || state === "not_undone"
