/** Transcript: the conversation of one agent, an append-only list of messages. */
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import type * as Response from "effect/ai/Response"
import { marked } from "../../Quarantine.ts"
import type { CompensatedMark } from "../projection/compensatedMark.ts"
import type { CallResult } from "./callResult.ts"

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

export type { CompensatedMark } from "../projection/compensatedMark.ts"

/** Options of a result for the history of a run, not for models. */
const optionsOf = ({ uncertain, pendingOf, repaired, taints }: CallResult): Prompt.ProviderOptions => {
  if (repaired === undefined && pendingOf === undefined && taints === undefined && uncertain === undefined) return {}
  return {
    recourse: {
      ...(repaired === undefined ? undefined : { repaired }),
      ...(pendingOf === undefined ? undefined : { pendingOf }),
      ...(taints === undefined ? undefined : { taintedBy: taints }),
      ...(uncertain === undefined ? undefined : { uncertain })
    }
  }
}

/** The message that gives a model the results of calls, in the order of the calls. */
export const resultsMessage = (results: ReadonlyArray<CallResult>): Prompt.ToolMessage =>
  message(
    "tool",
    results.map((result) => {
      const { call: { id, name }, encoded, isFailure, modelOutput } = result
      const part = toolResultPart(id, name, isFailure, encoded, optionsOf(result))
      return modelOutput === undefined ? part : { ...part, modelOutput }
    })
  )

const Tools = Schema.Array(Schema.String)
const isCompensated = Schema.is(Schema.Struct({ undone: Tools }))
const mayBeCompensated = Schema.is(Schema.Struct({ may_be_undone: Tools }))

/** The tools of a result's mark. */
const toolsOfMark = (result: unknown, name: CompensatedMark): ReadonlyArray<string> =>
  name === "undone"
    ? isCompensated(result) ? result.undone : []
    : mayBeCompensated(result)
    ? result.may_be_undone
    : []

const compensatedPart = (part: Prompt.ToolResultPart, tool: string, name: CompensatedMark): Prompt.ToolResultPart => {
  const { isFailure, modelOutput, result } = part
  const known = toolsOfMark(result, name)
  if (known.length > 0) return { ...part, result: { ...result as object, [name]: [...known, tool] } }
  const mark = { [name]: [tool] }
  // An envelope stays one, and a failure.
  const isWrapped = isCompensated(result) || mayBeCompensated(result) ||
    (typeof result === "object" && result !== null && Object.hasOwn(result, "untrusted"))
  return {
    ...part,
    result: isFailure || isWrapped ? { ...result as object, ...mark } : { ...mark, result },
    ...(modelOutput === undefined
      ? undefined
      : { modelOutput: [Prompt.textPart({ text: JSON.stringify(mark) }), ...modelOutput] })
  }
}

/** A message after the compensation of a call. */
const compensatedIn = (
  message: Prompt.Message,
  callId: string,
  tool: string,
  mark: CompensatedMark
): Prompt.Message => {
  if (message.role !== "tool") return message
  const content = message.content.map((part) =>
    part.type === "tool-result" && part.id === callId ? compensatedPart(part, tool, mark) : part
  )
  return content.some((part, at) => part !== message.content[at]) ? { ...message, content } : message
}

/** A conversation after the compensation of some of its calls. */
export const withCompensatedMarks = (
  prompt: Prompt.Prompt,
  compensations: ReadonlyArray<{ readonly root: string; readonly tool: string; readonly mark: CompensatedMark }>
): Prompt.Prompt =>
  compensations.length === 0 ? prompt : Prompt.fromMessages(
    compensations.reduce<ReadonlyArray<Prompt.Message>>(
      (messages, { mark, root, tool }) => messages.map((message) => compensatedIn(message, root, tool, mark)),
      prompt.content
    )
  )

/** The own field of the options of a message, or of a part of one. */
export const markIn = (
  { options: { recourse } }: { readonly options: Prompt.ProviderOptions },
  name: string
): unknown =>
  typeof recourse === "object" && recourse !== null && Object.hasOwn(recourse, name)
    ? (recourse as Readonly<Record<string, unknown>>)[name]
    : undefined

/** The option of a user's message that holds the context that its page has added. */
export const requestContextKey = "requestContext"

/** True if a page has added context to a message of the user. */
export const hasRequestContext = ({ content }: Prompt.Prompt): boolean =>
  content.some((message) => message.role === "user" && markIn(message, requestContextKey) !== undefined)

export class Transcript {
  private readonly messages: Array<Prompt.Message> = []

  /** Number of messages. */
  get length(): number {
    return this.messages.length
  }

  /** Adds the text of an interrupted answer that people have been shown. */
  cutOff(text: string, taintedBy: ReadonlyArray<string>): void {
    if (text === "") return
    this.messages.push(Prompt.assistantMessage({
      content: [Prompt.textPart({ text })],
      options: marked({ recourse: { cutOff: true } }, taintedBy)
    }))
  }

  private get isCutOff(): boolean {
    const last = this.messages.at(-1)
    return last?.role === "assistant" && markIn(last, "cutOff") === true
  }

  /** The answer that was cut off begins again. */
  forgetCutOff(): void {
    if (this.isCutOff) this.messages.pop()
  }

  /**
   * Returns a prompt of everything that a resumed run continues with: without an interrupted answer, which the model
   * writes again.
   */
  resumable(): Prompt.Prompt {
    return this.snapshot(this.isCutOff ? this.length - 1 : this.length)
  }

  /** A prompt of everything so far, or of the first messages, which later messages do not change. */
  snapshot(length = this.messages.length): Prompt.Prompt {
    return Prompt.fromMessages(this.messages.slice(0, length))
  }

  /** The last message that fulfils a condition. */
  findLast(condition: (message: Prompt.Message) => boolean): Prompt.Message | undefined {
    return this.messages.findLast(condition)
  }

  system(text: string): void {
    this.messages.push(message<Prompt.SystemMessage>("system", text))
  }

  prompt(prompt: Prompt.Prompt): void {
    for (const message of prompt.content) this.messages.push(message)
  }

  /** True if a tool has started a task that continues after its call. */
  hasPending(tool: string): boolean {
    return this.messages.some((message) =>
      message.role === "tool" && message.content.some((part) => markIn(part, "pendingOf") === tool)
    )
  }

  /** A message of any role, with its options. */
  add(message: Prompt.Message): void {
    this.messages.push(message)
  }

  user(text: string): void {
    this.messages.push(message<Prompt.UserMessage>("user", [textPart(text)]))
  }

  /** A complete answer of the model. `taintedBy`: untrusted tools whose text it has read. */
  assistant(content: ReadonlyArray<Response.AnyPart>, taintedBy: ReadonlyArray<string>): void {
    for (const message of messagesOf(content)) {
      this.messages.push(
        taintedBy.length === 0
          ? message
          : { ...message, options: marked(message.options, taintedBy) } as Prompt.Message
      )
    }
  }

  /** An answer that the program gave in the model's place. */
  synthetic(text: string): void {
    this.messages.push(Prompt.assistantMessage({
      content: [Prompt.textPart({ text })],
      options: { recourse: { synthetic: true } }
    }))
  }

  /** Removes the model's last answer. */
  retractAnswer(): void {
    while (this.messages.at(-1)?.role === "assistant") this.messages.pop()
  }

  /** Marks a call as compensated, or possibly compensated: readers of its result read the mark too. */
  undone(callId: string, tool: string, mark: CompensatedMark): void {
    for (const [index, message] of this.messages.entries()) {
      this.messages[index] = compensatedIn(message, callId, tool, mark)
    }
  }

  /** Restarts. */
  clear(): void {
    this.messages.length = 0
  }

  /** The results of a round of calls, in the order of the calls. */
  results(results: ReadonlyArray<CallResult>): void {
    this.messages.push(resultsMessage(results))
  }
}
