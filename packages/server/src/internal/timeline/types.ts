/** Parts of a timeline. Times are milliseconds since the epoch. */
import type { AgentEvent } from "@recourse/core/AgentEvent"

/**
 * An event, or its JSON: a timeline reads only fields that are the same in both.
 *
 * @category models
 * @since 0.2.0
 */
export type Event = AgentEvent

/**
 * A message of a request, or its JSON.
 *
 * @category models
 * @since 0.2.0
 */
export interface Message {
  readonly role: string
  readonly content: unknown
}

/**
 * Subject of a span. `wait`: before a repetition. `question`: until a person has decided.
 *
 * @category models
 * @since 0.2.0
 */
export type SpanKind = "agent" | "turn" | "call" | "attempt" | "fix" | "wait" | "question"

/**
 * `stopped`: it was interrupted, or its process ended. `unknown`: a write that may have happened. `undone`: it was compensated, or has
 * not happened; `not_undone`: it was to be compensated and is not.
 *
 * @category models
 * @since 0.2.0
 */
export type SpanState = "running" | "success" | "failure" | "waiting" | "stopped" | "unknown" | "undone" | "not_undone"

/**
 * A span of time. Parents precede their children.
 *
 * @category models
 * @since 0.2.0
 */
export interface Span {
  readonly id: string
  readonly kind: SpanKind
  readonly name: string
  readonly parent: string | undefined
  /** Number of its ancestors. */
  readonly depth: number
  readonly startedAt: number
  readonly endedAt: number | undefined
  readonly state: SpanState
  /** Its outcome, or its subject, in a few words. */
  readonly note: string | undefined
  /** Of calls, attempts and questions: the arguments as JSON text. */
  readonly arguments: string | undefined
  /** Of an agent: its input and output. Of a turn: its text. Of a call: its result. */
  readonly input: unknown
  readonly output: unknown
  /** Numbers of its first and its last event. */
  readonly first: number
  readonly last: number
}

/**
 * Something that the runtime, a policy, a person or the program decided, and why.
 *
 * @category models
 * @since 0.2.0
 */
export interface Decision {
  readonly number: number
  readonly at: number
  /** The span that it is about. */
  readonly spanId: string | undefined
  readonly kind:
    | "retry"
    | "refused"
    | "fix"
    | "fallback"
    | "escalation"
    | "replay"
    | "circuit"
    | "question"
    | "approval"
    | "denied"
    | "model"
    | "history"
    | "budget"
    | "skill"
  readonly text: string
}

/**
 * A failure, with its texts by audience. An absent text did not reach that audience.
 *
 * @category models
 * @since 0.2.0
 */
export interface Failure {
  readonly number: number
  readonly at: number
  readonly spanId: string | undefined
  /** The failed part: a tool, a model call, the run. */
  readonly subject: string
  readonly code: string | undefined
  readonly error: string | undefined
  readonly model: string | undefined
  readonly user: string | undefined
  readonly operator: string | undefined
  /** True if a replacement continued, so that model and user received no report of it. */
  readonly isRecovered: boolean
  /** True if the run ended with it: no model reads it. */
  readonly endedRun: boolean
}

/**
 * The outcome of a call that is neither success nor failure.
 *
 * @category models
 * @since 0.2.0
 */
export interface CallOutcome {
  /** Of the event that said so last. */
  readonly number: number
  readonly at: number
  readonly spanId: string | undefined
  readonly agentRunId: string
  readonly callId: string
  readonly tool: string
  /** Its real arguments, in JSON text. */
  readonly arguments?: string
  /**
   * `unknown`: it may have happened. `undone`: it happened and was compensated. `not_happened`: no compensation was
   * needed. `not_undone`: its compensation was due and is missing, for the reason in `because`.
   */
  readonly state: "unknown" | "undone" | "not_happened" | "not_undone"
  readonly because?: string
  /** Tag of the error of its `compensate` or `reconcile`. */
  readonly error?: string
}

/**
 * A request to the model.
 *
 * @category models
 * @since 0.2.0
 */
export interface Request {
  readonly number: number
  readonly at: number
  readonly agentRunId: string
  readonly agent: string
  readonly turn: number
  /** Number of messages that it shares with the agent's previous request. */
  readonly unchanged: number
  /** The messages behind those. */
  readonly added: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<string>
  readonly toolChoice: string | undefined
}

/**
 * Used amount of an agent's budget, nested agents included.
 *
 * @category models
 * @since 0.2.0
 */
export interface Meter {
  readonly agentRunId: string
  readonly agent: string
  readonly budget: string
  readonly used: number
  readonly limit: number
}
