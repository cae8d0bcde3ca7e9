/** Response parts of `effect/ai`: separates calls from content, gives each call an id of its own, and encodes parts in the form of providers. */
import * as Schema from "effect/Schema"
import * as Response from "effect/ai/Response"
import * as Toolkit from "effect/ai/Toolkit"
import { atFirstUse } from "../foundation/lazyValue.ts"
import { canonicalJson, deepJson } from "../foundation/json/canonicalJson.ts"
import { isDeeperThan, maxDepth } from "../foundation/json/jsonShape.ts"
import type * as Prompt from "effect/ai/Prompt"
import type { RequestedCall } from "../run/callResult.ts"
import { withoutUnkept } from "../path/path.ts"

/** True if a part is a call for the agent, and not one that the provider ran. */
export const isCall = (part: Response.AnyPart): part is Extract<Response.AnyPart, { readonly type: "tool-call" }> =>
  part.type === "tool-call" && !part.providerExecuted

/**
 * Converts arguments too deep for writers (events, spans, the next request) to their text, which shows them and is
 * refused for its depth.
 */
export const withShallowArguments = (part: Response.AnyPart): Response.AnyPart =>
  part.type === "tool-call" && isDeeperThan(part.params, maxDepth)
    ? { ...part, params: deepJson(part.params) }
    : part

/** True if a streamed part is content: from then on a restarted stream is visible. */
export const isContent = (part: { readonly type: string }): boolean => part.type !== "response-metadata"

/** The text of a part; none of other parts. */
export const textOf = (part: Response.AnyPart): string =>
  part.type === "text" ? part.text : part.type === "text-delta" ? part.delta : ""

/** Finish part of an answer, if its provider reported one. */
export const finishOf = (content: ReadonlyArray<Response.AnyPart>): Response.FinishPart | undefined =>
  content.find((part) => part.type === "finish")

/** The tokens of an answer that has ended like that. */
export const tokensOf = (
  finish: Response.FinishPart | undefined
): { readonly inputTokens: number; readonly outputTokens: number } => ({
  inputTokens: finish?.usage.inputTokens.total ?? 0,
  outputTokens: finish?.usage.outputTokens.total ?? 0
})

const encodeSimple = atFirstUse(() => Schema.encodeUnknownSync(Response.Part(Toolkit.empty)))
const encodeSimpleStream = atFirstUse(() => Schema.encodeUnknownSync(Response.StreamPart(Toolkit.empty)))

/** Encodes a call or a result in the form of a provider; `undefined` for other parts. */
export const encodeTool = (
  part: Response.AnyPart
): Response.ToolCallPartEncoded | Response.ToolResultPartEncoded | undefined => {
  if (part.type === "tool-call") {
    const { id, metadata, name, params, providerExecuted, type } = part
    return { type, id, name, params, providerExecuted, metadata }
  }
  if (part.type === "tool-result") {
    const { encodedResult, id, isFailure, metadata, name, preliminary, providerExecuted, type } = part
    return { type, id, name, result: encodedResult, isFailure, preliminary, providerExecuted, metadata }
  }
  return undefined
}

/** A decoded part as a provider would give it. */
export const encodePart = (part: Response.AnyPart): Response.PartEncoded => encodeTool(part) ?? encodeSimple()(part)

/** A decoded stream part as a provider would give it. */
export const encodeStreamPart = (part: Response.AnyPart): Response.StreamPartEncoded =>
  encodeTool(part) ?? encodeSimpleStream()(part)

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
