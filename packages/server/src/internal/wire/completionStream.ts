/** Chat completions as they come: the events of a run as chunks for clients of OpenAI's protocol. */
import type { AgentEvent } from "@recourse/core/AgentEvent"
import { frame } from "../http/sse.ts"
import type { Mapper } from "./frames.ts"
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

/** Why a run has no answer; nothing where it has one. */
export const failureOf = (end: Finished | undefined): Failure | undefined => {
  if (end === undefined || end.outcome === "interrupted") {
    return failure("interrupted", "The run was stopped.", end?.runId)
  }
  if (end.outcome === "paused") {
    const message = "A call waits for an approval, which this protocol cannot ask for."
    return failure("approval_required", message, end.runId)
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

/** Maps the events of a run. Where no text was streamed, it comes at the end. */
export const completionMapper = (
  run: { readonly agent: string; readonly runId: string },
  created: number,
  withUsage: boolean
): Mapper => {
  const visible = new Visible()
  let wasTold = false
  const chunk = (delta: object, finish_reason: string | null) => ({
    id: run.runId,
    object: "chat.completion.chunk",
    created,
    model: run.agent,
    choices: [{ index: 0, delta, finish_reason }]
  })
  const next = (event: AgentEvent): ReadonlyArray<unknown> => {
    visible.hear(event)
    if (event._tag === "RunStarted") return [chunk({ role: "assistant", content: "" }, null)]
    if (event._tag === "TextDelta" && visible.has(event.agentRunId)) {
      wasTold = true
      return [chunk({ content: event.delta }, null)]
    }
    if (event._tag !== "RunFinished") return []
    const error = failureOf(event)
    if (error !== undefined) return [{ error }]
    const rest = wasTold ? [] : [chunk({ content: outputText(event.output) }, null)]
    const usage = withUsage ? [{ ...chunk({}, null), choices: [], usage: usageOf(event) }] : []
    return [...rest, chunk({}, "stop"), ...usage]
  }
  return {
    next: (event) => next(event).map((value) => frame(value)),
    cut: () => [frame({ error: failureOf(undefined) })]
  }
}
