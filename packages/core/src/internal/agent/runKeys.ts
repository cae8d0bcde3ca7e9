/** Run keys: keys of services that belong to one run, request or span, and not to the program. */

/** Keys of Effect. The services of a request are here so that an agent which runs in a request handler shares its services, too. */
const ofEffect = [
  "effect/Layer/CurrentMemoMap",
  "effect/References/CurrentLogAnnotations",
  "effect/References/CurrentLogSpans",
  "effect/References/CurrentStackFrame",
  "effect/Scope",
  "effect/Tracer/ParentSpan",
  "effect/http/HttpEffect/CurrentRequestState",
  "effect/http/HttpRouter/RouteContext",
  "effect/http/HttpServerRequest",
  "effect/http/ParsedSearchParams"
]

const ofRuns = [
  "@recourse/core/Agent/Takers",
  "@recourse/core/AgentEvent/CurrentSyncListener",
  "@recourse/core/AgentEvent/CurrentListener",
  "@recourse/core/AgentEvent/Deaf",
  "@recourse/core/AgentEvent/HasListeners",
  "@recourse/core/Approval/Claimed",
  "@recourse/core/Audit/Actor",
  "@recourse/core/CurrentActivity",
  "@recourse/core/CurrentJournal",
  "@recourse/core/CurrentRun",
  "@recourse/core/CurrentWriteLog",
  "@recourse/core/EnclosingCall",
  "@recourse/core/RetryBudget/CurrentRetryBudget",
  "@recourse/core/Runs/Owner",
  "@recourse/core/Signal",
  "@recourse/core/ToolCall",
  "@recourse/core/TransportRetry/Active",
  "@recourse/core/TransportRetry/Exchange",
  "@recourse/core/TransportRetry/Observer",
  "@recourse/durable/InTransaction",
  "@recourse/durable/Parent",
  "@recourse/durable/Slot"
]

const keys = new Set([...ofEffect, ...ofRuns])

const listener = "@recourse/core/AgentEvent/Listener/"

/** Returns whether a service belongs to one run, request or span. */
export const isOfRun = (key: string): boolean => keys.has(key) || key.startsWith(listener)
