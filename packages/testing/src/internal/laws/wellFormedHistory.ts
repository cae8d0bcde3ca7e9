/** Well-formed history: each call of a conversation has exactly one result, in order. */
import type { Prompt } from "effect/ai"
import { moreThan } from "./law.ts"

/** The ids of a message's calls or results, without those that a provider has executed. */
export const idsIn = (message: Prompt.Message, type: "tool-call" | "tool-result"): ReadonlyArray<string> =>
  typeof message.content === "string" ?
    [] :
    (message.content as ReadonlyArray<Prompt.Part>).flatMap((part) =>
      part.type === type && part.providerExecuted !== true ? [part.id] : []
    )

/**
 * Faults of a conversation: calls without their results behind them, results without calls, ids used twice. `waiting`
 * are the calls that may be at its end without results.
 *
 * @category getters
 * @since 0.2.0
 */
export const problemsOfHistory = (
  prompt: Prompt.Prompt,
  waiting: ReadonlyArray<string> = []
): ReadonlyArray<string> => {
  const problems: Array<string> = []
  const messages = prompt.content
  let open: ReadonlyArray<string> = []
  for (const message of messages) {
    const results = message.role === "tool" ? idsIn(message, "tool-result") : []
    if (message.role === "tool" || open.length > 0) {
      if (JSON.stringify(results) !== JSON.stringify(open)) {
        problems.push(`calls [${open.join(", ")}] are followed by results [${results.join(", ")}]`)
      }
    }
    open = message.role === "assistant" ? idsIn(message, "tool-call") : []
  }
  if (JSON.stringify(open) !== JSON.stringify(waiting)) {
    problems.push(
      `calls [${open.join(", ")}] have no results${waiting.length > 0 ? `, not [${waiting.join(", ")}]` : ""}`
    )
  }
  const calls = messages.flatMap((message) => message.role === "assistant" ? idsIn(message, "tool-call") : [])
  for (const [id] of moreThan(calls, 1)) problems.push(`call id ${id} is used twice`)
  return problems
}
