/** Kept calls of a conversation: a call is removed with its result, and with dependent parts. */
import * as Predicate from "effect/Predicate"
import * as Prompt from "effect/ai/Prompt"
import { taint, taintedBy } from "../../Quarantine.ts"
import { compensatedMarks } from "../projection/compensatedMark.ts"

/** A part of a prompt, by the number of its message and its own. */
type Place = readonly [message: number, part: number]

/** Kept calls: by their results, and whether calls without results, and results without calls, are kept too. */
interface Keeping {
  readonly keeps: (result: Prompt.ToolResultPart) => boolean
  readonly halves: boolean
}

/** The places of the calls that are kept, of their results, and of their approvals. */
const places = (
  messages: ReadonlyArray<Prompt.Message>,
  { halves, keeps }: Keeping
): ReadonlyArray<ReadonlySet<number>> => {
  const remainingPlaces = messages.map(() => new Set<number>())
  const open = new Map<string, Array<Place>>()
  const approvals = new Map<string, Array<Place>>()
  for (const [m, message] of messages.entries()) {
    if (message.role !== "assistant" && message.role !== "tool") continue
    for (const [p, part] of message.content.entries()) {
      if (part.type === "tool-call") {
        open.set(part.id, [[m, p]])
      } else if (part.type === "tool-approval-request") {
        const call = open.get(part.toolCallId)
        call?.push([m, p])
        if (call !== undefined) approvals.set(part.approvalId, call)
      } else if (part.type === "tool-approval-response") {
        approvals.get(part.approvalId)?.push([m, p])
      } else if (part.type === "tool-result") {
        const call = open.get(part.id)
        open.delete(part.id)
        if (call === undefined ? !halves : !keeps(part)) continue
        for (const [message, part] of [...call ?? [], [m, p] as const]) remainingPlaces[message]!.add(part)
      }
    }
  }
  if (halves) {
    for (const call of open.values()) {
      for (const [message, part] of call) remainingPlaces[message]!.add(part)
    }
  }
  return remainingPlaces
}

const isOfCall = (part: Prompt.AssistantMessagePart | Prompt.ToolMessagePart): boolean =>
  part.type === "tool-call" || part.type === "tool-result" || part.type === "tool-approval-request" ||
  part.type === "tool-approval-response"

const isBlank = (part: Prompt.AssistantMessagePart): boolean => part.type === "text" && part.text.trim() === ""

/** Rest of an answer that lost calls. Reasoning is removed if no call or text behind it remains. */
const remaining = (
  parts: ReadonlyArray<Prompt.AssistantMessagePart>,
  remainingParts: ReadonlySet<number>
): ReadonlyArray<Prompt.AssistantMessagePart> => {
  const left: Array<Prompt.AssistantMessagePart> = []
  let thoughts: Array<Prompt.ReasoningPart> = []
  for (const [p, part] of parts.entries()) {
    if (part.type === "reasoning") {
      if (parts[p - 1]?.type !== "reasoning") thoughts = []
      thoughts.push(part)
    } else if (isOfCall(part) ? remainingParts.has(p) : !isBlank(part)) {
      left.push(...thoughts, part)
      thoughts = []
    }
  }
  return left
}

/** A message without the removed calls and results; `undefined` if it is empty then. */
const pruned = (message: Prompt.Message, remainingParts: ReadonlySet<number>): Prompt.Message | undefined => {
  if (message.role !== "assistant" && message.role !== "tool") return message
  const { content, role } = message
  if (content.every((part, p) => !isOfCall(part) || remainingParts.has(p))) return message
  if (role === "tool") {
    const results = content.filter((_, p) => remainingParts.has(p))
    return results.length === 0 ? undefined : Prompt.toolMessage({ content: results, options: message.options })
  }
  const left = remaining(content, remainingParts)
  return left.length === 0 ? undefined : Prompt.assistantMessage({ content: left, options: message.options })
}

/** A conversation with only the kept calls. The mark of removed ones moves to the last message. */
const keepCalls = (prompt: Prompt.Prompt, keeping: Keeping): Prompt.Prompt => {
  const remainingPlaces = places(prompt.content, keeping)
  const messages: Array<Prompt.Message> = []
  let isGap = false
  for (const [m, message] of prompt.content.entries()) {
    const left = pruned(message, remainingPlaces[m]!)
    const last = messages.at(-1)
    if (left !== undefined && isGap && left.role === "assistant" && last?.role === "assistant") {
      messages[messages.length - 1] = Prompt.assistantMessage({
        content: [...last.content, ...left.content],
        options: { ...last.options, ...left.options }
      })
    } else if (left !== undefined) messages.push(left)
    isGap = left === undefined
  }
  return withTaintOf(prompt, Prompt.fromMessages(messages))
}

/** Rest of a conversation, with the marks of removed messages on its last message. */
export const withTaintOf = (before: Prompt.Prompt, left: Prompt.Prompt): Prompt.Prompt => {
  const marked = taintedBy(left)
  return taint(left, taintedBy(before).filter((tool) => !marked.includes(tool)))
}

/**
 * Returns a conversation without the tool calls that failed: each is removed with its result. The next turn of a chat
 * starts from known facts, and no model learns from failed calls.
 *
 * The rest is well formed: each call has exactly one result and each result its call, in the original order. So calls
 * without a result are removed too. Successful calls stay, also in an answer with a failed one, and so does its text.
 * Reasoning is removed if no call or text behind it remains, because providers refuse it alone. An empty message is
 * removed; answers around a removed one are joined. Calls that the provider executed are treated alike. Messages of
 * users and of the system do not change.
 *
 * A failure may say that something was done all the same (`outcome_unknown`, `partial_success`): it goes too. Let the
 * conversation hear of it in another way, or keep it whole.
 *
 * A tainted conversation stays tainted (`Quarantine.taintedBy`): the mark of removed messages moves to the last
 * message.
 *
 * **Example** (One of two calls failed)
 *
 * ```ts
 * import { Prompt } from "effect/ai"
 * import { History } from "@recourse/core"
 *
 * const call = (id: string) => Prompt.toolCallPart({ id, name: "find", params: {}, providerExecuted: false })
 * const result = (id: string, isFailure: boolean) =>
 *   Prompt.toolResultPart({ id, name: "find", isFailure, result: "…", providerExecuted: false })
 *
 * const history = History.withoutFailedCalls(Prompt.fromMessages([
 *   Prompt.userMessage({ content: [Prompt.textPart({ text: "Where are they?" })] }),
 *   Prompt.assistantMessage({ content: [call("c1"), call("c2")] }),
 *   Prompt.toolMessage({ content: [result("c1", true), result("c2", false)] }),
 *   Prompt.assistantMessage({ content: [call("c3")] }),
 *   Prompt.toolMessage({ content: [result("c3", true)] }),
 *   Prompt.assistantMessage({ content: [Prompt.textPart({ text: "I found one." })] })
 * ]))
 *
 * history.content.map(({ role }) => role) // => ["user", "assistant", "tool", "assistant"]
 * history.content.flatMap(({ content }) => typeof content === "string" ? [] : content.map((part) => "id" in part ? part.id : part.type))
 * // => ["text", "c2", "c2", "text"]
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const withoutFailedCalls = (prompt: Prompt.Prompt): Prompt.Prompt =>
  keepCalls(prompt, { keeps: ({ isFailure }) => !isFailure, halves: false })

/** A conversation without the calls of some ids, and all else as in {@link withoutFailedCalls}. Halves of other calls stay. */
export const withoutCalls = (prompt: Prompt.Prompt, ids: ReadonlySet<string>): Prompt.Prompt =>
  ids.size === 0 ? prompt : keepCalls(prompt, { keeps: ({ id }) => !ids.has(id), halves: true })

/** The results in messages, those of a provider's own tools included. */
export const resultsIn = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<Prompt.ToolResultPart> =>
  messages.flatMap((message) =>
    message.role !== "tool" && message.role !== "assistant" ?
      [] :
      message.content.filter((part) => part.type === "tool-result")
  )

/** True if a result is marked as compensated, or as possibly compensated. */
export const isMarkedCompensated = ({ result }: Prompt.ToolResultPart): boolean =>
  compensatedMarks.some((mark) => Predicate.hasProperty(result, mark))
