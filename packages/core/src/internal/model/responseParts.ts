/** Response parts of `effect/ai`: tells calls from content, and encodes parts as providers give them. */
import * as Schema from "effect/Schema"
import * as Response from "effect/ai/Response"
import * as Toolkit from "effect/ai/Toolkit"
import { atFirstUse } from "../foundation/lazyValue.ts"
import { deepJson } from "../foundation/json/canonicalJson.ts"
import { isDeeperThan, maxDepth } from "../foundation/json/jsonShape.ts"

/** Whether a part is a call that the agent is to run, and not one that the provider ran. */
export const isCall = (part: Response.AnyPart): part is Extract<Response.AnyPart, { readonly type: "tool-call" }> =>
  part.type === "tool-call" && !part.providerExecuted

/**
 * A call whose arguments are too deep for what writes them (events, spans, the next request) has them as text, which says what
 * they were and is refused as too deep.
 */
export const withShallowArguments = (part: Response.AnyPart): Response.AnyPart =>
  part.type === "tool-call" && isDeeperThan(part.params, maxDepth)
    ? { ...part, params: deepJson(part.params) }
    : part

/** Whether a streamed part is content: from then on a stream cannot be started again unseen. */
export const isContent = (part: { readonly type: string }): boolean => part.type !== "response-metadata"

/** The text of a part; none of other parts. */
export const textOf = (part: Response.AnyPart): string =>
  part.type === "text" ? part.text : part.type === "text-delta" ? part.delta : ""

/** How an answer has ended, as its provider reported it. */
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

/** A part that is a call or a result as a provider would give it; nothing for other parts. */
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
