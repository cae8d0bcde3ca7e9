/** Sentences by code: the model's text without a declared one. */
import type { ToolFailure } from "./toolFailure.ts"

interface Entry {
  readonly model: string
  readonly safe?: boolean
  readonly instruction?: string
}

/** The model's texts by code. */
export const entries: Readonly<Record<string, Entry>> = {
  timeout: {
    model: "The tool did not answer in time.",
    instruction: "Try again later or another way."
  },
  outcome_unknown: {
    model: "No answer came back. The requested action may have happened.",
    instruction: "Do not call again. Check first whether it happened."
  },
  duplicate_call: {
    model: "This call was not executed: your answer has the same call before it, which was made once.",
    instruction:
      "Use the result of that call. If it is meant to be done more than once, call it again in a later answer."
  },
  idempotency_conflict: {
    model: "Not done: the same key was used before with other arguments. The state is uncertain."
  },
  ledger_unavailable: {
    model: "Not done: the call could not be recorded, so it was not executed.",
    safe: true,
    instruction: "Try again later or another way."
  },
  circuit_open: {
    model: "The tool is temporarily unavailable.",
    safe: true,
    instruction: "Do not call it now. Continue without it, or another way."
  },
  invalid_result: { model: "The tool ran, but its result cannot be used." },
  not_found: { model: "It was not found." },
  permission_denied: {
    model: "This call is not allowed.",
    instruction: "Do not make this call again. Continue without it."
  },
  approval_required: { model: "This call was not made: it waits for an approval." },
  rate_limited: { model: "The service limits how often it may be called.", instruction: "Try again later." },
  upstream_error: { model: "A service that the tool needs is down.", instruction: "Try again later or another way." },
  authentication: { model: "The tool is not available.", instruction: "Continue without it." },
  quota_exhausted: { model: "The tool is not available: its quota is used up.", instruction: "Continue without it." },
  model_not_found: { model: "The tool is not available.", instruction: "Continue without it." },
  invalid_request: { model: "The tool failed: its model refused the request.", instruction: "Continue without it." },
  unsafe_output: { model: "The output of the tool was blocked as unsafe.", instruction: "Continue without it." },
  exception: { model: "The run ends." },
  execution_error: { model: "Tool execution failed." }
}

/** Advice about a write that may have happened, and whose key is made of its arguments. */
export const sameArguments =
  "The same call with the same arguments is never done twice: it is safe to make it again. " +
  "Do not change the arguments before you know whether it happened."

export type Body = Omit<ToolFailure, "status" | "trace_id" | "message_for_user"> & {
  /** Left out: the catalogue's sentence for the code. */
  readonly message_for_user?: string | undefined
}

/** The entry of a code, or that of `execution_error`: codes come from declarations and from outside. */
export const entryOf = (code: string): Entry =>
  (Object.hasOwn(entries, code) ? entries[code] : undefined) ?? entries["execution_error"]!

export const byCode = (code: string, model?: string): Body => {
  const entry = entryOf(code)
  return {
    code,
    message_for_model: model ?? entry.model,
    safe_to_retry: entry.safe ?? false,
    ...(entry.instruction === undefined ? undefined : { instruction: entry.instruction })
  }
}
