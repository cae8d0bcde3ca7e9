/** Call ids: gives every tool call of a run its own id, whatever the model sent. */
import type * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import { canonicalJson } from "../foundation/json/canonicalJson.ts"
import type { RequestedCall } from "../run/callResult.ts"
import { withoutUnkept } from "../path/path.ts"
import { isCall } from "../model/responseParts.ts"

const isSameCall = (a: RequestedCall, b: RequestedCall): boolean =>
  a.name === b.name && canonicalJson(a.params) === canonicalJson(b.params)

/** The ids of the calls in a conversation. */
export const callIdsIn = (prompt: Prompt.Prompt): ReadonlyArray<string> =>
  prompt.content.flatMap((message) =>
    message.role === "assistant" ? message.content.flatMap((part) => part.type === "tool-call" ? [part.id] : []) : []
  )

type Call = Response.AnyPart & RequestedCall

/** The first call with each id that the model sent. */
const firstById = (content: ReadonlyArray<Response.AnyPart>): ReadonlyMap<string, Call> =>
  new Map(content.filter(isCall).toReversed().map((call) => [call.id, call]))

/**
 * Within one answer, a call that repeats another one's id, tool and arguments is the same call and is dropped. Any
 * other call with an empty or repeated id of the conversation gets a new id, so that each id has exactly one result. No
 * id contains the separator of inner ids, nor characters that databases do not store. Returns the rest, and its calls.
 */
export const withUniqueIds = (
  sent: ReadonlyArray<Response.AnyPart>,
  seen: Set<string>
): { readonly content: ReadonlyArray<Response.AnyPart>; readonly calls: ReadonlyArray<RequestedCall> } => {
  let firsts: ReadonlyMap<string, Call> | undefined
  const content: Array<Response.AnyPart> = []
  const calls: Array<RequestedCall> = []
  const keep = (call: Call): void => {
    seen.add(call.id)
    content.push(call)
    calls.push(call)
  }
  for (const part of sent) {
    if (!isCall(part)) {
      content.push(part)
      continue
    }
    const id = withoutUnkept(part.id)
    if (id !== "" && !seen.has(id)) {
      keep(id === part.id ? part : { ...part, id })
      continue
    }
    firsts ??= firstById(sent)
    const first = firsts.get(part.id)!
    if (id !== "" && first !== part && isSameCall(first, part)) continue
    let n = seen.size + 1
    const prefix = id === "" ? "call" : id
    while (seen.has(`${prefix}_${n}`)) n++
    keep({ ...part, id: `${prefix}_${n}` })
  }
  return { content, calls }
}
