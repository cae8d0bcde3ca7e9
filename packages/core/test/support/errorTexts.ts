/** Texts of errors for the model and the user. */

import { Budget, ToolError } from "@recourse/core"
import { Duration } from "effect"
import { AiError } from "effect/ai"
import {
  check,
  declared,
  doubtful,
  escalated,
  lost,
  missing,
  onward,
  repeatable,
  type Row,
  slow,
  unclear,
  went,
  where
} from "./toolFailures.ts"

export const model = (reason: AiError.AiErrorReason) =>
  AiError.make({ module: "LanguageModel", method: "generateText", reason })

export const failed = [{ item: "b", code: "sold_out", reason: "No seats" }] as const

export const wrong = { path: [], expected: "an object", problem: "invalid" } as const

export const slowly = "The service is temporarily slow. Please try again later."

export const later = "Try again later or another way."

export const unavailable = "The tool is not available."

export const ofErrors: ReadonlyArray<Row> = [
  // An error of a program is none of ours, though it has the tag of one.
  ...[
    "anything",
    undefined,
    ...["Timeout", "PartialSuccess", "Escalation"].map((_tag) => ({ _tag, reason: "hunter2" }))
  ].map(
    (error): Row => [error, "execution_error", "Tool execution failed.", went, false]
  ),
  [
    new ToolError.InvalidArgs({ ...where, issues: [wrong, missing] }),
    "invalid_arguments",
    "The arguments do not fit: an object; seat: text",
    "I need more information to do that.",
    true,
    {
      field: "seat",
      issues: [wrong, missing],
      instruction: "Call again with the missing arguments. Ask the user for unknown values: do not make them up."
    }
  ],
  [
    new ToolError.InvalidArgs({ ...where, issues: [missing], isRead: true }),
    "missing_required_field",
    "The arguments do not fit: seat: text",
    "I need more information to do that.",
    true,
    { field: "seat", issues: [missing], instruction: "Call again with corrected arguments." }
  ],
  [
    new ToolError.InvalidArgs({ ...where, issues: [wrong] }),
    "invalid_arguments",
    "The arguments do not fit: an object",
    "I need more information to do that.",
    true,
    { issues: [wrong], instruction: "Call again with corrected arguments." }
  ],
  [slow, "timeout", "The tool did not answer in time.", slowly, false, { instruction: later }],
  [
    new ToolError.Timeout({ ...where, after: Duration.seconds(1), repeatable: true }),
    "timeout",
    "The tool did not answer in time.",
    slowly,
    true,
    { instruction: later }
  ],
  [unclear, "outcome_unknown", lost, doubtful, false, { instruction: check }],
  [
    new ToolError.OutcomeUnknown({ ...where, after: Duration.zero, repeatable: true }),
    "outcome_unknown",
    lost,
    doubtful,
    true,
    { instruction: repeatable }
  ],
  // The declaration of an error is used if it was written for an unknown outcome, and not if it declares "not done".
  [
    new ToolError.OutcomeUnknown({
      ...where,
      after: Duration.zero,
      declared: { code: "x", repeatable: false, outcome: "unknown", model: "Look it up.", user: "We will see." }
    }),
    "outcome_unknown",
    "Look it up.",
    "We will see.",
    false,
    { instruction: check }
  ],
  [
    new ToolError.OutcomeUnknown({
      ...where,
      after: Duration.zero,
      declared: { code: "x", repeatable: false, outcome: "not_done", model: "Not booked.", user: "Not booked." }
    }),
    "outcome_unknown",
    lost,
    doubtful,
    false,
    { instruction: check }
  ],
  [
    new ToolError.IdempotencyConflict({ ...where, entry: "e" }),
    "idempotency_conflict",
    "Not done: the same key was used before with other arguments. The state is uncertain.",
    "I could not find out the outcome. A person must look at it.",
    false
  ],
  [
    new ToolError.LedgerUnavailable({ ...where, reason: "hunter2" }),
    "ledger_unavailable",
    "Not done: the call could not be recorded, so it was not executed.",
    slowly,
    true,
    { instruction: later }
  ],
  [
    new ToolError.CircuitOpen({ ...where, circuit: "pay", retryAfter: Duration.millis(1500.2), until: 0 }),
    "circuit_open",
    "The tool is temporarily unavailable.",
    slowly,
    true,
    {
      retry_after_ms: 1501,
      instruction: "Do not call it before 1970-01-01T00:00:00.000Z. Continue without it, or another way."
    }
  ],
  [
    new ToolError.PartialSuccess({ ...where, succeeded: ["a"], failed }),
    "partial_success",
    "1 parts were done and 1 were not.",
    "A part of it was done.",
    false,
    {
      succeeded: ["a"],
      failed,
      instruction: "Do not repeat the completed parts. Decide about each of the others."
    }
  ],
  [
    new ToolError.InvalidResult({ ...where, issues: [wrong] }),
    "invalid_result",
    "The tool ran, but its result cannot be used.",
    went,
    false
  ],
  [
    new ToolError.ExecutionError({ ...where, reason: "hunter2" }),
    "execution_error",
    "Tool execution failed.",
    went,
    false
  ],
  [declared({}), "no_seat", "Tool execution failed.", went, false],
  // Safe if it had no effect or may be repeated, and may succeed later.
  [
    declared({ code: "rate_limited", outcome: "not_done", user: "Later!", model: "Later.", retryAfter: 7 }),
    "rate_limited",
    "Later.",
    "Later!",
    true,
    { retry_after_ms: 7, instruction: "Try again later." }
  ],
  [
    declared({ code: "rate_limited", outcome: "unknown" }),
    "rate_limited",
    "The service limits how often it may be called.",
    "There are too many requests at the moment. Please try again later.",
    false,
    { instruction: "Try again later." }
  ],
  [declared({ outcome: "not_done" }), "no_seat", "Tool execution failed.", went, false],
  [declared({ transient: true, repeatable: true }), "no_seat", "Tool execution failed.", went, true],
  [
    new Budget.BudgetExceeded({ reason: "turns", agent: "a", limit: 1, used: 2 }),
    "budget_exceeded",
    "Tool execution failed.",
    "This took more than it may. I stopped.",
    false
  ],
  [
    new ToolError.NotApproved({ tool: "pay", callId: "c1" }),
    "approval_required",
    "This call was not made: it waits for an approval.",
    "This needs your approval.",
    false
  ],
  [escalated("desk"), "desk", "Ask the desk", went, false, { severity: "high" }],
  [
    escalated("desk", declared({ user: "The desk knows." })),
    "desk",
    "Ask the desk",
    "The desk knows.",
    false,
    { severity: "high" }
  ],
  [escalated("timeout", slow), "timeout", "Ask the desk", slowly, false, { severity: "high", instruction: later }],
  [
    new ToolError.Escalated({ agent: "judge", reason: "A person decides", severity: "high" }),
    "escalated",
    "A person decides",
    went,
    false
  ],
  [new ToolError.AgentException({ agent: "judge", reason: "hunter2" }), "exception", "The run ends.", went, false],
  [
    model(new AiError.RateLimitError({ retryAfter: Duration.millis(10.5) })),
    "rate_limited",
    "The service limits how often it may be called.",
    "There are too many requests at the moment. Please try again later.",
    false,
    { retry_after_ms: 11, instruction: "Try again later." }
  ],
  [
    model(new AiError.QuotaExhaustedError({})),
    "quota_exhausted",
    "The tool is not available: its quota is used up.",
    "The service's quota is used up. Please try again another day.",
    false,
    { instruction: onward }
  ],
  [
    model(new AiError.InvalidRequestError({ parameter: "temperature" })),
    "invalid_request",
    "The tool failed: its model refused the request.",
    "The service could not work with this request. Please put it another way.",
    false,
    { instruction: onward }
  ],
  [
    model(new AiError.InvalidRequestError({ parameter: "model" })),
    "model_not_found",
    unavailable,
    "The service is not set up correctly: its model was not found.",
    false,
    { instruction: onward }
  ],
  [
    model(new AiError.AuthenticationError({ kind: "InvalidKey" })),
    "authentication",
    unavailable,
    "The service is not available.",
    false,
    { instruction: onward }
  ],
  ...[
    new AiError.InternalProviderError({ description: "hunter2" }),
    new AiError.NetworkError({ reason: "TransportError", method: "POST", url: "http://models.test" })
  ].map((reason): Row => [
    model(reason),
    "upstream_error",
    "A service that the tool needs is down.",
    "A service that is needed is not available at the moment. Please try again later.",
    false,
    { instruction: later }
  ]),
  [
    model(new AiError.ContentPolicyError({ description: "hunter2" })),
    "unsafe_output",
    "The output of the tool was blocked as unsafe.",
    "Unsafe content was blocked.",
    false,
    { instruction: onward }
  ],
  [model(new AiError.UnknownError({})), "execution_error", "Tool execution failed.", went, false]
]
