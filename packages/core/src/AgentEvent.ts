/**
 * Events of a run, sent as they happen.
 *
 * One run has exactly one `RunStarted`, and one `RunFinished`, which is its last event; agents nested in it report with
 * `AgentStarted` and `AgentFinished`. Times are milliseconds since the epoch by Effect's `Clock`, delays are milliseconds.
 */
export {
  CurrentListener,
  CurrentSyncListener,
  defaultTimeLimit,
  Details,
  listen,
  type Listener,
  type ListenOptions,
  type SyncListener
} from "./AgentEventListener.ts"
export {
  AgentEvent,
  type AgentEventSchema,
  AgentFinished,
  AgentStarted,
  AnswerRestarted,
  ApprovalDecided,
  ApprovalRequested,
  BudgetExtended,
  BudgetThreshold,
  ContextCompacted,
  FixFinished,
  FixStarted,
  HistoryMended,
  MessageJoined,
  ModelFallback,
  ModelFile,
  ModelRequested,
  ModelRetry,
  ModelSource,
  ModelSubstituted,
  ModelTurnFailed,
  ModelTurnFinished,
  ModelTurnStarted,
  Outcome,
  OutputCorrection,
  Pending,
  ProviderToolCall,
  ProviderToolResult,
  ReasoningDelta,
  ReasoningFinished,
  RunFinished,
  RunStarted,
  SkillChosen,
  TextDelta,
  TextFinished,
  ToolAttempt,
  ToolAttemptFailed,
  ToolAttemptRefused,
  ToolAttemptSucceeded,
  ToolCallDelta,
  ToolCallStarted,
  ToolCircuitOpen,
  ToolCompensated,
  ToolEscalated,
  ToolFallback,
  ToolPending,
  ToolPreliminaryResult,
  ToolProgress,
  ToolReplayed,
  ToolResult,
  ToolRetry,
  TransportRetry,
  Usage,
  version
} from "./AgentEventSchema.ts"
export { type ConsoleOptions, layerConsole } from "./internal/console/layer.ts"
export { describe } from "./internal/console/line.ts"
