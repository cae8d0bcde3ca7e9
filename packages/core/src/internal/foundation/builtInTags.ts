/**
 * Built-in tags: calls that fail with errors of this library alone, because those of executors are within `ExecutionError`. They are a tool's
 * call, and one behind the retries and escalations of this library. Behind another operator errors may have any tag, and the compiler
 * alone checks the tags of a recovery.
 */
import { checkArgument, type Kind, oneOf } from "./options/optionCheck.ts"

const aBuiltInTag: Kind = oneOf(
  "InvalidArgs",
  "ExecutionError",
  "Timeout",
  "OutcomeUnknown",
  "InvalidResult",
  "PartialSuccess",
  "IdempotencyConflict",
  "LedgerUnavailable",
  "CircuitOpen",
  "NotApproved",
  "Pending",
  "Escalation"
)

const calls = new WeakSet<object>()

/** Returns the call of a tool, which fails with built-in tags only. */
export const withBuiltInTags = <Call extends object>(call: Call): Call => {
  calls.add(call)
  return call
}

/** Returns a call with a recovery that adds no tag of another kind. */
export const keepingTags = <Call extends object>(recovered: Call, call: object): Call =>
  calls.has(call) ? withBuiltInTags(recovered) : recovered

/** Throws `ConfigurationError` for a tag that no error of the call has, if its tags are the built-in ones. */
export const checkTags = (subject: string, call: object, tags: ReadonlyArray<string>): void => {
  if (calls.has(call)) { for (const tag of tags) checkArgument(subject, "its tag", tag, aBuiltInTag) }
}
