/**
 * Prompt parts of calls and results, made like by `Prompt.makePart`. That writes its mark under a computed name, which
 * takes V8 longer than all else in a part: for answers of many calls, 5 % of a run.
 */
import * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"

const mark = "~effect/ai/Prompt/Part"

/** A text, for the history. */
export const textPart = (text: string, options: Prompt.ProviderOptions = {}): Prompt.TextPart => ({
  text,
  options,
  "~effect/ai/Prompt/Part": mark,
  type: "text"
})

/** A message with these parts, or with the text of the system. */
export const message = <Message extends Prompt.Message>(
  role: Message["role"],
  content: Message["content"],
  options: Prompt.ProviderOptions = {}
): Message =>
  ({ content, "~effect/ai/Prompt/Message": "~effect/ai/Prompt/Message", role, options }) as unknown as Message

/** The result of a call, for the history. */
export const toolResultPart = (
  id: string,
  name: string,
  isFailure: boolean,
  result: unknown,
  options: Prompt.ProviderOptions
): Prompt.ToolResultPart => ({
  id,
  name,
  isFailure,
  result,
  providerExecuted: false,
  options,
  "~effect/ai/Prompt/Part": mark,
  type: "tool-result"
})

const toolCallPart = ({ id, metadata, name, params, providerExecuted }: Response.AnyPart & { type: "tool-call" }) =>
  ({
    id,
    name,
    params,
    providerExecuted: providerExecuted ?? false,
    options: metadata ?? {},
    "~effect/ai/Prompt/Part": mark,
    type: "tool-call"
  }) satisfies Prompt.ToolCallPart

/** The parts of an answer of texts and calls; `undefined` if it has others. */
const plainParts = (
  content: ReadonlyArray<Response.AnyPart>
): ReadonlyArray<Prompt.AssistantMessagePart> | undefined => {
  const parts: Array<Prompt.AssistantMessagePart> = []
  for (const part of content) {
    switch (part.type) {
      case "tool-call":
        parts.push(toolCallPart(part))
        break
      case "text":
        parts.push(textPart(part.text, part.metadata))
        break
      case "finish":
      case "response-metadata":
        break
      default:
        return undefined
    }
  }
  return parts
}

/** The messages of an answer, made like by `Prompt.fromResponseParts`. */
export const messagesOf = (content: ReadonlyArray<Response.AnyPart>): ReadonlyArray<Prompt.Message> => {
  const parts = plainParts(content)
  if (parts === undefined) return Prompt.fromResponseParts(content).content
  return parts.length === 0 ? [] : [message<Prompt.AssistantMessage>("assistant", parts)]
}
