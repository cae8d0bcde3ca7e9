/**
 * What happens in a run, as it happens.
 *
 * One run has exactly one `RunStarted`, and one `RunFinished`, which is its last event; agents nested in it report with
 * `AgentStarted` and `AgentFinished`. Times are milliseconds since the epoch by Effect's `Clock`, delays are milliseconds.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { Severity } from "./ToolError.ts"

const common = {
  /** The run that the event belongs to; nested agents share their parent's. */
  runId: Schema.String,
  /** Names of the agents from the outermost to the one that speaks. */
  path: Schema.Array(Schema.String),
  /** When it happened. */
  at: Schema.Finite
}

const call = { ...common, callId: Schema.String, tool: Schema.String }

/** How a run, or the run of a nested agent, ended. `"paused"`: it waits for an approval. */
export const Outcome = Schema.Literals(["success", "failure", "interrupted", "paused"])

/** The run of the outermost agent began. */
export const RunStarted = Schema.TaggedStruct("RunStarted", { ...common, input: Schema.Unknown })

/** The one terminal event: the output if it succeeded, the tag of the error (or `"Defect"`) if it did not. */
export const RunFinished = Schema.TaggedStruct("RunFinished", {
  ...common,
  outcome: Outcome,
  output: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.String)
})

/** A nested agent began. */
export const AgentStarted = Schema.TaggedStruct("AgentStarted", { ...common, input: Schema.Unknown })

/** A nested agent ended. */
export const AgentFinished = Schema.TaggedStruct("AgentFinished", {
  ...common,
  outcome: Outcome,
  output: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.String)
})

/** A skill was chosen for the run. */
export const SkillChosen = Schema.TaggedStruct("SkillChosen", { ...common, skill: Schema.String })

/** The model is called for the given turn of the agent; 1 is the first. */
export const ModelTurnStarted = Schema.TaggedStruct("ModelTurnStarted", { ...common, turn: Schema.Int })

/** A piece of the model's answer, in streamed runs. */
export const TextDelta = Schema.TaggedStruct("TextDelta", { ...common, turn: Schema.Int, delta: Schema.String })

/** A piece of the model's reasoning, in streamed runs. */
export const ReasoningDelta = Schema.TaggedStruct("ReasoningDelta", {
  ...common,
  turn: Schema.Int,
  delta: Schema.String
})

/** The model answered. Token counts are what the provider reported, 0 where it reported none. */
export const ModelTurnFinished = Schema.TaggedStruct("ModelTurnFinished", {
  ...common,
  turn: Schema.Int,
  text: Schema.String,
  toolCalls: Schema.Int,
  finishReason: Schema.String,
  inputTokens: Schema.Int,
  outputTokens: Schema.Int
})

/** The model call failed and is made again after the delay. `error` is the tag of the `AiError`'s reason. */
export const ModelRetry = Schema.TaggedStruct("ModelRetry", {
  ...common,
  turn: Schema.Int,
  retry: Schema.Int,
  delay: Schema.Finite,
  error: Schema.String
})

/**
 * An HTTP request of the model call failed and is sent again after the delay, below the model call. `error` is the status,
 * or the code of the connection's error.
 */
export const TransportRetry = Schema.TaggedStruct("TransportRetry", {
  ...common,
  turn: Schema.Int,
  retry: Schema.Int,
  delay: Schema.Finite,
  error: Schema.String,
  host: Schema.String
})

/** A model failed and the next one is asked: the number of the model in `ModelFallback`'s list. */
export const ModelFallback = Schema.TaggedStruct("ModelFallback", { ...common, model: Schema.Int })

/** The model call failed and a declared answer took its place. */
export const ModelSubstituted = Schema.TaggedStruct("ModelSubstituted", {
  ...common,
  turn: Schema.Int,
  error: Schema.String
})

/** The model's answer did not fit the output schema; it is asked once more. */
export const OutputCorrection = Schema.TaggedStruct("OutputCorrection", {
  ...common,
  issues: Schema.Array(Schema.String)
})

/** The model called a tool. `arguments` are the model's own, before any repair. */
export const ToolCallStarted = Schema.TaggedStruct("ToolCallStarted", { ...call, arguments: Schema.String })

/** An attempt of a call begins; `delay` is the time since the last failed attempt ended. */
export const ToolAttempt = Schema.TaggedStruct("ToolAttempt", {
  ...call,
  attempt: Schema.Int,
  delay: Schema.Finite,
  arguments: Schema.String
})

/** An attempt failed. `reason` is the tag of the executor's own error, where it has one. */
export const ToolAttemptFailed = Schema.TaggedStruct("ToolAttemptFailed", {
  ...call,
  attempt: Schema.Int,
  error: Schema.String,
  reason: Schema.optionalKey(Schema.String)
})

/**
 * An attempt was refused because the tool has run and may not run again, or, with `because`, because the process-wide
 * retry budget is used up.
 */
export const ToolAttemptRefused = Schema.TaggedStruct("ToolAttemptRefused", {
  ...call,
  error: Schema.String,
  because: Schema.optionalKey(Schema.Literal("retry_budget"))
})

/** An earlier call with the same idempotency key answers. `waited` if it was still running. */
export const ToolReplayed = Schema.TaggedStruct("ToolReplayed", {
  ...call,
  entry: Schema.String,
  waited: Schema.Boolean
})

/** A call was not run because its circuit is open. `retryAfter` is milliseconds. */
export const ToolCircuitOpen = Schema.TaggedStruct("ToolCircuitOpen", {
  ...call,
  circuit: Schema.String,
  retryAfter: Schema.Finite
})

/** The tool has begun a task that goes on; the model is given its id. */
export const ToolPending = Schema.TaggedStruct("ToolPending", { ...call, taskId: Schema.String })

/** `Recovery.retry` waits before the next attempt. */
export const ToolRetry = Schema.TaggedStruct("ToolRetry", {
  ...call,
  retry: Schema.Int,
  delay: Schema.Finite,
  error: Schema.String
})

/** A fixer is asked. */
export const FixStarted = Schema.TaggedStruct("FixStarted", {
  ...call,
  fixer: Schema.String,
  fix: Schema.Int,
  error: Schema.String
})

/** A fixer answered. `arguments` are present when it answered new ones. */
export const FixFinished = Schema.TaggedStruct("FixFinished", {
  ...call,
  fixer: Schema.String,
  fix: Schema.Int,
  answer: Schema.Literals(["arguments", "result", "declined", "escalated", "exception", "failed"]),
  arguments: Schema.optionalKey(Schema.String)
})

/** A declared fallback answers in the tool's place. */
export const ToolFallback = Schema.TaggedStruct("ToolFallback", { ...call, error: Schema.String })

const degraded = Schema.Struct({ source: Schema.String, asOf: Schema.optionalKey(Schema.String) })

/** A failure became an escalation: the model is given `reason`. */
export const ToolEscalated = Schema.TaggedStruct("ToolEscalated", {
  ...call,
  code: Schema.String,
  reason: Schema.String,
  severity: Severity
})

/** A call waits for a person; the run pauses when the other calls of the answer are done. */
export const ApprovalRequested = Schema.TaggedStruct("ApprovalRequested", {
  ...call,
  code: Schema.Literals(["approval_required", "approval_expired"]),
  arguments: Schema.String,
  argumentsHash: Schema.String,
  reasons: Schema.Array(Schema.String)
})

/**
 * The one result of a call, as the model is given it. `code` is present for failures, `degraded` where another source than
 * the tool answered and said so.
 */
export const ToolResult = Schema.TaggedStruct("ToolResult", {
  ...call,
  isFailure: Schema.Boolean,
  code: Schema.optionalKey(Schema.String),
  degraded: Schema.optionalKey(degraded),
  result: Schema.Unknown
})

/** A share of a budget is used up. */
export const BudgetThreshold = Schema.TaggedStruct("BudgetThreshold", {
  ...common,
  agent: Schema.String,
  budget: Schema.String,
  threshold: Schema.Finite,
  used: Schema.Finite,
  limit: Schema.Finite
})

/** A budget that was used up has been extended. */
export const BudgetExtended = Schema.TaggedStruct("BudgetExtended", {
  ...common,
  agent: Schema.String,
  budget: Schema.String,
  limit: Schema.Finite
})

/** The events of a run. */
export const AgentEvent = Schema.Union([
  RunStarted,
  RunFinished,
  AgentStarted,
  AgentFinished,
  SkillChosen,
  ModelTurnStarted,
  TextDelta,
  ReasoningDelta,
  ModelTurnFinished,
  ModelRetry,
  TransportRetry,
  ModelFallback,
  ModelSubstituted,
  OutputCorrection,
  ToolCallStarted,
  ToolAttempt,
  ToolAttemptFailed,
  ToolAttemptRefused,
  ToolReplayed,
  ToolCircuitOpen,
  ToolPending,
  ToolRetry,
  FixStarted,
  FixFinished,
  ToolFallback,
  ToolEscalated,
  ApprovalRequested,
  ToolResult,
  BudgetThreshold,
  BudgetExtended
])

/** The events of a run. */
export type AgentEvent = typeof AgentEvent.Type

/** Receives each event of every run below it, in order; the run waits for it. */
export type Listener = (event: AgentEvent) => Effect.Effect<void>

/**
 * Who listens to runs. Nobody by default, and then no event is built.
 *
 * **Example** (Collecting the events of a run)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, AgentEvent } from "@recourse/core"
 *
 * const shout = Agent.fromFunction("shout", (text: string) => Effect.succeed(text.toUpperCase()))
 * const tags: Array<string> = []
 *
 * await Effect.runPromise(
 *   shout.run("hi").pipe(
 *     Effect.provide(AgentEvent.listen((event) => Effect.sync(() => tags.push(event._tag))))
 *   )
 * ) // => "HI"
 * tags // => ["RunStarted", "RunFinished"]
 * ```
 */
export const CurrentListener: Context.Reference<Listener | undefined> = Context.Reference<Listener | undefined>(
  "@recourse/core/AgentEvent/CurrentListener",
  { defaultValue: () => undefined }
)

/** A layer that sends the events of all runs below it to a function. */
export const listen = (listener: (event: AgentEvent) => Effect.Effect<unknown>): Layer.Layer<never> =>
  Layer.succeed(CurrentListener, listener as Listener)
