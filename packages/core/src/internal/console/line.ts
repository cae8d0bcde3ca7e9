/** Event lines: a short text of each event of a run for a person who watches it. */
import * as Formatter from "effect/Formatter"
import * as Predicate from "effect/Predicate"
import * as Prompt from "effect/ai/Prompt"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import { cutText } from "../foundation/json/jsonShape.ts"

/** Kind of an event, for its colour. */
export type Tone = "begin" | "quiet" | "call" | "failure" | "warning" | "decision" | "success"

/** One event as text. `subject` is empty for the agent itself. */
export interface Line {
  readonly tone: Tone
  readonly subject: string
  readonly text: string
}

/** Names a call: models and people read its id in different ways. */
export type CallName = (call: { readonly tool: string; readonly callId: string }) => string

type Lines = {
  readonly [Tag in AgentEvent["_tag"]]:
    | ((event: Extract<AgentEvent, { readonly _tag: Tag }>, nameOf: CallName) => Line | undefined)
    | undefined
}

const textOf = (value: unknown): string =>
  typeof value === "string" ? value : value === undefined ? "nothing" : Formatter.formatJson(value)

/** The user's last message of a conversation. */
const inputText = (input: unknown): string => {
  if (!Prompt.isPrompt(input)) return textOf(input)
  const said = input.content.findLast((message) => message.role === "user")?.content ?? []
  return said.map((part) => part.type === "text" ? part.text : `(${part.type})`).join("\n")
}

/** A result without the notice that it is untrusted. */
const resultText = (result: unknown): string => {
  const { untrusted: isUntrusted, content } = Predicate.isObject(result) ? result as Record<string, unknown> : {}
  return isUntrusted === true ? `(untrusted) ${textOf(content)}` : textOf(result)
}

const wait = (delay: number): string =>
  delay === 0 ? "at once" : delay < 10_000 ? `after ${Math.round(delay)} ms` : `after ${Math.round(delay / 1000)} s`

const progressText = (
  { message, progress, total, untrusted }: Extract<AgentEvent, { readonly _tag: "ToolProgress" }>
): string =>
  `${progress}${total === undefined ? "" : ` of ${total}`}${untrusted === undefined ? "" : " (untrusted)"}${
    because(message)
  }`

const because = (error: string | undefined): string => error === undefined ? "" : `: ${error}`

const began = ({ input, resumed }: { readonly input?: unknown; readonly resumed: boolean }): Line => ({
  tone: "begin",
  subject: "",
  text: resumed ? "continues" : `asked: ${inputText(input)}`
})

const ended = (event: Extract<AgentEvent, { readonly _tag: "RunFinished" | "AgentFinished" }>): Line => {
  if (event.outcome === "success") return { tone: "success", subject: "", text: `answered: ${textOf(event.output)}` }
  if (event.outcome === "paused") {
    const waiting = (event.pending ?? []).map(({ tool }) => tool).join(", ")
    return { tone: "warning", subject: "", text: `waits for a person: ${waiting}` }
  }
  return event.outcome === "interrupted"
    ? { tone: "failure", subject: "", text: "interrupted" }
    : {
      tone: "failure",
      subject: "",
      text: `failed: ${event.error}${event.code === undefined ? "" : ` (${event.code})`}`
    }
}

const ofTurn = (tone: Tone, turn: number, text: string): Line => ({ tone, subject: `turn ${turn}`, text })

/** One for each event. Events without a line repeat their neighbours, or are pieces of a whole event. */
const lines: Lines = {
  RunStarted: began,
  RunFinished: ended,
  AgentStarted: (event) => {
    const line = began(event)
    // A request from one agent to another is long, and starts with its topic.
    const [first = "", ...others] = line.text.split("\n")
    return { ...line, text: cutText(others.length === 0 ? first : `${first} …`, 100) }
  },
  AgentFinished: ended,
  SkillChosen: ({ skill }) => ({ tone: "begin", subject: "", text: `works with the skill ${skill}` }),
  ModelTurnStarted: ({ turn }) => ofTurn("quiet", turn, "model called"),
  TextDelta: undefined,
  TextFinished: undefined,
  ReasoningDelta: undefined,
  ReasoningFinished: undefined,
  ToolCallDelta: undefined,
  ModelSource: ({ title, turn, url }) =>
    ofTurn("quiet", turn, `source: ${title}${url === undefined ? "" : ` (${url})`}`),
  ModelFile: ({ data, mediaType, turn }) => ofTurn("quiet", turn, `file: ${mediaType}, ${data.length} bytes`),
  ProviderToolCall: (event) => ofTurn("call", event.turn, `provider runs ${event.tool} ${event.arguments}`),
  ProviderToolResult: ({ isFailure, tool, turn }) =>
    ofTurn(isFailure ? "warning" : "success", turn, `provider's ${tool} ${isFailure ? "failed" : "answered"}`),
  ModelTurnFinished: ({ finishReason, text, toolCalls, turn }) =>
    text === "" && toolCalls > 0
      ? undefined
      : ofTurn("quiet", turn, text === "" ? `model gave no answer (${finishReason})` : `model said: ${text}`),
  ModelTurnFailed: ({ error, turn }) => ofTurn("failure", turn, `model failed: ${error}`),
  ModelRetry: ({ delay, turn }) => ofTurn("decision", turn, `model called again ${wait(delay)}`),
  TransportRetry: ({ delay, error, turn }) =>
    ofTurn("warning", turn, `HTTP ${error}, request sent again ${wait(delay)}`),
  ModelFallback: ({ model }) => ({ tone: "decision", subject: "", text: `next model: number ${model}` }),
  ModelSubstituted: ({ turn }) => ofTurn("decision", turn, "answered in the model's place"),
  HistoryMended: ({ mended }) => ({
    tone: "warning",
    subject: "",
    text: `conversation mended: ${mended.map(({ problem, tool }) => `${problem} ${tool}`).join(", ")}`
  }),
  MessageJoined: ({ text, turn }) => ofTurn("quiet", turn, `user added: ${text}`),
  ContextCompacted: ({ because: why, tokens, tokensBefore, turn }) =>
    ofTurn("decision", turn, `conversation shortened from ${tokensBefore} to ${tokens} tokens (${why})`),
  AnswerRestarted: ({ turn }) => ofTurn("warning", turn, "answer cut off, begins again"),
  OutputCorrection: ({ issues }) => ({
    tone: "warning",
    subject: "",
    text: `answer does not fit, model corrects it: ${issues.join("; ")}`
  }),
  ToolCallStarted: (event, nameOf) => ({
    tone: "call",
    subject: nameOf(event),
    text: event.resumed ? `continues with ${event.arguments}` : event.arguments
  }),
  ToolAttempt: (event, nameOf) => ({
    tone: "call",
    subject: nameOf(event),
    text: event.attempt === 1 ? "attempt 1" : `attempt ${event.attempt}, ${wait(event.delay)}`
  }),
  ModelRequested: undefined,
  ToolAttemptSucceeded: undefined,
  ToolAttemptFailed: (event, nameOf) => ({
    tone: "failure",
    subject: nameOf(event),
    text: `attempt ${event.attempt} failed: ${
      event.reason === undefined ? event.error : `${event.reason} (${event.error})`
    }`
  }),
  ToolAttemptRefused: (event, nameOf) => ({
    tone: "failure",
    subject: nameOf(event),
    text: event.because === "retry_budget"
      ? "not run again: the retry budget is used up"
      : `not run again, because it has run${because(event.error === "none" ? undefined : event.error)}`
  }),
  ToolReplayed: (event, nameOf) => ({
    tone: "success",
    subject: nameOf(event),
    text: `answered by the ledger${event.waited ? ", after the call that was running" : ""}`
  }),
  ToolCircuitOpen: (event, nameOf) => ({
    tone: "failure",
    subject: nameOf(event),
    text: `not run: the circuit ${event.circuit} is open, ${wait(event.retryAfter)} it may be tried`
  }),
  ToolProgress: (event, nameOf) => ({ tone: "quiet", subject: nameOf(event), text: progressText(event) }),
  ToolPreliminaryResult: (event, nameOf) => ({
    tone: "quiet",
    subject: nameOf(event),
    text: `so far: ${resultText(event.result)}`
  }),
  ToolCompensated: (event, nameOf) => ({
    tone: event.outcome === "not_undone" ? "failure" : "decision",
    subject: nameOf(event),
    text: event.outcome === "undone"
      ? "undone"
      : event.outcome === "not_happened"
      ? "no compensation needed: it has not happened"
      : `NOT compensated, a person has to look: ${event.because}${event.error === undefined ? "" : ` (${event.error})`}`
  }),
  ToolPending: (event, nameOf) => ({ tone: "warning", subject: nameOf(event), text: `task ${event.taskId} continues` }),
  ToolRetry: (event, nameOf) => ({
    tone: "decision",
    subject: nameOf(event),
    text: `decision: retry ${event.retry}, ${wait(event.delay)}`
  }),
  FixStarted: (event, nameOf) => ({
    tone: "decision",
    subject: nameOf(event),
    text: `decision: ask ${event.fixer} (fix ${event.fix})`
  }),
  FixFinished: (event, nameOf) => ({
    tone: "decision",
    subject: nameOf(event),
    text: `${event.fixer}: ${event.answer}${event.arguments === undefined ? "" : ` ${event.arguments}`}`
  }),
  ToolFallback: (event, nameOf) => ({
    tone: "decision",
    subject: nameOf(event),
    text: `decision: fallback for ${event.error}`
  }),
  ToolEscalated: (event, nameOf) => ({
    tone: "decision",
    subject: nameOf(event),
    text: `decision: escalate to the model (${event.severity}): ${event.reason}`
  }),
  ApprovalRequested: (event, nameOf) => ({
    tone: "warning",
    subject: nameOf(event),
    text: `waits for a person (${event.code})${
      because(event.reasons.length === 0 ? undefined : event.reasons.join("; "))
    }`
  }),
  ApprovalDecided: (event, nameOf) => ({
    tone: "decision",
    subject: nameOf(event),
    text: `${event.decision} by ${event.by ?? "a person"}${
      event.decision === "edited" ? `: ${event.arguments}` : because(event.reason)
    }`
  }),
  ToolResult: (event, nameOf) => {
    const source = event.degraded === undefined ? "" : ` (from ${event.degraded.source})`
    const result = event.isFailure ? event.code ?? "failure" : resultText(event.result)
    return {
      tone: event.isFailure ? "warning" : "success",
      subject: nameOf(event),
      // A result that no model reads is that of a call which a tool made.
      text: event.parentCallId === undefined
        ? `result for the model: ${result}${source}`
        : `result: ${event.isFailure ? result : "ok"}${source}`
    }
  },
  BudgetThreshold: ({ agent, budget, limit, used }) => ({
    tone: "warning",
    subject: "budget",
    text: `${budget} of ${agent}: ${used} of ${limit} used`
  }),
  BudgetExtended: ({ agent, budget, limit }) => ({
    tone: "decision",
    subject: "budget",
    text: `${budget} of ${agent} extended to ${limit}`
  })
}

/** The line of an event, if it has one. */
export const lineOf = (event: AgentEvent, nameOf: CallName): Line | undefined =>
  (lines[event._tag] as ((event: AgentEvent, nameOf: CallName) => Line | undefined) | undefined)?.(event, nameOf)

/**
 * Describes an event in one line: `search call_1 attempt 1 failed: Timeout`. `undefined` for redundant events, such as
 * pieces of a text. The text may contain arguments and results; see `layerConsole` for lines that fit a terminal.
 *
 * **Example** (Two events in words)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentEvent } from "@recourse/core"
 *
 * const shout = Agent.fromFunction("shout", (text: string) => Effect.succeed(text.toUpperCase()))
 * const told: Array<string | undefined> = []
 *
 * await Effect.runPromise(
 *   shout.run("hi").pipe(
 *     Effect.provide(AgentEvent.listen((event) => Effect.sync(() => told.push(AgentEvent.describe(event)))))
 *   )
 * )
 * told // => ["shout asked: hi", "shout answered: HI"]
 * ```
 *
 * @category formatting
 * @since 0.2.0
 */
export const describe = (event: AgentEvent): string | undefined => {
  const line = lineOf(event, ({ callId, tool }) => `${tool} ${callId}`)
  if (line === undefined) return undefined
  return `${line.subject === "" ? event.path.at(-1) : line.subject} ${line.text}`.replaceAll(/\s+/g, " ")
}
