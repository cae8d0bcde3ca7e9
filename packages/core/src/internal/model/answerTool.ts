/**
 * Answer tool: its arguments are the final answer, for providers without formats, or without formats together with
 * tools.
 */
import * as Response from "effect/ai/Response"
import * as AiTool from "effect/ai/Tool"
import * as Toolkit from "effect/ai/Toolkit"
import type { Format, Request } from "./modelRequest.ts"

const description = "Gives the final answer. Call it alone, when everything else is done."

/**
 * Returns a request that offers the answer tool instead of a format. `undefined` if a tool of the agent has its name.
 */
export const offering = ({ format, ...request }: Request & { readonly format: Format }): Request | undefined => {
  const { objectName: name } = format
  const { toolChoice, toolkit: { tools } } = request
  if (Object.hasOwn(tools, name) || toolChoice === "none") return undefined
  const answer = AiTool.make(name, { description, parameters: format.schema as never })
  return {
    ...request,
    toolkit: Toolkit.make(...Object.values(tools), answer) as unknown as Request["toolkit"],
    ...(typeof toolChoice === "object" && "oneOf" in toolChoice
      ? { toolChoice: { ...toolChoice, oneOf: [...toolChoice.oneOf, name] } }
      : undefined)
  }
}

const jsonOf = (params: unknown): string => typeof params === "string" ? params : JSON.stringify(params)

/**
 * Converts calls of the answer tool to the text of the answer: they are not executed, and the conversation needs no
 * results for them. For one answer, whole or in pieces.
 */
export const readAnswer = (
  name: string,
  isStreamed: boolean
): (parts: ReadonlyArray<Response.AnyPart>) => Array<Response.AnyPart> => {
  const streamed = new Set<string>()
  let isAnswered = false
  let hasCalls = false
  const textOf = ({ id, params }: { readonly id: string; readonly params: unknown }) =>
    isStreamed
      ? [
        Response.makePart("text-start", { id }),
        Response.makePart("text-delta", { id, delta: jsonOf(params) }),
        Response.makePart("text-end", { id })
      ]
      : [Response.makePart("text", { text: jsonOf(params) })]
  const read = (part: Response.AnyPart): ReadonlyArray<Response.AnyPart> => {
    switch (part.type) {
      case "tool-params-start":
        if (part.name !== name) return [part]
        streamed.add(part.id)
        return [Response.makePart("text-start", { id: part.id })]
      case "tool-params-delta":
        return streamed.has(part.id) ? [Response.makePart("text-delta", { id: part.id, delta: part.delta })] : [part]
      case "tool-params-end":
        return streamed.has(part.id) ? [Response.makePart("text-end", { id: part.id })] : [part]
      case "tool-call":
        if (part.name !== name || part.providerExecuted) {
          hasCalls = true
          return [part]
        }
        isAnswered = true
        return streamed.has(part.id) ? [] : textOf(part)
      case "finish":
        return [
          isAnswered && !hasCalls && part.reason === "tool-calls" ? { ...part, reason: "stop" } as typeof part : part
        ]
      default:
        return [part]
    }
  }
  return (parts) => parts.flatMap(read)
}
