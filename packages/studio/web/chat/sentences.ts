/** Sentences: descriptions of events, for readers who did not write the agent. Pure: tests need no browser. */
import type { Budget, DecidedApproval, ModelTrouble, RecoveryStep } from "@recourse/server/UiMessageChunk"
import { quoted, seen } from "../shared/exact.ts"

/** `find_order` and `findOrder` as "Find order". */
export const humanized = (name: string): string => {
  const words = name.replaceAll(/([a-z\d])([A-Z])/g, "$1 $2").replaceAll(/[_\-./]+/g, " ").trim().toLowerCase()
  return words === "" ? name : words[0]!.toUpperCase() + words.slice(1)
}

/** Milliseconds as "0.4 s", "2 s", "3 min". */
export const duration = (milliseconds: number): string => {
  const seconds = milliseconds / 1000
  if (seconds < 10) return `${Number(seconds.toFixed(1))} s`
  if (seconds < 90) return `${Math.round(seconds)} s`
  const minutes = Math.round(seconds / 60)
  return minutes < 90 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
}

const causes: ReadonlyMap<string, string> = new Map([
  ["Timeout", "it took too long"],
  ["InvalidArgs", "something it needs was missing or wrong"],
  ["InvalidResult", "the result could not be used"],
  ["OutcomeUnknown", "it is not known whether it was done"],
  ["CircuitOpen", "the service is resting after too many failures"],
  ["NotApproved", "it was not allowed"],
  ["LedgerUnavailable", "the record of earlier calls could not be reached"],
  ["IdempotencyConflict", "the same request was made with other content"]
])

const because = (error: string | undefined): string => causes.get(error ?? "") ?? "it failed"

const cause = (error: string | undefined): string => causes.has(error ?? "") ? `: ${because(error)}` : ""

const fixes: ReadonlyMap<string, string> = new Map([
  ["arguments", "The arguments were repaired"],
  ["result", "An answer was given in its place"],
  ["declined", "The arguments could not be repaired"],
  ["escalated", "The repair was handed on"],
  ["exception", "The repair ended the call"],
  ["failed", "The repair failed"],
  ["interrupted", "The repair was stopped"]
])

/** A step of a recovery in a sentence; `undefined` for one without information. */
export const stepSentence = (step: RecoveryStep): string | undefined => {
  const of = step.tool === undefined ? "" : ` (${humanized(step.tool)})`
  switch (step.kind) {
    case "attempt":
      // Its end is reported; "retry" reports the repetition.
      return undefined
    case "failed":
      return step.error === "OutcomeUnknown"
        ? `Attempt ${step.attempt ?? ""} gave no answer: ${because(step.error)}${of}`
        : `Attempt ${step.attempt ?? ""} failed${cause(step.error)}${of}`
    case "refused":
      return `Was not run: ${because(step.error)}${of}`
    case "retry":
      return step.delay === undefined || step.delay < 1
        ? `Tried again at once${of}`
        : `Tried again after ${duration(step.delay)}${of}`
    case "replayed":
      return `Had been done before: its result was used again${of}`
    case "circuit-open":
      return `The service is left alone for ${duration(step.delay ?? 0)}${of}`
    case "pending":
      return `Continues elsewhere${of}`
    case "fixing":
      return `The arguments are being repaired: ${because(step.error)}${of}`
    case "fixed":
      return `${fixes.get(step.answer ?? "") ?? "The repair ended"}${of}`
    case "fallback":
      return `Was done another way: ${because(step.error)}${of}`
    case "undone":
      return `Was undone${of}`
    case "not-happened":
      return `Was not done, so no compensation is needed${of}`
    case "not-undone":
      return `Could not be compensated: a person has to look at it${of}`
    case "escalated":
      return `The agent was informed, and decides${of}`
  }
}

/** A recovery in a few words, for the line of the call. */
export const recoverySummary = (steps: ReadonlyArray<RecoveryStep>): string | undefined => {
  const attempts = Math.max(
    0,
    ...steps.flatMap(({ attempt, kind, tool }) => kind === "attempt" && !tool ? [attempt ?? 0] : [])
  )
  const waited = steps.findLast(({ kind }) => kind === "retry")
  if (steps.some(({ kind }) => kind === "fallback")) return "done another way"
  if (steps.some(({ answer, kind }) => kind === "fixed" && answer === "arguments")) return "repaired"
  if (attempts > 2) return `${attempts} attempts`
  if (waited !== undefined) {
    return waited.delay === undefined || waited.delay < 1
      ? "tried again"
      : `tried again after ${duration(waited.delay)}`
  }
  return steps.some(({ kind }) => kind === "replayed") ? "done before" : undefined
}

/** Trouble with the model, while the answer is awaited. */
export const troubleSentence = ({ delay, kind }: ModelTrouble): string => {
  switch (kind) {
    case "retry":
      return delay === undefined || delay < 1
        ? "The model did not answer. It is asked again."
        : `The model did not answer. It is asked again in ${duration(delay)}.`
    case "fallback":
    case "substituted":
      return "The model did not answer. Another one is asked."
    case "correction":
      return "The answer had the wrong form. The model is asked to correct it."
    case "restart":
      return "The answer was cut off. The model begins again."
  }
}

const budgets: ReadonlyMap<string, string> = new Map([
  ["turns", "model calls"],
  ["toolCalls", "tool calls"],
  ["tokens", "tokens"],
  ["duration", "time"]
])

/** Used share of a budget. */
export const budgetSentence = ({ budget, limit, used }: Budget): string => {
  const what = budgets.get(budget) ?? humanized(budget).toLowerCase()
  const count = (value: number) => budget === "duration" ? duration(value) : value.toLocaleString("en")
  return used === undefined
    ? `The limit of ${what} was raised to ${count(limit)}`
    : `${count(used)} of ${count(limit)} ${what} are used`
}

const brief = (name: string, value: unknown): ReadonlyArray<string> => {
  if (typeof value === "string") return value.trim() === "" ? [] : [value]
  return typeof value === "number" ? [`${humanized(name).toLowerCase()} ${value}`] : []
}

/** The first arguments of a call, in short. */
export const argumentsSummary = (input: unknown): string => {
  if (typeof input === "string") return seen(input.slice(0, 90))
  if (typeof input !== "object" || input === null || Array.isArray(input)) return ""
  const text = Object.entries(input).flatMap(([name, value]) => brief(name, value)).slice(0, 3).join(" · ")
  return seen(text.length > 90 ? `${text.slice(0, 89)}…` : text)
}

/** Events of a call, step by step. Empty for one that succeeded at once. */
export const story = (steps: ReadonlyArray<RecoveryStep>, isDone: boolean): ReadonlyArray<{
  readonly kind: RecoveryStep["kind"] | "succeeded" | "unknown"
  readonly sentence: string
}> => {
  const told = steps.flatMap((step) => {
    const sentence = stepSentence(step)
    const kind = step.error === "OutcomeUnknown" && step.kind === "failed" ? "unknown" as const : step.kind
    return sentence === undefined ? [] : [{ kind, sentence }]
  })
  const last = steps.findLast(({ kind, tool }) => kind === "attempt" && tool === undefined)
  const isLast = last !== undefined && steps.indexOf(last) === steps.findLastIndex(({ tool }) => tool === undefined)
  return isDone && isLast && told.length > 0
    ? [...told, { kind: "succeeded", sentence: `Attempt ${last.attempt ?? ""} succeeded` }]
    : told
}

const decided: Readonly<Record<DecidedApproval["decision"], string>> = {
  approved: "Allowed",
  edited: "Edited",
  rejected: "Declined",
  responded: "Answered"
}

const plain = (value: unknown): string =>
  value === undefined ? "nothing" : typeof value === "string" ? quoted(value) : seen(JSON.stringify(value))

/** Author of a call's decision, in a few words for its line. */
export const decisionSummary = ({ by, decision }: DecidedApproval): string => {
  const word = decided[decision].toLowerCase()
  return by === undefined ? word : `${word} by ${by}`
}

/** A person's decision about a call, and the changes. */
export const decisionSentence = (approval: DecidedApproval): string => {
  const { by, decision, edits = [], reason } = approval
  const who = by === undefined ? decided[decision] : `${decided[decision]} by ${by}`
  const changes = edits.map(({ from, name, to }) => `${humanized(name).toLowerCase()} ${plain(from)} → ${plain(to)}`)
  if (changes.length > 0) return `${who}: ${changes.join(", ")}`
  return reason === undefined || reason === "" ? who : `${who}: ${reason}`
}
