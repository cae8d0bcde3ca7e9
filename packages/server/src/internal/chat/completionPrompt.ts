/** Conversations of chat completions: a client's stored messages, converted for a model. */
import * as Effect from "effect/Effect"
import * as Prompt from "effect/ai/Prompt"
import { notice } from "@recourse/core/Quarantine"
import type { CompletionMessage, ContentPart } from "../api/requests.ts"
import { BadRequest } from "../http/errors.ts"
import { filePart } from "./files.ts"
import { isBlank, userMessage } from "./userMessage.ts"

type Message = typeof CompletionMessage.Type

type Assistant = Extract<Message, { readonly role: "assistant" }>

type ToolMessage = Extract<Message, { readonly role: "tool" }>

const text = (text: string): Prompt.TextPart => Prompt.makePart("text", { text })

const partOf = (
  part: typeof ContentPart.Type,
  param: string
): Effect.Effect<Prompt.TextPart | Prompt.FilePart, BadRequest> => {
  switch (part.type) {
    case "text":
      return Effect.succeed(text(part.text))
    case "image_url":
      return filePart({ url: part.image_url.url }, param)
    case "file":
      return filePart({ url: part.file.file_data, fileName: part.file.filename }, param)
  }
}

const json = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** An assistant's text, and its calls. */
const assistant = ({ content, refusal, tool_calls: calls }: Assistant): Prompt.Message | undefined => {
  const said = typeof content === "string" ?
    [content] :
    (content ?? []).map((part) => part.type === "text" ? part.text : part.refusal)
  if (typeof refusal === "string") said.push(refusal)
  const parts = [
    ...said.filter((one) => one.trim() !== "").map(text),
    ...(calls ?? []).map(({ function: { arguments: args, name }, id }) =>
      Prompt.makePart("tool-call", { id, name, params: json(args), providerExecuted: false })
    )
  ]
  return parts.length === 0 ? undefined : Prompt.makeMessage("assistant", { content: parts })
}

/** A result that the client gives: its source is unknown, so it is untrusted. */
const result = (name: string, { content, tool_call_id: id }: ToolMessage): Prompt.Message => {
  const given = typeof content === "string" ? content : (content ?? []).map(({ text }) => text).join("")
  const source = `the client's history (${name})`
  const envelope = { untrusted: true, source, call_id: id, trace_id: "", notice, content: given }
  const part = Prompt.makePart("tool-result", {
    id,
    name,
    isFailure: false,
    result: envelope,
    providerExecuted: false
  })
  return Prompt.makeMessage("tool", { content: [part] })
}

/**
 * The conversation of a request. System messages of a client are the user's: instructions are the agent's own. Clients
 * send an empty system message, and repeat empty ones: they are left out. Fails with `BadRequest` if the last message is
 * empty, for a result without its call, and for a file that is no `data:` address.
 */
export const promptOf = Effect.fnUntraced(
  function*(messages: ReadonlyArray<Message>): Effect.fn.Return<Prompt.Prompt, BadRequest> {
    const names = new Map<string, string>()
    const made: Array<Prompt.Message> = []
    for (const [index, message] of messages.entries()) {
      const param = `messages[${index}]`
      switch (message.role) {
        case "assistant": {
          for (const call of message.tool_calls ?? []) names.set(call.id, call.function.name)
          const said = assistant(message)
          if (said !== undefined) made.push(said)
          break
        }
        case "tool": {
          const name = names.get(message.tool_call_id)
          if (name === undefined) {
            const problem = `${param}.tool_call_id: no message before it has a call of this id`
            return yield* new BadRequest({ problem, param: `${param}.tool_call_id` })
          }
          made.push(result(name, message))
          break
        }
        default: {
          const { content } = message
          const parts = typeof content === "string"
            ? [text(content)]
            : yield* Effect.forEach(content, (part, at) => partOf(part, `${param}.content[${at}]`))
          const isLast = index === messages.length - 1
          if (isLast || !isBlank(parts)) made.push(yield* userMessage(parts, `${param}.content`))
        }
      }
    }
    return Prompt.fromMessages(made)
  }
)
