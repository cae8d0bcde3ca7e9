/** Chat completions as they come: the events of a run as chunks for clients of OpenAI's protocol. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import { frame } from "../http/sse.ts"
import type { Mapper } from "./wire.ts"
import { wentWrong } from "./texts.ts"
import { Visible } from "./visible.ts"

type Finished = Extract<AgentEvent, { readonly _tag: "RunFinished" }>

interface Failure {
  readonly message: string
  readonly type: string
  readonly param: null
  readonly code: string
  /** The run, for finding it in logs and traces. */
  readonly trace_id?: string
}

const failure = (code: string, message: string, trace_id?: string): Failure => ({
  message,
  type: "server_error",
  param: null,
  code,
  ...(trace_id === undefined ? undefined : { trace_id })
})

/** A run of this protocol ends instead of waiting: a client that repeats its request starts another one. */
const needsApproval =
  "A call needs an approval, which this protocol cannot ask for. The call was not made, and the run has ended."

const needsPage =
  "A call is of a tool that a page executes, and this protocol has no page. The call was not made, and the run has ended."

/** Returns the reason of a run without an answer; `undefined` if it has one. */
export const failureOf = (end: Finished | undefined): Failure | undefined => {
  if (end === undefined || end.outcome === "interrupted") {
    return failure("interrupted", "The run was stopped.", end?.runId)
  }
  if (end.outcome === "paused") {
    const isOfPage = end.pending?.every(({ code }) => code === "client_tool") === true
    const error = isOfPage
      ? failure("client_tool", needsPage, end.runId)
      : failure("approval_required", needsApproval, end.runId)
    return { ...error, type: "invalid_request_error" }
  }
  return end.outcome === "failure"
    ? failure(end.code ?? "error", end.userMessage ?? wentWrong, end.runId)
    : undefined
}

/** The usage of a run as the protocol has it. */
export const usageOf = ({ usage }: Finished) => ({
  prompt_tokens: usage.inputTokens,
  completion_tokens: usage.outputTokens,
  total_tokens: usage.totalTokens
})

/** The output of a run as text. */
export const outputText = (output: unknown): string =>
  typeof output === "string" ? output : JSON.stringify(output ?? null)

/** Number of characters of a token, to cut an answer. */
const charactersPerToken = 4

/** Cuts an answer behind so many tokens, by an estimate of four characters a token. */
export class CutText {
  private left: number
  /** True if a part was omitted. */
  isCut = false

  constructor(maxTokens: number | undefined) {
    this.left = (maxTokens ?? Infinity) * charactersPerToken
  }

  /** The part of the next text that is within the limit. */
  next(text: string): string {
    if (text.length <= this.left) {
      this.left -= text.length
      return text
    }
    const cut = text.slice(0, this.left)
    this.isCut = true
    this.left = 0
    // Half of a surrogate pair is no text.
    return cut.isWellFormed() ? cut : cut.slice(0, -1)
  }
}

/** A streamed answer. */
export interface CompletionOptions {
  readonly agent: string
  readonly runId: string
  /** Seconds since the epoch. */
  readonly created: number
  readonly withUsage: boolean
  readonly maxTokens: number | undefined
}

/** Maps the events of a run. Without streamed text, the text comes at the end. */
export const completionMapper = ({ agent, created, maxTokens, runId, withUsage }: CompletionOptions): Mapper => {
  const visible = new Visible()
  const cut = new CutText(maxTokens)
  let wasEmitted = false
  const chunk = (delta: object, finish_reason: string | null) => ({
    id: runId,
    object: "chat.completion.chunk",
    created,
    model: agent,
    choices: [{ index: 0, delta, finish_reason }]
  })
  const content = (text: string) => {
    const shown = cut.next(text)
    return shown === "" ? [] : [chunk({ content: shown }, null)]
  }
  const next = (event: AgentEvent): ReadonlyArray<unknown> => {
    visible.receive(event)
    if (event._tag === "RunStarted") return [chunk({ role: "assistant", content: "" }, null)]
    if (event._tag === "TextDelta" && visible.has(event.agentRunId)) {
      wasEmitted = true
      return content(event.delta)
    }
    if (event._tag !== "RunFinished") return []
    const error = failureOf(event)
    if (error !== undefined) return [{ error }]
    const rest = wasEmitted ? [] : content(outputText(event.output))
    const usage = withUsage ? [{ ...chunk({}, null), choices: [], usage: usageOf(event) }] : []
    return [...rest, chunk({}, cut.isCut ? "length" : "stop"), ...usage]
  }
  return {
    next: (event) => next(event).map((value) => frame(value)),
    cut: () => [frame({ error: failureOf(undefined) })]
  }
}
