/** Reasons of injected model errors: one of each kind that Effect's `AiError` has. */
import { Duration } from "effect"
import { AiError } from "effect/ai"
import type * as FaultPlan from "../../FaultPlan.ts"

/** Makes the reason of a failed model call. */
export const modelReasons: Record<
  FaultPlan.ModelErrorReason,
  (description: string, retryAfter: number | undefined) => AiError.AiErrorReason
> = {
  NetworkError: (description) =>
    new AiError.NetworkError({
      reason: "TransportError",
      method: "POST",
      url: "http://localhost/injected",
      description
    }),
  RateLimitError: (_, retryAfter) =>
    new AiError.RateLimitError(retryAfter === undefined ? {} : { retryAfter: Duration.millis(retryAfter) }),
  QuotaExhaustedError: () => new AiError.QuotaExhaustedError({}),
  AuthenticationError: (description) => new AiError.AuthenticationError({ kind: "InvalidKey", description }),
  ContentPolicyError: (description) => new AiError.ContentPolicyError({ description }),
  InvalidRequestError: (description) => new AiError.InvalidRequestError({ description }),
  InternalProviderError: (description) => new AiError.InternalProviderError({ description }),
  InvalidResponseError: (description) => new AiError.InvalidResponseError({ description }),
  InvalidOutputError: (description) => new AiError.InvalidOutputError({ description }),
  StructuredOutputError: (description) => new AiError.StructuredOutputError({ description, responseText: "" }),
  UnsupportedSchemaError: (description) => new AiError.UnsupportedSchemaError({ description }),
  UnknownError: (description) => new AiError.UnknownError({ description }),
  ToolNotFoundError: () => new AiError.ToolNotFoundError({ toolName: "injected", availableTools: [] }),
  ToolParameterValidationError: (description) =>
    new AiError.ToolParameterValidationError({ toolName: "injected", description }),
  InvalidToolResultError: (description) => new AiError.InvalidToolResultError({ toolName: "injected", description }),
  ToolResultEncodingError: (description) =>
    new AiError.ToolResultEncodingError({ toolName: "injected", toolResult: null, description }),
  ToolConfigurationError: (description) => new AiError.ToolConfigurationError({ toolName: "injected", description }),
  ToolkitRequiredError: (description) => new AiError.ToolkitRequiredError({ pendingApprovals: [], description }),
  InvalidUserInputError: (description) => new AiError.InvalidUserInputError({ description })
}
