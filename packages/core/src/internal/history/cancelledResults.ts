/**
 * Cancelled results: the results of an answer whose calls waited for a person, if the conversation continues without a
 * decision.
 */
import * as Prompt from "effect/ai/Prompt"
import * as Failures from "../projection/failures.ts"
import { byCode } from "../projection/codeTexts.ts"

/** An answer whose calls are not all done. */
export interface Unfinished {
  readonly calls: ReadonlyArray<{ readonly id: string; readonly name: string }>
  /** The results there are. */
  readonly results: Prompt.Prompt
  /** The outcome of a call that waits. */
  readonly outcomeOf: (callId: string) => "unknown" | "unanswered" | "not_made"
  readonly runId: string
}

/** The failure of a call that may have happened. */
export const unknownOutcome = (runId: string) => {
  const { code, instruction, message_for_model } = byCode("outcome_unknown")
  return { status: "error", code, message_for_model, safe_to_retry: false, instruction, trace_id: runId }
}

const failureOf = { unknown: unknownOutcome, unanswered: Failures.unanswered, not_made: Failures.waiting } as const

/** A result for each call: of one that waited, that it was not made, or that it may have been. */
export const calledOff = ({ calls, outcomeOf, results, runId }: Unfinished): Prompt.ToolMessage => {
  const known = new Map(
    results.content.flatMap((message) =>
      message.role !== "tool" ?
        [] :
        message.content.flatMap((part) => part.type === "tool-result" ? [[part.id, part] as const] : [])
    )
  )
  return Prompt.toolMessage({
    content: calls.map(({ id, name }) =>
      known.get(id) ?? Prompt.toolResultPart({
        id,
        name,
        isFailure: true,
        providerExecuted: false,
        result: failureOf[outcomeOf(id)](runId)
      })
    )
  })
}
