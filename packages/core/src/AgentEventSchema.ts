/**
 * Schemas of the events of a run. `AgentEvent` exports them too. One list, and so a long file.
 */
/* oxlint-disable max-lines -- one schema for each event, in the order in which a run emits them */
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import { Pending, version } from "./EventParts.ts"
import { NotCompensated, Severity } from "./ToolError.ts"

/**
 * Schema of the place of a nested agent.
 *
 * @category models
 * @since 0.2.0
 */
export interface ParentSchema
  extends Schema.Struct<{ readonly agentRunId: Schema.String; readonly callId: Schema.optionalKey<Schema.String> }>
{}

const Parent: ParentSchema = Schema.Struct({ agentRunId: Schema.String, callId: Schema.optionalKey(Schema.String) })

// The fields of a schema need an index signature: mapped types have one, interfaces do not.

/**
 * Schemas of the fields of every event, by name: {@link CommonFields} as an interface.
 *
 * @category models
 * @since 0.2.0
 */
export interface CommonParts {
  /** The run that the event belongs to; nested agents share their parent's. */
  readonly runId: Schema.String
  /** The agent's run that the event is of: `runId` for the outermost agent, an id of its own for each nested one. */
  readonly agentRunId: Schema.String
  /** Of a nested agent: the agent's run around it, and the call of that agent within which it runs. */
  readonly parent: Schema.optionalKey<ParentSchema>
  /** Names of the agents from the outermost to the one that speaks. */
  readonly path: Schema.$Array<Schema.String>
  /** Number of the event in the run, nested agents included; 0 is the first. A resumed run begins at 0 again. */
  readonly sequence: Schema.Int
  /** When it happened. */
  readonly at: Schema.Finite
}

/**
 * Fields of every event.
 *
 * @category models
 * @since 0.2.0
 */
export type CommonFields = Pick<CommonParts, keyof CommonParts>

const common: CommonFields = {
  runId: Schema.String,
  agentRunId: Schema.String,
  parent: Schema.optionalKey(Parent),
  path: Schema.Array(Schema.String),
  sequence: Schema.Int,
  at: Schema.Finite
}

/** Makes schemas of events with common fields, whose types name these fields together. */
const eventWith =
  <Base extends Schema.Struct.Fields>(base: Base) =>
  <const Tag extends string, Fields extends Schema.Struct.Fields>(
    tag: Tag,
    fields: Fields
  ): Schema.TaggedStruct<Tag, Base & Fields> => Schema.TaggedStruct(tag, { ...base, ...fields })

const runEvent = eventWith(common)

/**
 * Schemas of the fields of events of a call, by name: {@link CallFields} as an interface.
 *
 * @category models
 * @since 0.2.0
 */
export interface CallParts extends CommonParts {
  readonly callId: Schema.String
  readonly tool: Schema.String
  /** Of a call that a tool made: the call of the same agent that the tool was run for. */
  readonly parentCallId: Schema.optionalKey<Schema.String>
}

/**
 * Fields of events of a call.
 *
 * @category models
 * @since 0.2.0
 */
export type CallFields = Pick<CallParts, keyof CallParts>

const call: CallFields = {
  ...common,
  callId: Schema.String,
  tool: Schema.String,
  parentCallId: Schema.optionalKey(Schema.String)
}

const callEvent = eventWith(call)

/**
 * Outcome of a run or of a nested agent's run. `"paused"`: it waits for an approval.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Outcome = Schema.Literals(["success", "failure", "interrupted", "paused"])

/**
 * Usage of a run and of everything nested in it. Token counts are those that the provider reported.
 *
 * @category models
 * @since 0.2.0
 */
export interface UsageSchema extends
  Schema.Struct<{
    readonly turns: Schema.Int
    readonly toolCalls: Schema.Int
    readonly retries: Schema.Int
    readonly fixes: Schema.Int
    readonly transportRetries: Schema.Int
    readonly inputTokens: Schema.Int
    /** Input tokens that the provider read from its cache; they are among the others. */
    readonly cachedInputTokens: Schema.Int
    readonly outputTokens: Schema.Int
    readonly totalTokens: Schema.Int
    /** Tokens among the others that no provider reported, and that were estimated; left out if there are none. */
    readonly estimatedTokens: Schema.optionalKey<Schema.Int>
    /** Cost of the tokens by the program's `Budget.Prices`; 0 without prices. */
    readonly cost: Schema.Finite
  }>
{}

/**
 * Usage of a run and of everything nested in it. Token counts are those that the provider reported.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Usage: UsageSchema = Schema.Struct({
  turns: Schema.Int,
  toolCalls: Schema.Int,
  retries: Schema.Int,
  fixes: Schema.Int,
  transportRetries: Schema.Int,
  inputTokens: Schema.Int,
  cachedInputTokens: Schema.Int,
  outputTokens: Schema.Int,
  totalTokens: Schema.Int,
  estimatedTokens: Schema.optionalKey(Schema.Int),
  cost: Schema.Finite
})

/**
 * Schemas of the fields of events that begin a run, or the run of a nested agent, by name: {@link StartFields} as an interface.
 *
 * @category models
 * @since 0.2.0
 */
export interface StartParts extends CommonParts {
  /** True if the run continues after a pause or a failure. It has no input then. */
  readonly resumed: Schema.Boolean
  /** With `AgentEvent.Details`: the agent's caps by kind, named as in `Budget`. */
  readonly limits: Schema.optionalKey<Schema.$Record<Schema.String, Schema.Finite>>
  readonly input: Schema.optionalKey<Schema.Unknown>
}

/**
 * Fields of events that begin a run, or the run of a nested agent.
 *
 * @category models
 * @since 0.2.0
 */
export type StartFields = Pick<StartParts, keyof StartParts>

const start: StartFields = {
  ...common,
  resumed: Schema.Boolean,
  limits: Schema.optionalKey(Schema.Record(Schema.String, Schema.Finite)),
  input: Schema.optionalKey(Schema.Unknown)
}

/**
 * Schemas of the fields of events that end a run, or the run of a nested agent, by name: {@link EndFields} as an interface.
 *
 * @category models
 * @since 0.2.0
 */
export interface EndParts extends CommonParts {
  readonly outcome: typeof Outcome
  /** The answer, if the run succeeded. */
  readonly output: Schema.optionalKey<Schema.Unknown>
  /** Tag of the error, or `"Defect"`, if it failed. */
  readonly error: Schema.optionalKey<Schema.String>
  /** Code of the failure: `rate_limited`, `authentication`, `budget_exceeded` and the like. */
  readonly code: Schema.optionalKey<Schema.String>
  /** The failure's text for the user, in the user's language. */
  readonly userMessage: Schema.optionalKey<Schema.String>
  /** With `AgentEvent.Details`: the failure's text for operators. */
  readonly operatorMessage: Schema.optionalKey<Schema.String>
  /** After how many milliseconds it may be tried again, if the failure says so. */
  readonly retryAfter: Schema.optionalKey<Schema.Finite>
  /** The pending approvals, if the run paused. */
  readonly pending: Schema.optionalKey<Schema.$Array<typeof Pending>>
  readonly usage: UsageSchema
}

/**
 * Fields of events that end a run, or the run of a nested agent.
 *
 * @category models
 * @since 0.2.0
 */
export type EndFields = Pick<EndParts, keyof EndParts>

const end: EndFields = {
  ...common,
  outcome: Outcome,
  output: Schema.optionalKey(Schema.Unknown),
  error: Schema.optionalKey(Schema.String),
  code: Schema.optionalKey(Schema.String),
  userMessage: Schema.optionalKey(Schema.String),
  operatorMessage: Schema.optionalKey(Schema.String),
  retryAfter: Schema.optionalKey(Schema.Finite),
  pending: Schema.optionalKey(Schema.Array(Pending)),
  usage: Usage
}

/**
 * The run of the outermost agent began.
 *
 * @category events
 * @since 0.2.0
 */
export const RunStarted = eventWith(start)("RunStarted", { version: Schema.Literal(version) })

/**
 * The one terminal event of a run. Its conversation is the prompt with which the next run of a chat continues.
 *
 * @category events
 * @since 0.2.0
 */
export const RunFinished = eventWith(end)("RunFinished", {
  transcript: Prompt.Prompt,
  /** Replacement of the first `count` messages of the transcript in the model's prompt, if the run was compacted. */
  compacted: Schema.optionalKey(Schema.Struct({ count: Schema.Int, prompt: Prompt.Prompt })),
  /** The conversation by which the input guard replaced the run's own, if it did. */
  replacedInput: Schema.optionalKey(Prompt.Prompt)
})

/**
 * The last event of a run.
 *
 * @category models
 * @since 0.2.0
 */
export type RunFinished = typeof RunFinished.Type

/**
 * A nested agent began.
 *
 * @category events
 * @since 0.2.0
 */
export const AgentStarted = eventWith(start)("AgentStarted", {})

/**
 * A nested agent ended.
 *
 * @category events
 * @since 0.2.0
 */
export const AgentFinished = eventWith(end)("AgentFinished", {})

/**
 * A skill was chosen for the run.
 *
 * @category events
 * @since 0.2.0
 */
export const SkillChosen = runEvent("SkillChosen", { skill: Schema.String })

/**
 * The model is called for the given turn of the agent; 1 is the first.
 *
 * @category events
 * @since 0.2.0
 */
export const ModelTurnStarted = runEvent("ModelTurnStarted", { turn: Schema.Int })

/**
 * Schemas of the fields of events of a turn, by name: {@link TurnFields} as an interface.
 *
 * @category models
 * @since 0.2.0
 */
export interface TurnParts extends CommonParts {
  /** Number of the turn in its agent's run, from 1. */
  readonly turn: Schema.Int
}

/**
 * Fields of events of a turn.
 *
 * @category models
 * @since 0.2.0
 */
export type TurnFields = Pick<TurnParts, keyof TurnParts>

const turn: TurnFields = { ...common, turn: Schema.Int }

const turnEvent = eventWith(turn)

/**
 * With `AgentEvent.Details`: the request to the model. `messages` follow the first `kept` messages of the agent's
 * previous request, with which this one begins. `toolChoice` is absent if it is `"auto"`.
 *
 * @category events
 * @since 0.2.0
 */
export const ModelRequested = turnEvent("ModelRequested", {
  kept: Schema.Int,
  messages: Prompt.Prompt,
  /** Names of the tools that are offered. */
  tools: Schema.Array(Schema.String),
  toolChoice: Schema.optionalKey(Schema.String)
})

/**
 * Schemas of the fields of events of a text or a reasoning of an answer, by name: {@link PartFields} as an interface.
 *
 * @category models
 * @since 0.2.0
 */
export interface PartParts extends TurnParts {
  /** Identifies it in the agent's run. */
  readonly partId: Schema.String
}

/**
 * Fields of events of a text or a reasoning of an answer. `turn` names the message that it is of.
 *
 * @category models
 * @since 0.2.0
 */
export type PartFields = Pick<PartParts, keyof PartParts>

const part: PartFields = { ...turn, partId: Schema.String }

/**
 * A piece of the model's text, in streamed runs.
 *
 * @category events
 * @since 0.2.0
 */
export const TextDelta = eventWith(part)("TextDelta", { delta: Schema.String })

/**
 * No more of a text comes: it is whole, or the answer is cut. One for each text that a `TextDelta` is of.
 *
 * @category events
 * @since 0.2.0
 */
export const TextFinished = eventWith(part)("TextFinished", {})

/**
 * A piece of the model's reasoning, in streamed runs.
 *
 * @category events
 * @since 0.2.0
 */
export const ReasoningDelta = eventWith(part)("ReasoningDelta", { delta: Schema.String })

/**
 * No more of a reasoning comes. One for each that a `ReasoningDelta` is of.
 *
 * @category events
 * @since 0.2.0
 */
export const ReasoningFinished = eventWith(part)("ReasoningFinished", {})

/**
 * A piece of the model's arguments of a call, in streamed runs. The call starts with
 * `ToolCallStarted`, which contains all arguments. It does not start if the answer is cut. A call whose id the run has
 * to change emits no pieces.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolCallDelta = turnEvent("ToolCallDelta", {
  callId: Schema.String,
  tool: Schema.String,
  delta: Schema.String
})

/**
 * The model names a source: a page by its `url`, a document by its `mediaType`.
 *
 * @category events
 * @since 0.2.0
 */
export const ModelSource = turnEvent("ModelSource", {
  sourceId: Schema.String,
  title: Schema.String,
  url: Schema.optionalKey(Schema.String),
  mediaType: Schema.optionalKey(Schema.String),
  fileName: Schema.optionalKey(Schema.String)
})

/**
 * The model made a file.
 *
 * @category events
 * @since 0.2.0
 */
export const ModelFile = turnEvent("ModelFile", {
  mediaType: Schema.String,
  data: Schema.Uint8Array
})

/**
 * The provider runs a tool of its own for the model: neither policies nor recovery see it.
 *
 * @category events
 * @since 0.2.0
 */
export const ProviderToolCall = turnEvent("ProviderToolCall", {
  callId: Schema.String,
  tool: Schema.String,
  arguments: Schema.String
})

/**
 * Result of a tool that the provider executed, in the provider's form: untrusted text.
 *
 * @category events
 * @since 0.2.0
 */
export const ProviderToolResult = turnEvent("ProviderToolResult", {
  callId: Schema.String,
  tool: Schema.String,
  isFailure: Schema.Boolean,
  result: Schema.Unknown
})

/**
 * The model answered. Token counts are those that the provider reported, or 0.
 *
 * @category events
 * @since 0.2.0
 */
export const ModelTurnFinished = runEvent("ModelTurnFinished", {
  turn: Schema.Int,
  text: Schema.String,
  toolCalls: Schema.Int,
  finishReason: Schema.String,
  inputTokens: Schema.Int,
  outputTokens: Schema.Int
})

/**
 * The model call ended without an answer: it failed or was interrupted. `error` is the tag of the `AiError`'s reason,
 * `"Interrupted"` or `"Defect"`. Each `ModelTurnStarted` has one of this and `ModelTurnFinished`.
 *
 * @category events
 * @since 0.2.0
 */
export const ModelTurnFailed = turnEvent("ModelTurnFailed", {
  error: Schema.String,
  /** With `AgentEvent.Details`: the failure's text for operators. */
  operatorMessage: Schema.optionalKey(Schema.String)
})

/**
 * The model call failed and is made again after the delay. `error` is the tag of the `AiError`'s reason.
 *
 * @category events
 * @since 0.2.0
 */
export const ModelRetry = runEvent("ModelRetry", {
  turn: Schema.Int,
  retry: Schema.Int,
  delay: Schema.Finite,
  error: Schema.String
})

/**
 * An HTTP request of the model call failed and is sent again after the delay, below the model call. `error` is the status,
 * or the code of the connection's error.
 *
 * @category events
 * @since 0.2.0
 */
export const TransportRetry = runEvent("TransportRetry", {
  turn: Schema.Int,
  retry: Schema.Int,
  delay: Schema.Finite,
  error: Schema.String,
  host: Schema.String
})

/**
 * A model failed and the next one is called: the number of the model in `ModelFallback`'s list.
 *
 * @category events
 * @since 0.2.0
 */
export const ModelFallback = runEvent("ModelFallback", { model: Schema.Int })

/**
 * The model call failed and a declared answer took its place.
 *
 * @category events
 * @since 0.2.0
 */
export const ModelSubstituted = runEvent("ModelSubstituted", {
  turn: Schema.Int,
  error: Schema.String
})

/**
 * The run's first conversation was not well formed, for example because another program truncated it. Calls without
 * results received results of unknown outcome, and results without calls were removed. See `History.mend`.
 *
 * @category events
 * @since 0.2.0
 */
export const HistoryMended = runEvent("HistoryMended", {
  mended: Schema.Array(Schema.Struct({
    problem: Schema.Literals(["call_without_result", "result_without_call", "result_out_of_place", "repeated_id"]),
    callId: Schema.String,
    tool: Schema.String
  }))
})

/**
 * A message of the run's inbox joined the conversation before the given turn: a user sent it while the run was running.
 * See `Runs.addMessage`.
 *
 * @category events
 * @since 0.2.0
 */
export const MessageJoined = turnEvent("MessageJoined", {
  /** Identifies the message among those of the run. */
  messageId: Schema.String,
  /** Its text, without its files. */
  text: Schema.String
})

/**
 * The model's prompt was shortened before the given turn, because it exceeded the tokens of the agent's `compact`, or
 * because the provider refused it as too long. Tokens are counted by `History.countTokens`. The transcript keeps all of
 * it.
 *
 * @category events
 * @since 0.2.0
 */
export const ContextCompacted = turnEvent("ContextCompacted", {
  because: Schema.Literals(["max_tokens", "context_length"]),
  tokensBefore: Schema.Int,
  tokens: Schema.Int
})

/**
 * The answer of the turn broke off and starts again (`ModelError.retry({ restart: true })`): discard all its parts with
 * this `turn`. `text` is the text that was emitted.
 *
 * @category events
 * @since 0.2.0
 */
export const AnswerRestarted = turnEvent("AnswerRestarted", {
  retry: Schema.Int,
  text: Schema.String
})

/**
 * The model's answer did not fit the output schema; the model gets one correction.
 *
 * @category events
 * @since 0.2.0
 */
export const OutputCorrection = runEvent("OutputCorrection", {
  issues: Schema.Array(Schema.String)
})

/**
 * The model, or a tool (`parentCallId`), called a tool. `arguments` are those before any repair. `resumed`: the call
 * was already emitted before the pause. `arguments` are then the resumed ones, which a person may have edited.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolCallStarted = callEvent("ToolCallStarted", {
  arguments: Schema.String,
  resumed: Schema.Boolean
})

/**
 * An attempt of a call starts; `delay` is the time since the last failed attempt ended. Each has one
 * `ToolAttemptSucceeded` or `ToolAttemptFailed`. It follows the pause if the tool is an agent that waits.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolAttempt = callEvent("ToolAttempt", {
  attempt: Schema.Int,
  delay: Schema.Finite,
  arguments: Schema.String
})

/**
 * An attempt answered. The call may still fail: by an invalid result, or by the operators around the attempt.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolAttemptSucceeded = callEvent("ToolAttemptSucceeded", { attempt: Schema.Int })

/**
 * An attempt failed. `error` is the tag of its error, `"Interrupted"` or `"Defect"`. `reason` is the tag of the
 * executor's own error, if it has one.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolAttemptFailed = callEvent("ToolAttemptFailed", {
  attempt: Schema.Int,
  error: Schema.String,
  reason: Schema.optionalKey(Schema.String),
  /** With `AgentEvent.Details`: the failure's text for operators. */
  operatorMessage: Schema.optionalKey(Schema.String)
})

/**
 * An attempt was refused because the tool has run and may not run again, or, with `because`, because the process-wide
 * retry budget is used up. The call ends as the last attempt did: with `error`, or, if that is `"none"`, with its
 * answer.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolAttemptRefused = callEvent("ToolAttemptRefused", {
  error: Schema.String,
  because: Schema.optionalKey(Schema.Literal("retry_budget"))
})

/**
 * An earlier call with the same idempotency key answers. `waited` if it was still running.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolReplayed = callEvent("ToolReplayed", {
  entry: Schema.String,
  waited: Schema.Boolean
})

/**
 * A call was not run because its circuit is open. `retryAfter` is milliseconds.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolCircuitOpen = callEvent("ToolCircuitOpen", {
  circuit: Schema.String,
  retryAfter: Schema.Finite
})

/**
 * Progress of a call, reported by its executor with `ToolCall.progress`. Without `total` the end is unknown. `message`
 * is the tool's text; `untrusted` names the untrusted tools that wrote it.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolProgress = callEvent("ToolProgress", {
  attempt: Schema.Int,
  progress: Schema.Finite,
  total: Schema.optionalKey(Schema.Finite),
  message: Schema.optionalKey(Schema.String),
  untrusted: Schema.optionalKey(Schema.String)
})

/**
 * Preliminary result of a call: an element of the Stream that its executor returns. The next element replaces it, and
 * `ToolResult` replaces the last. It is guarded, redacted and marked like a result. The model does not read it.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolPreliminaryResult = callEvent("ToolPreliminaryResult", {
  attempt: Schema.Int,
  result: Schema.Unknown
})

/**
 * Outcome of the compensation of a completed call, because the run fails. `because` is that of `NotCompensated`,
 * `error` the tag of the error of the tool's `compensate`. For a nested agent's call, `callId` contains the calls
 * around it: `call_1/pay_1`.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolCompensated = callEvent("ToolCompensated", {
  outcome: Schema.Literals(["undone", "not_happened", "not_undone"]),
  because: Schema.optionalKey(NotCompensated.fields.because),
  error: Schema.optionalKey(Schema.String)
})

/**
 * The tool has started a task that continues after the call. The model receives the task's id.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolPending = callEvent("ToolPending", { taskId: Schema.String })

/**
 * `Recovery.retry` waits before the next attempt.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolRetry = callEvent("ToolRetry", {
  retry: Schema.Int,
  delay: Schema.Finite,
  error: Schema.String
})

/**
 * A fixer starts.
 *
 * @category events
 * @since 0.2.0
 */
export const FixStarted = callEvent("FixStarted", {
  fixer: Schema.String,
  fix: Schema.Int,
  error: Schema.String
})

/**
 * A fixer answered. `arguments` are present when it answered new ones.
 *
 * @category events
 * @since 0.2.0
 */
export const FixFinished = callEvent("FixFinished", {
  fixer: Schema.String,
  fix: Schema.Int,
  answer: Schema.Literals(["arguments", "result", "declined", "escalated", "exception", "failed", "interrupted"]),
  arguments: Schema.optionalKey(Schema.String)
})

/**
 * A declared fallback answers in the tool's place.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolFallback = callEvent("ToolFallback", { error: Schema.String })

const degraded = Schema.Struct({ source: Schema.String, asOf: Schema.optionalKey(Schema.String) })

/**
 * A failure became an escalation: the model is given `reason`.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolEscalated = callEvent("ToolEscalated", {
  code: Schema.String,
  reason: Schema.String,
  severity: Severity
})

/**
 * A call waits for a person; the run pauses when the other calls of the answer are done. `pendingCallId` is the id that
 * decisions are made by: the ids of the calls around it and its own, with slashes between them.
 *
 * @category events
 * @since 0.2.0
 */
export const ApprovalRequested = callEvent("ApprovalRequested", {
  pendingCallId: Schema.String,
  code: Schema.Literals(["approval_required", "approval_expired", "client_tool"]),
  arguments: Schema.String,
  argumentsHash: Schema.String,
  reasons: Schema.Array(Schema.String),
  compensation: Pending.fields.compensation,
  /** The fixer whose arguments they are, if they are not the model's own. */
  fixedBy: Schema.optionalKey(Schema.String),
  requestedAt: Schema.Number,
  /** An approval that comes later asks again. */
  expiresAt: Schema.Number
})

/**
 * A person has decided about a call that waited; its time is that of the resumption. `by`, `reason` and the edited arguments are as the
 * decision has them. `before` are the arguments that the person was shown, `arguments` those that the call is executed with.
 *
 * @category events
 * @since 0.2.0
 */
export const ApprovalDecided = callEvent("ApprovalDecided", {
  pendingCallId: Schema.String,
  decision: Schema.Literals(["approved", "edited", "rejected", "responded"]),
  by: Schema.optionalKey(Schema.String),
  /** Of a rejected call. */
  reason: Schema.optionalKey(Schema.String),
  before: Schema.String,
  /** Of an approved or edited call. */
  arguments: Schema.optionalKey(Schema.String)
})

/**
 * The one result of a call in the model's form; `null` for a call made by a tool, whose result no model receives.
 * `code` and `userMessage` are present for failures. A success has the `code` `outcome_unknown` if it is an answer of
 * recovery in place of an unknown outcome. `degraded` is present if another source than the tool answered and declared
 * it.
 *
 * @category events
 * @since 0.2.0
 */
export const ToolResult = callEvent("ToolResult", {
  isFailure: Schema.Boolean,
  code: Schema.optionalKey(Schema.String),
  /** The failure's text for the user, in the user's language. `result` contains the text for the model. */
  userMessage: Schema.optionalKey(Schema.String),
  /** After how many milliseconds a failed call may be made again, if the failure says so. */
  retryAfter: Schema.optionalKey(Schema.Finite),
  /** Source of the denial of a `permission_denied` call. */
  deniedBy: Schema.optionalKey(Schema.Literals(["person", "policy"])),
  degraded: Schema.optionalKey(degraded),
  /** Of an unknown outcome: the ledger's entry of the call's idempotency key. */
  entry: Schema.optionalKey(Schema.String),
  /** With `AgentEvent.Details`: the write of a call that is no read, with the known state of its outcome. Left out if it did not happen. */
  write: Schema.optionalKey(Schema.Struct({
    known: Schema.Literals(["done", "unknown", "partial", "pending"]),
    /** Whether the tool has a `compensate`. */
    hasCompensation: Schema.optionalKey(Schema.Literal(true)),
    /** The input of `Compensation`, if the write can be compensated. It has the exact arguments and the exact result. */
    compensable: Schema.optionalKey(Schema.Json)
  })),
  result: Schema.Unknown
})

/**
 * A share of a budget is used up.
 *
 * @category events
 * @since 0.2.0
 */
export const BudgetThreshold = runEvent("BudgetThreshold", {
  agent: Schema.String,
  budget: Schema.String,
  threshold: Schema.Finite,
  used: Schema.Finite,
  limit: Schema.Finite
})

/**
 * A budget that was used up has been extended.
 *
 * @category events
 * @since 0.2.0
 */
export const BudgetExtended = runEvent("BudgetExtended", {
  agent: Schema.String,
  budget: Schema.String,
  limit: Schema.Finite
})

const events = [
  RunStarted,
  RunFinished,
  AgentStarted,
  AgentFinished,
  SkillChosen,
  ModelTurnStarted,
  ModelRequested,
  TextDelta,
  TextFinished,
  ReasoningDelta,
  ReasoningFinished,
  ToolCallDelta,
  ModelSource,
  ModelFile,
  ProviderToolCall,
  ProviderToolResult,
  ModelTurnFinished,
  ModelTurnFailed,
  ModelRetry,
  TransportRetry,
  ModelFallback,
  ModelSubstituted,
  HistoryMended,
  MessageJoined,
  AnswerRestarted,
  ContextCompacted,
  OutputCorrection,
  ToolCallStarted,
  ToolAttempt,
  ToolAttemptSucceeded,
  ToolAttemptFailed,
  ToolAttemptRefused,
  ToolReplayed,
  ToolCircuitOpen,
  ToolProgress,
  ToolPreliminaryResult,
  ToolCompensated,
  ToolPending,
  ToolRetry,
  FixStarted,
  FixFinished,
  ToolFallback,
  ToolEscalated,
  ApprovalRequested,
  ApprovalDecided,
  ToolResult,
  BudgetThreshold,
  BudgetExtended
] as const

type EventListSchemaType = typeof events

/**
 * Schema of the events of a run: a union of their structs.
 *
 * @category models
 * @since 0.2.0
 */
export interface AgentEventSchema extends Schema.Union<EventListSchemaType> {}

/**
 * The events of a run.
 *
 * @category events
 * @since 0.2.0
 */
export const AgentEvent: AgentEventSchema = Schema.Union(events)

/**
 * The events of a run.
 *
 * **Example** (The tags of a run's events)
 *
 * ```ts
 * import { Effect, Stream } from "effect"
 * import { Agent, type AgentEvent } from "@recourse/core"
 *
 * const greeter = Agent.fromFunction("greeter", (name: string) => Effect.succeed(`Hello ${name}`))
 * const tagOf = (event: AgentEvent.AgentEvent): string => event._tag
 * const tags = greeter.stream("Ada").pipe(Stream.map(tagOf), Stream.runCollect)
 *
 * await Effect.runPromise(tags) // => ["RunStarted", "RunFinished"]
 * ```
 *
 * @category events
 * @since 0.2.0
 */
export type AgentEvent = typeof AgentEvent.Type
