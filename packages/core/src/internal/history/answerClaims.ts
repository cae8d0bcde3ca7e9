/** Claims about calls: the recorded state of each call of a conversation, to compare an answer with it. */
import * as AiTool from "effect/ai/Tool"
import type * as Prompt from "effect/ai/Prompt"
import { notice } from "../../Quarantine.ts"
import { type CompensatedMark, compensatedMarks } from "../projection/compensatedMark.ts"

/**
 * Known state of a call.
 *
 * @category models
 * @since 0.2.0
 */
export interface Claim {
  readonly id: string
  readonly tool: string
  /** The arguments of the call; the repaired ones, if they were repaired. */
  readonly params: unknown
  /**
   * - `done`: it has a result, and the result is no failure.
   * - `failed`: it was not done.
   * - `unknown`: it may have been done, or a part of it was (`outcome_unknown`, `partial_success`,
   *   `idempotency_conflict`, `invalid_result`, `unsafe_output`; a failure without a code; no result; a failure of a
   *   tool that may write, unless the tool declares it as `not_done`; an answer of recovery after one of these), or it
   *   was done and may be compensated.
   * - `waits`: it waits for an approval, or its task still runs (`approval_required`, `ToolCall.pending`).
   * - `denied`: a policy or a person denied it (`permission_denied`).
   * - `substituted`: another source answered in its place, marked as `degraded`.
   * - `undone`: it was compensated, fully or in part.
   */
  readonly state: "done" | "failed" | "unknown" | "waits" | "denied" | "substituted" | "undone"
  /** The code of a failure that has one. */
  readonly code?: string
}

type State = Claim["state"]

/** States of codes; those of all other codes are `failed`. */
const states: ReadonlyMap<string, State> = new Map<string, State>([
  ["outcome_unknown", "unknown"],
  ["partial_success", "unknown"],
  ["idempotency_conflict", "unknown"],
  ["invalid_result", "unknown"],
  ["unsafe_output", "unknown"],
  ["approval_required", "waits"],
  ["permission_denied", "denied"]
])

const own = (value: unknown, key: string): unknown =>
  typeof value === "object" && value !== null && !Array.isArray(value) && Object.hasOwn(value, key)
    ? (value as Readonly<Record<string, unknown>>)[key]
    : undefined

/** True if a result is one with marks of the program, and no other fields. */
const hasMark = (result: unknown, ...marks: ReadonlyArray<string>): boolean =>
  marks.some((mark) => own(result, mark) !== undefined) && Object.hasOwn(result as object, "result") &&
  Object.keys(result as object).every((key) => key === "result" || marks.includes(key))

/** True if a result is marked as one that was to be compensated. */
const isMarked = (result: unknown, mark: CompensatedMark): boolean =>
  Array.isArray(own(result, mark)) &&
  (own(result, "notice") === notice || hasMark(result, ...compensatedMarks))

/** State of a call by its failure; one without a code leaves it unknown. */
const ofFailure = ({ options, result }: Prompt.ToolResultPart): Partial<Pick<Claim, "state" | "code">> => {
  const code = own(result, "code")
  if (typeof code === "string" && own(result, "may_be_undone") !== undefined) return { state: "unknown", code }
  const other = own(own(options, "recourse"), "uncertain") === true ? "unknown" : "failed"
  return typeof code === "string" ? { state: states.get(code) ?? other, code } : {}
}

const ofSuccess = ({ options, result }: Prompt.ToolResultPart): State => {
  if (own(own(options, "recourse"), "pendingOf") !== undefined) return "waits"
  if (isMarked(result, "may_be_undone")) return "unknown"
  if (isMarked(result, "undone")) return "undone"
  if (own(own(options, "recourse"), "uncertain") === true) return "unknown"
  return hasMark(result, "degraded") ? "substituted" : "done"
}

/** Returns the repaired arguments in the mark of a result. */
const repairedIn = ({ options }: Prompt.ToolResultPart, params: unknown): unknown => {
  const text = own(own(own(options, "recourse"), "repaired"), "arguments")
  if (typeof text !== "string") return params
  try {
    return AiTool.unsafeSecureJsonParse(text)
  } catch {
    return params
  }
}

/**
 * Returns the state of each call of a conversation, in their order: done, failed, or unknown. So a guard of the final
 * answer (`guardOutput`) can stop or change an answer that claims the success of a failed call.
 *
 * It reads only this library's own fields: whether a result is a failure, the failure's own code, and the marks of a
 * result. It ignores tools' answers, so that no untrusted text can claim that a call was done. Inner calls of agents
 * and tools are not listed: the outer call has the known state. Calls of earlier runs are listed if the conversation
 * has them. A person's value (`Approval.respond`), and a fallback's without the mark `degraded`, counts like the
 * tool's: `done`.
 *
 * **Example** (One payment was made, and another may have been)
 *
 * ```ts
 * import { Prompt } from "effect/ai"
 * import { History } from "@recourse/core"
 *
 * const pay = (id: string, order: number) =>
 *   Prompt.toolCallPart({ id, name: "pay", params: { order }, providerExecuted: false })
 * const result = (id: string, isFailure: boolean, result: unknown) =>
 *   Prompt.toolResultPart({ id, name: "pay", isFailure, result, providerExecuted: false })
 *
 * const claims = History.claims(Prompt.fromMessages([
 *   ...Prompt.make("Pay orders 7 and 8").content,
 *   Prompt.assistantMessage({ content: [pay("c1", 7), pay("c2", 8)] }),
 *   Prompt.toolMessage({ content: [result("c1", false, "Paid."), result("c2", true, { code: "outcome_unknown" })] })
 * ]))
 *
 * claims.map(({ id, state }) => [id, state]) // => [["c1", "done"], ["c2", "unknown"]]
 * ```
 *
 * @category getters
 * @since 0.2.0
 */
export const claims = (prompt: Prompt.Prompt): ReadonlyArray<Claim> => {
  const all: Array<Claim> = []
  const open = new Map<string, Array<number>>()
  for (const message of prompt.content) {
    if (message.role !== "assistant" && message.role !== "tool") continue
    for (const part of message.content) {
      if (part.type === "tool-call") {
        const { id, name: tool, params } = part
        open.set(id, [...open.get(id) ?? [], all.length])
        all.push({ id, tool, params, state: "unknown" })
      } else if (part.type === "tool-result") {
        const at = open.get(part.id)?.shift()
        if (at === undefined) continue
        const claim = all[at]!
        all[at] = {
          ...claim,
          params: repairedIn(part, claim.params),
          ...(part.isFailure ? ofFailure(part) : { state: ofSuccess(part) })
        }
      }
    }
  }
  return all
}
