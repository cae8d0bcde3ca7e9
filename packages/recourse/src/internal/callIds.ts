/** Gives every tool call of a run an id of its own, whatever the model sent. */
import type { Response } from "effect/ai"
import { canonicalJson } from "./canonicalJson.ts"

/**
 * Within one answer, a call that repeats another one's id, tool and arguments is the same call and is dropped. Any other
 * call whose id is empty or was seen before in the run gets a new id, so that each id has exactly one result.
 */
export const withUniqueIds = (
  content: ReadonlyArray<Response.AnyPart>,
  seen: Set<string>
): ReadonlyArray<Response.AnyPart> => {
  const inThisAnswer = new Map<string, string>()
  const kept: Array<Response.AnyPart> = []
  for (const part of content) {
    if (part.type !== "tool-call" || part.providerExecuted) {
      kept.push(part)
      continue
    }
    if (part.id !== "" && !seen.has(part.id)) {
      seen.add(part.id)
      inThisAnswer.set(part.id, canonicalJson([part.name, part.params]))
      kept.push(part)
      continue
    }
    if (part.id !== "" && inThisAnswer.get(part.id) === canonicalJson([part.name, part.params])) continue
    let n = seen.size + 1
    const prefix = part.id === "" ? "call" : part.id
    while (seen.has(`${prefix}_${n}`)) n++
    const id = `${prefix}_${n}`
    seen.add(id)
    kept.push({ ...part, id })
  }
  return kept
}
