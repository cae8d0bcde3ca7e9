/** What a timeline is made of. Times are milliseconds since the epoch. */
import type { AgentEvent } from "@recourse/core/AgentEvent"

/** An event, or what its JSON says: of both, a timeline reads fields that are the same. */
export type Event = AgentEvent

/** A message of a request, or what its JSON says. */
export interface Message {
  readonly role: string
  readonly content: unknown
}

/** What a span is of. `wait`: before something is done again. `question`: until a person has decided. */
export type SpanKind = "agent" | "turn" | "call" | "attempt" | "fix" | "wait" | "question"

/** `stopped`: it was interrupted, or its process ended. */
export type SpanState = "running" | "success" | "failure" | "waiting" | "stopped"

/** Something that took time. Parents stand before their children. */
export interface Span {
  readonly id: string
  readonly kind: SpanKind
  readonly name: string
  readonly parent: string | undefined
  /** How many spans it is within. */
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

/** Something that the runtime, a policy, a person or the program decided, and why. */
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
    | "denied"
    | "model"
    | "history"
    | "budget"
    | "skill"
  readonly text: string
}

/** A failure, and who reads what of it. A text that is left out was told to nobody of that audience. */
export interface Failure {
  readonly number: number
  readonly at: number
  readonly spanId: string | undefined
  /** What failed: a tool, a model call, the run. */
  readonly subject: string
  readonly code: string | undefined
  readonly error: string | undefined
  readonly model: string | undefined
  readonly user: string | undefined
  readonly operator: string | undefined
  /** Whether something went on in its place, so that model and user heard nothing of it. */
  readonly isRecovered: boolean
}

/** A request to the model. */
export interface Request {
  readonly number: number
  readonly at: number
  readonly agentRunId: string
  readonly agent: string
  readonly turn: number
  /** How many messages of the agent's request before it begins with. */
  readonly kept: number
  /** The messages behind those. */
  readonly added: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<string>
  readonly toolChoice: string | undefined
}

/** How much of a budget an agent, and what is nested in it, has used. */
export interface Meter {
  readonly agentRunId: string
  readonly agent: string
  readonly budget: string
  readonly used: number
  readonly limit: number
}
