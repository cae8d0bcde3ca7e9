/** Error bodies: maps each error to its code and text. */
import * as Duration from "effect/Duration"
import * as AiError from "effect/ai/AiError"
import type { Issue } from "../../ToolError.ts"
import { BudgetExceeded } from "../../Budget.ts"
import {
  AgentException,
  type Declared,
  Escalated,
  Escalation,
  type InvalidArgs,
  isToolError,
  NotApproved,
  type OutcomeUnknown,
  type ToolError
} from "../../ToolError.ts"
import { ownCode } from "../foundation/ownCode.ts"
import { describe } from "../foundation/schema/schemaIssues.ts"
import { isTransient } from "./declaration.ts"
import { type Body, byCode, sameArguments } from "./codeTexts.ts"

const pathOf = (issue: Issue): string => issue.path.join(".")

/** The text for arguments that do not fit: made of the schema alone. */
export const textOfIssues = (issues: ReadonlyArray<Issue>): string => `The arguments do not fit: ${describe(issues)}`

const invalidArguments = ({ isRead, issues }: Pick<InvalidArgs, "isRead" | "issues">): Body => {
  const first = issues.find((issue) => issue.path.length > 0)
  return {
    code: issues.every((issue) => issue.problem === "missing") ? "missing_required_field" : "invalid_arguments",
    message_for_model: textOfIssues(issues),
    safe_to_retry: true,
    instruction: isRead !== true && issues.some((issue) => issue.problem === "missing")
      ? askForMissing
      : "Call again with corrected arguments.",
    issues,
    ...(first === undefined ? undefined : { field: pathOf(first) })
  }
}

const askForMissing = "Call again with the missing arguments. Ask the user for unknown values: do not make them up."

const declaredBody = (declared: Declared): Body => ({
  ...byCode(declared.code, declared.model),
  safe_to_retry: (declared.repeatable || declared.outcome === "not_done") && isTransient(declared),
  message_for_user: declared.user,
  ...(declared.retryAfter === undefined ? undefined : { retry_after_ms: declared.retryAfter })
})

/** Text that is declared of an error is read if it was written for an unknown outcome. */
const outcomeUnknown = ({ declared, repeatable }: Pick<OutcomeUnknown, "declared" | "repeatable">): Body => {
  const said = declared?.outcome === "unknown" ? declared : undefined
  return {
    ...byCode("outcome_unknown", said?.model),
    message_for_user: said?.user,
    ...(repeatable === true ? { safe_to_retry: true, instruction: sameArguments } : undefined)
  }
}

/**
 * Text about a failure of a call that may have had an effect anyway. The program's own words stay. `isOwn`: true if the
 * error is of this call, and not of an inner one, which may be safe to repeat when this one is not.
 */
export const unknownOutcomeBody = (error: unknown, isRepeatable: boolean, isOwn: boolean): Body => {
  const said = body(error)
  const unknown = outcomeUnknown(isRepeatable ? { repeatable: true } : {})
  const { message_for_model, message_for_user } = said
  if (said.code === unknown.code) return isOwn ? said : { ...said, ...unknown, message_for_model, message_for_user }
  const isOwnWord = error instanceof Escalation && body(error.error).message_for_model !== error.reason
  return isOwnWord ? { ...unknown, message_for_model: error.reason, severity: error.severity } : unknown
}

const modelErrors: Partial<Record<AiError.AiErrorReason["_tag"], string>> = {
  RateLimitError: "rate_limited",
  QuotaExhaustedError: "quota_exhausted",
  InvalidRequestError: "invalid_request",
  AuthenticationError: "authentication",
  InternalProviderError: "upstream_error",
  NetworkError: "upstream_error",
  ContentPolicyError: "unsafe_output"
}

/** Text about a failed model call. The parameter in the reason identifies a request without a model. */
const ofModel = ({ reason, retryAfter }: AiError.AiError): Body => {
  const isModelUnknown = reason._tag === "InvalidRequestError" && reason.parameter === "model"
  return {
    ...byCode(isModelUnknown ? "model_not_found" : modelErrors[reason._tag] ?? "execution_error"),
    ...(retryAfter === undefined ? undefined : { retry_after_ms: Math.ceil(Duration.toMillis(retryAfter)) })
  }
}

/** Known by their classes: the errors of a program may have the same tags. */
const isOurs = (u: unknown): u is ToolError | Escalated | AgentException | BudgetExceeded | NotApproved =>
  isToolError(u) || u instanceof Escalated || u instanceof AgentException || u instanceof BudgetExceeded ||
  u instanceof NotApproved

export const body = (error: unknown): Body => {
  if (AiError.isAiError(error)) return ofModel(error)
  const known = isOurs(error) ? error : undefined
  switch (known?._tag) {
    case "InvalidArgs":
      return invalidArguments(known)
    case "Timeout":
      return { ...byCode("timeout"), ...(known.repeatable === true ? { safe_to_retry: true } : undefined) }
    case "OutcomeUnknown":
      return outcomeUnknown(known)
    case "IdempotencyConflict":
      return byCode("idempotency_conflict")
    case "LedgerUnavailable":
      return byCode("ledger_unavailable")
    case "CircuitOpen":
      return {
        ...byCode("circuit_open"),
        retry_after_ms: Math.ceil(Duration.toMillis(known.retryAfter)),
        instruction: `Do not call it before ${
          new Date(known.until).toISOString()
        }. Continue without it, or another way.`
      }
    case "PartialSuccess":
      return {
        code: "partial_success",
        message_for_model: `${known.succeeded.length} parts were done and ${known.failed.length} were not.`,
        safe_to_retry: false,
        instruction: "Do not repeat the completed parts. Decide about each of the others.",
        succeeded: known.succeeded,
        failed: known.failed
      }
    case "InvalidResult":
      return byCode("invalid_result")
    case "ExecutionError":
      if (known.declared !== undefined) return declaredBody(known.declared)
      // Of an agent that is a tool, the failure of its model: a code and a time, and no text of the provider.
      return AiError.isAiError(known.reason) ? ofModel(known.reason) : byCode("execution_error")
    case "BudgetExceeded":
      return byCode("budget_exceeded")
    case "NotApproved":
      return byCode("approval_required")
    case "Escalation": {
      const inner = body(known.error)
      const { message_for_user, safe_to_retry } = inner
      return {
        ...(inner.code === known.code ? inner : { message_for_user, safe_to_retry }),
        code: known.code,
        message_for_model: known.reason,
        severity: known.severity
      }
    }
    case "Escalated":
      return { code: "escalated", message_for_model: known.reason, safe_to_retry: false }
    case "AgentException":
      return byCode("exception")
    default:
      return byCode(ownCode(error) ?? "execution_error")
  }
}

// --- the projections ------------------------------------------------------------------------------------------------
