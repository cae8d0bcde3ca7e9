/** Chunks of the AI SDK's UI message stream (`ai` 7) that a server of agents sends. */

/**
 * A chunk of a UI message stream. `uiMessageChunkSchema` of the package `ai` accepts each of them.
 *
 * @category models
 * @since 0.2.0
 */
export type UiMessageChunk =
  | { readonly type: "start"; readonly messageId: string; readonly messageMetadata: MessageMetadata }
  | { readonly type: "start-step" }
  | { readonly type: "finish-step" }
  | { readonly type: "reset-step" }
  | {
    readonly type: "finish"
    readonly finishReason: "stop" | "tool-calls" | "interrupted"
    readonly messageMetadata: MessageMetadata
  }
  | { readonly type: "message-metadata"; readonly messageMetadata: MessageMetadata }
  | { readonly type: "error"; readonly errorText: string }
  | { readonly type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; readonly id: string }
  | { readonly type: "text-delta" | "reasoning-delta"; readonly id: string; readonly delta: string }
  | {
    readonly type: "tool-input-start"
    readonly toolCallId: string
    readonly toolName: string
    readonly dynamic: true
  }
  | { readonly type: "tool-input-delta"; readonly toolCallId: string; readonly inputTextDelta: string }
  | {
    readonly type: "tool-input-available"
    readonly toolCallId: string
    readonly toolName: string
    readonly input: unknown
    readonly dynamic: true
    readonly providerExecuted?: true
  }
  | {
    readonly type: "tool-input-error"
    readonly toolCallId: string
    readonly toolName: string
    readonly input: unknown
    readonly errorText: string
    readonly dynamic: true
  }
  | {
    readonly type: "tool-approval-request"
    readonly approvalId: string
    readonly toolCallId: string
    readonly reason?: string
    readonly approvalDescriptor: ApprovalDescriptor
  }
  | { readonly type: "tool-approval-response"; readonly approvalId: string; readonly approved: boolean }
  | {
    readonly type: "tool-output-available"
    readonly toolCallId: string
    readonly output: unknown
    readonly dynamic: true
    readonly providerExecuted?: true
    /** Preliminary result of the call: the next one replaces it. */
    readonly preliminary?: true
  }
  | {
    readonly type: "tool-output-error"
    readonly toolCallId: string
    readonly errorText: string
    readonly dynamic: true
    readonly providerExecuted?: true
  }
  | { readonly type: "tool-output-denied"; readonly toolCallId: string }
  | { readonly type: "source-url"; readonly sourceId: string; readonly url: string; readonly title: string }
  | {
    readonly type: "source-document"
    readonly sourceId: string
    readonly mediaType: string
    readonly title: string
    readonly filename?: string
  }
  | { readonly type: "file"; readonly url: string; readonly mediaType: string }
  | DataChunk

/**
 * A message of the user that joined the run while it was running. Its chunk has the id of the message.
 *
 * @category models
 * @since 0.2.0
 */
export interface JoinedMessage {
  readonly text: string
}

/**
 * Data of Recourse within a message: a chunk with the `id` of an earlier one replaces it. A transient one is not kept.
 *
 * @category models
 * @since 0.2.0
 */
export type DataChunk =
  | { readonly type: "data-recovery"; readonly id: string; readonly data: Recovery }
  | { readonly type: "data-approval"; readonly id: string; readonly data: DecidedApproval }
  | { readonly type: "data-outcome"; readonly id: string; readonly data: UnknownOutcome }
  | { readonly type: "data-agent"; readonly id: string; readonly data: NestedAgent }
  | { readonly type: "data-budget"; readonly id: string; readonly data: Budget }
  | { readonly type: "data-skill"; readonly id: string; readonly data: { readonly skill: string } }
  | { readonly type: "data-joined"; readonly id: string; readonly data: JoinedMessage }
  | { readonly type: "data-model"; readonly data: ModelTrouble; readonly transient: true }
  | { readonly type: "data-progress"; readonly data: CallProgress; readonly transient: true }
  | { readonly type: "data-output"; readonly id: string; readonly data: unknown }

/**
 * Metadata of a message about its run.
 *
 * @category models
 * @since 0.2.0
 */
export interface MessageMetadata {
  readonly runId: string
  readonly threadId?: string
  /** The agent that answers. */
  readonly agent?: string
  /** Outcome of the run, or its pause. Absent while it runs. */
  readonly outcome?: "success" | "failure" | "interrupted" | "paused"
  readonly usage?: { readonly inputTokens: number; readonly outputTokens: number; readonly totalTokens: number }
  /** The runs of all answers to the user's message, the newest one last. Only in messages of a thread, if there are several. */
  readonly versions?: ReadonlyArray<string>
  /** Code of the failure that ended the run. */
  readonly errorCode?: string
  /** The user's text of that failure, like in the chunk `error`. A reloaded message has it here. */
  readonly errorText?: string
}

/**
 * Details of a question, for pages that show more than the call.
 *
 * @category models
 * @since 0.2.0
 */
export interface ApprovalDescriptor {
  readonly calls: ReadonlyArray<
    {
      readonly callId: string
      readonly tool: string
      readonly arguments: unknown
      readonly argumentsHash: string
      readonly reasons: ReadonlyArray<string>
      readonly expiresAt: number
    }
  >
}

/**
 * The decision of a person about a call.
 *
 * @category models
 * @since 0.2.0
 */
export interface DecidedApproval {
  /** The call of the message that waited; `tool` is the tool that the decision is about, which may be called within it. */
  readonly callId: string
  readonly tool: string
  readonly decision: "approved" | "edited" | "rejected" | "responded"
  readonly by?: string
  readonly reason?: string
  /** Milliseconds since the epoch. */
  readonly at: number
  /** Of an edited call: the arguments that differ. A value that is left out was not there. */
  readonly edits?: ReadonlyArray<{ readonly name: string; readonly from?: unknown; readonly to?: unknown }>
}

/**
 * A call whose outcome is unknown: it may have happened.
 *
 * @category models
 * @since 0.2.0
 */
export interface UnknownOutcome {
  readonly callId: string
  readonly tool: string
  readonly outcome: "unknown"
  /** A person's finding since. Loaded messages have it; a stream does not. */
  readonly checked?: {
    readonly answer: "happened" | "not_happened" | "settled"
    readonly by: string
    /** Milliseconds since the epoch. */
    readonly at: number
  }
}

/**
 * Number of shown steps of a call's recovery: the first and the newest ones.
 *
 * @category constants
 * @since 0.2.0
 */
export const maxRecoverySteps = 50

/**
 * Recovery of a call until its result: the attempts, waits, repairs and fallbacks, the oldest first.
 *
 * @category models
 * @since 0.2.0
 */
export interface Recovery {
  readonly callId: string
  readonly tool: string
  readonly steps: ReadonlyArray<RecoveryStep>
}

/**
 * A step on the way of a call to its result. Delays are milliseconds.
 *
 * @category models
 * @since 0.2.0
 */
export interface RecoveryStep {
  readonly kind:
    | "attempt"
    | "failed"
    | "refused"
    | "retry"
    | "replayed"
    | "circuit-open"
    | "pending"
    | "fixing"
    | "fixed"
    | "fallback"
    | "escalated"
    | "undone"
    | "not-happened"
    | "not-undone"
  readonly at: number
  readonly attempt?: number
  readonly delay?: number
  /** Tag of an error. */
  readonly error?: string
  /** Code of an escalation. */
  readonly code?: string
  readonly fixer?: string
  readonly answer?: string
  /** Of a call that a tool made: the tool. */
  readonly tool?: string
}

/**
 * Progress of a call, reported by its tool. Without `total` the end is unknown.
 *
 * @category models
 * @since 0.2.0
 */
export interface CallProgress {
  readonly callId: string
  readonly tool: string
  readonly progress: number
  readonly total?: number
  readonly message?: string
}

/**
 * A nested agent, and the calls that it makes.
 *
 * @category models
 * @since 0.2.0
 */
export interface NestedAgent {
  readonly agent: string
  /** The call within which it runs. */
  readonly callId?: string
  readonly state: "running" | "success" | "failure" | "interrupted" | "paused"
  readonly calls: ReadonlyArray<
    {
      readonly callId: string
      readonly tool: string
      readonly state: "running" | "success" | "failure" | "unknown"
      readonly userMessage?: string
    }
  >
}

/**
 * Used share of a budget.
 *
 * @category models
 * @since 0.2.0
 */
export interface Budget {
  readonly agent: string
  readonly budget: string
  readonly used?: number
  readonly limit: number
}

/**
 * A model call that did not go as it should. Delays are milliseconds.
 *
 * @category models
 * @since 0.2.0
 */
export interface ModelTrouble {
  readonly kind: "retry" | "fallback" | "substituted" | "correction" | "restart"
  readonly error?: string
  readonly delay?: number
}
