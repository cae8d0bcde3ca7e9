/** Errors of an attempt: how an attempt of a call fails. */
import type {
  ExecutionError,
  IdempotencyConflict,
  InvalidArgs,
  LedgerUnavailable,
  OutcomeUnknown,
  Timeout
} from "../../ToolError.ts"

/** The error of an attempt of a call. */
export type AttemptError =
  | InvalidArgs
  | ExecutionError
  | Timeout
  | OutcomeUnknown
  | IdempotencyConflict
  | LedgerUnavailable
