/** Gives every tool call of a run an id of its own, whatever the model sent. */
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import { canonicalJson } from "./canonicalJson.ts"
import type { RawCall } from "./modelCall.ts"
import { separator } from "./nested.ts"

const isSameCall = (a: RawCall, b: RawCall): boolean =>
  a.name === b.name && canonicalJson(a.params) === canonicalJson(b.params)

/** The ids of the calls in a conversation. */
export const callIdsIn = (prompt: Prompt.Prompt): ReadonlyArray<string> =>
  prompt.content.flatMap((message) =>
    message.role === "assistant" ? message.content.flatMap((part) => part.type === "tool-call" ? [part.id] : []) : []
  )

/**
 * Within one answer, a call that repeats another one's id, tool and arguments is the same call and is dropped. Any other
 * call whose id is empty or was seen before in the conversation gets a new id, so that each id has exactly one result.
 * No id holds what separates the ids of calls within calls.
 */
export const withUniqueIds = (
  content: ReadonlyArray<Response.AnyPart>,
  seen: Set<string>
): ReadonlyArray<Response.AnyPart> => {
  const inThisAnswer = new Map<string, Response.AnyPart & RawCall>()
  const kept: Array<Response.AnyPart> = []
  for (const sent of content) {
    if (sent.type !== "tool-call" || sent.providerExecuted) {
      kept.push(sent)
      continue
    }
    const part = sent.id.includes(separator) ? { ...sent, id: sent.id.replaceAll(separator, "_") } : sent
    if (part.id !== "" && !seen.has(part.id)) {
      seen.add(part.id)
      inThisAnswer.set(part.id, part)
      kept.push(part)
      continue
    }
    const first = inThisAnswer.get(part.id)
    if (part.id !== "" && first !== undefined && isSameCall(first, part)) continue
    let n = seen.size + 1
    const prefix = part.id === "" ? "call" : part.id
    while (seen.has(`${prefix}_${n}`)) n++
    const id = `${prefix}_${n}`
    seen.add(id)
    kept.push({ ...part, id })
  }
  return kept
}
