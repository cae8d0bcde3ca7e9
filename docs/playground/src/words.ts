/** The names of choices for visitors, and the guide of each. */
import type { Declaration, FaultName, Frequency, ToolKind } from "./choice.ts"

export interface Words {
  readonly label: string
  readonly explanation: string
}

export const toolWords: Readonly<Record<ToolKind, Words>> = {
  read: { label: "A read", explanation: "find_order looks an order up. It may run again." },
  write: { label: "A write", explanation: "refund pays money back. It must not happen twice." }
}

export const faultWords: Readonly<Record<FaultName, Words>> = {
  none: { label: "No fault", explanation: "Everything works." },
  "no-answer": { label: "No answer", explanation: "The service is silent until the timeout of the tool." },
  "lost-answer": { label: "Lost answer", explanation: "The service does its work, and its answer is lost." },
  down: { label: "Service down", explanation: "The service fails and does no work." },
  "cut-arguments": { label: "Cut arguments", explanation: "The arguments from the model are cut off." },
  "bad-result": { label: "Bad result", explanation: "The result does not fit the schema of the tool." },
  "rate-limit": { label: "Model: 429", explanation: "The model refuses the request after the tool call." },
  "cut-stream": { label: "Model: cut stream", explanation: "The final answer breaks off in the middle." },
  rejected: { label: "Person: rejects", explanation: "The person whom the tool asks rejects the call, with a reason." },
  edited: { label: "Person: edits", explanation: "The person approves the call for another order." },
  late: { label: "Person: late", explanation: "The person approves after the two hours of the approval." }
}

export const frequencyWords: Readonly<Record<Frequency, string>> = { once: "Once", always: "Every time" }

export const declarationWords: Readonly<Record<Declaration, Words & { readonly guide: string }>> = {
  key: {
    label: "Idempotency key",
    explanation: "Gives each call a key. The service does the work once for each key.",
    guide: "lawful-recovery"
  },
  approval: {
    label: "Approval",
    explanation: "The run pauses until a person decides about the call.",
    guide: "approval"
  },
  compensate: {
    label: "Compensate",
    explanation: "Takes completed writes back if the run ends with an error.",
    guide: "compensation"
  },
  fix: { label: "Fix arguments", explanation: "Repairs the JSON of the arguments.", guide: "errors" },
  retry: { label: "Retry", explanation: "Makes two more attempts, if the tool may run again.", guide: "retries" },
  fallback: { label: "Fallback", explanation: "Answers from another source.", guide: "lawful-recovery" },
  escalate: { label: "Escalate", explanation: "Hands the failure to the model.", guide: "errors" },
  standard: {
    label: "Recovery.standard",
    explanation: "Decides about the failures that the tool leaves.",
    guide: "presets"
  },
  "model-retry": { label: "onModelError", explanation: "Repeats a failed request to the model.", guide: "retries" }
}

/** The cases that the page offers first. */
export const cases: ReadonlyArray<{ readonly label: string; readonly query: string }> = [
  { label: "A service is down", query: "?tool=read&fault=down" },
  { label: "A retry recovers", query: "?tool=read&fault=down&with=retry+escalate" },
  { label: "The model corrects its arguments", query: "?tool=read&fault=cut-arguments&with=escalate" },
  { label: "A refund loses its answer", query: "?tool=write&fault=lost-answer&with=retry+escalate" },
  { label: "The same refund, under a key", query: "?tool=write&fault=lost-answer&with=key+retry+escalate" },
  { label: "A fallback that the compiler refuses", query: "?tool=write&fault=lost-answer&with=fallback" },
  { label: "A failed run takes its refund back", query: "?tool=write&fault=rate-limit&often=always&with=compensate" },
  { label: "A person rejects a refund", query: "?tool=write&fault=rejected&with=approval" },
  { label: "A person decides too late", query: "?tool=write&fault=late&with=approval" }
]

/** The reason of the compiler's refusal, for the declaration that it refuses. */
export const refusal =
  "An unknown outcome has no fallback, because the refund may have been paid. Hand it to the model, or declare a key."
