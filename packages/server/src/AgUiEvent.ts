/** Events of AG-UI 1.0 that a server of agents sends. */

/**
 * The version of the protocol.
 *
 * @category constants
 * @since 0.2.0
 */
export const protocolVersion = "1.0"

/**
 * An event of AG-UI. `verifyEvents` of `@ag-ui/client` accepts each of them in its place.
 *
 * @category models
 * @since 0.2.0
 */
export type AgUiEvent =
  & { readonly timestamp: number }
  & (
    | {
      readonly type: "RUN_STARTED"
      readonly threadId: string
      readonly runId: string
      readonly protocolVersion: typeof protocolVersion
    }
    | {
      readonly type: "RUN_FINISHED"
      readonly threadId: string
      readonly runId: string
      readonly result?: unknown
      readonly outcome?: Outcome | undefined
      readonly usage: ReadonlyArray<TokenUsage>
    }
    | {
      readonly type: "RUN_ERROR"
      readonly message: string
      readonly code?: string
      readonly usage?: ReadonlyArray<TokenUsage>
    }
    | {
      /** The invocation of a nested agent that the event is of. */
      readonly subagentRunId?: string
    }
      & (
        | { readonly type: "STEP_STARTED" | "STEP_FINISHED"; readonly stepName: string }
        | { readonly type: "TEXT_MESSAGE_START"; readonly messageId: string; readonly role: "assistant" }
        | { readonly type: "TEXT_MESSAGE_CONTENT"; readonly messageId: string; readonly delta: string }
        | { readonly type: "TEXT_MESSAGE_END"; readonly messageId: string }
        | { readonly type: "REASONING_START" | "REASONING_END"; readonly messageId: string }
        | { readonly type: "REASONING_MESSAGE_START"; readonly messageId: string; readonly role: "reasoning" }
        | { readonly type: "REASONING_MESSAGE_CONTENT"; readonly messageId: string; readonly delta: string }
        | { readonly type: "REASONING_MESSAGE_END"; readonly messageId: string }
        | {
          readonly type: "TOOL_CALL_START"
          readonly toolCallId: string
          readonly toolCallName: string
          readonly parentMessageId?: string
        }
        | { readonly type: "TOOL_CALL_ARGS"; readonly toolCallId: string; readonly delta: string }
        | { readonly type: "TOOL_CALL_END"; readonly toolCallId: string }
        | {
          readonly type: "TOOL_CALL_RESULT"
          readonly messageId: string
          readonly toolCallId: string
          readonly role: "tool"
          readonly content: string
          readonly metadata?: { readonly isFailure: boolean; readonly code?: string }
        }
        | {
          readonly type: "ACTIVITY_SNAPSHOT"
          readonly messageId: string
          readonly activityType: string
          readonly content: { readonly [key: string]: unknown }
        }
        | {
          readonly type: "ACTIVITY_DELTA"
          readonly messageId: string
          readonly activityType: string
          readonly patch: ReadonlyArray<{ readonly op: "add"; readonly path: string; readonly value: unknown }>
        }
        | { readonly type: "CUSTOM"; readonly name: string; readonly value: unknown }
      )
    | {
      readonly type: "SUBAGENT_STARTED"
      readonly subagentRunId: string
      readonly name: string
      readonly parentSubagentRunId?: string
      readonly parentToolCallId?: string
    }
    | {
      readonly type: "SUBAGENT_FINISHED"
      readonly subagentRunId: string
      readonly outcome: { readonly type: "success" } | {
        readonly type: "suspended"
        readonly interruptIds: ReadonlyArray<string>
      }
    }
    | {
      readonly type: "SUBAGENT_ERROR"
      readonly subagentRunId: string
      readonly message: string
      readonly code?: string
    }
  )

/**
 * End of a run that did not fail.
 *
 * @category models
 * @since 0.2.0
 */
export type Outcome =
  | { readonly type: "success" }
  | { readonly type: "cancelled" }
  | { readonly type: "interrupt"; readonly interrupts: ReadonlyArray<Interrupt> }

/**
 * A question to a person.
 *
 * @category models
 * @since 0.2.0
 */
export interface Interrupt {
  readonly id: string
  readonly reason: "approval_required" | "approval_expired"
  readonly message: string
  readonly toolCallId: string
  readonly subagentRunId?: string
  /** JSON Schema of the `payload` of an answer. */
  readonly responseSchema: { readonly [key: string]: unknown }
  /** ISO 8601. */
  readonly expiresAt?: string
  readonly metadata: { readonly tool: string; readonly arguments: unknown; readonly argumentsHash: string }
}

/**
 * Usage of a run.
 *
 * @category models
 * @since 0.2.0
 */
export interface TokenUsage {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly totalTokens: number
}
