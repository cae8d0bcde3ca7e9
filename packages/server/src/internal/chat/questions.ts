/** Questions: calls that pages decide about. Their ids name a run, the number of its pauses, and a call. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import * as Approval from "@recourse/core/Approval"
import type { Pending } from "@recourse/core/AgentEvent"

/** Identifies a question. */
export interface Question {
  readonly runId: string
  readonly segment: number
  readonly callId: string
}

/** A person's decision about a waiting call, without the call's arguments: those are the run's own. */
export type Answer =
  | { readonly decision: "approve" }
  | { readonly decision: "reject"; readonly reason?: string | undefined }
  | { readonly decision: "edit"; readonly arguments: { readonly [key: string]: Schema.Json } }
  | { readonly decision: "respond"; readonly result: Schema.Json }
  | { readonly decision: "fail"; readonly error: Schema.Json }

/** Answers to questions of one run. */
export type Answers = ReadonlyArray<readonly [question: Question, answer: Answer]>

const separator = ":"

/** The id under which a page decides. */
export const questionId = ({ callId, runId, segment }: Question): string => [runId, segment, callId].join(separator)

/** Returns the parts of a question's id. */
export const questionOf = (id: string): Question | undefined => {
  const [runId, segment, ...call] = id.split(separator)
  if (runId === undefined || segment === undefined || call.length === 0 || !/^\d{1,9}$/.test(segment)) return undefined
  return { runId, segment: Number(segment), callId: call.join(separator) }
}

const decisionOf = (call: typeof Pending.Type, answer: Answer, by: string): Approval.Decision => {
  switch (answer.decision) {
    case "approve":
      return Approval.approve(call, { by })
    case "reject":
      return Approval.reject(call, answer.reason ?? "The user declined.", { by })
    case "edit":
      return Approval.edit(call, answer.arguments, { by })
    case "respond":
      return Approval.respond(call, answer.result, { by })
    case "fail":
      return Approval.fail(call, answer.error, { by })
  }
}

/** The decisions that answers are: one about a call within which others wait is about each of them. */
export const decisionsOf = (
  pending: ReadonlyArray<typeof Pending.Type>,
  answers: Answers,
  by: string
): Effect.Effect<ReadonlyArray<Approval.Decision>, Approval.DecisionRefused> => {
  const decisions: Array<Approval.Decision> = []
  for (const [{ callId }, answer] of answers) {
    const about = pending.filter((call) => call.callId === callId || call.callId.startsWith(`${callId}/`))
    if (about.length === 0) return Effect.fail(new Approval.DecisionRefused({ reason: "unknown_call", callId }))
    for (const call of about) decisions.push(decisionOf(call, answer, by))
  }
  return Effect.succeed(decisions)
}
