/** Mending: a conversation that was cut elsewhere, with exactly one result directly behind each call. */
import * as Prompt from "effect/ai/Prompt"
import * as Schema from "effect/Schema"
import { byCode } from "../projection/codeTexts.ts"
import { withTaintOf } from "./remainingCalls.ts"

/**
 * Fault of a call in a conversation, and its repair:
 *
 * - `call_without_result`: it was given a result, which says that the call may have happened (`outcome_unknown`).
 * - `result_without_call`: the result was removed, because its call is missing, or the call has another one.
 * - `result_out_of_place`: the result was moved to its call, because providers require it directly behind.
 * - `repeated_id`: an earlier call has the id, or the id is empty: the call and its result were given another one.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Mending = Schema.Struct({
  problem: Schema.Literals(["call_without_result", "result_without_call", "result_out_of_place", "repeated_id"]),
  /** The id that the conversation has now; of a result that was taken out, the one that it had. */
  callId: Schema.String,
  tool: Schema.String
})

/**
 * Fault of a call in a conversation.
 *
 * @category models
 * @since 0.2.0
 */
export type Mending = typeof Mending.Type

/**
 * A conversation that can be sent, and its repaired faults.
 *
 * @category models
 * @since 0.2.0
 */
export interface Mended {
  readonly prompt: Prompt.Prompt
  /** Empty: the conversation is as it was. */
  readonly mended: ReadonlyArray<Mending>
}

/** A call of the agent's own, and the result that it has. */
interface Slot {
  readonly message: number
  readonly part: Prompt.ToolCallPart
  readonly id: string
  result: { readonly part: Prompt.ToolResultPart; readonly message: number } | undefined
}

const mark = (options: Prompt.ProviderOptions, problem: Mending["problem"]): Prompt.ProviderOptions => ({
  ...options,
  recourse: {
    ...(typeof options["recourse"] === "object" && !Array.isArray(options["recourse"])
      ? options["recourse"]
      : undefined),
    mended: problem
  }
})

/** A call or a result under another id, because an earlier call has its own. */
export const renamed = <Part extends Prompt.ToolCallPart | Prompt.ToolResultPart>(part: Part, id: string): Part => ({
  ...part,
  id,
  options: mark(part.options, "repeated_id")
})

/** An id that no earlier call has. */
export const freeId = (ids: ReadonlySet<string>, wanted: string): string => {
  let id = wanted
  for (let n = 2; id === "" || ids.has(id); n++) id = `${wanted === "" ? "call" : wanted}_${n}`
  return id
}

const unknownResult = ({ id, part: { name } }: Slot): Prompt.ToolResultPart => {
  const { code, instruction, message_for_model } = byCode("outcome_unknown")
  return Prompt.toolResultPart({
    id,
    name,
    isFailure: true,
    providerExecuted: false,
    result: { status: "error", code, message_for_model, safe_to_retry: false, instruction },
    options: mark({}, "call_without_result")
  })
}

/** The number of the answer before the results: they may be in several messages. */
const groupsOf = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<number> => {
  let answer = -1
  return messages.map(({ role }, m) => {
    if (role !== "tool") answer = role === "assistant" ? m : -1
    return answer
  })
}

class Mender {
  readonly mended: Array<Mending> = []
  private readonly messages: ReadonlyArray<Prompt.Message>
  private readonly groups: ReadonlyArray<number>
  private readonly slots = new Map<number, Array<Slot>>()
  private readonly byPart = new Map<Prompt.ToolCallPart, Slot>()
  private readonly ids = new Set<string>()
  private readonly open = new Map<string, Array<Slot>>()
  private readonly touched = new Set<number>()

  constructor(messages: ReadonlyArray<Prompt.Message>) {
    this.messages = messages
    this.groups = groupsOf(messages)
    for (const [m, message] of messages.entries()) {
      if (message.role === "assistant") { for (const part of message.content) this.readCall(m, part) }
      if (message.role === "tool") { for (const part of message.content) this.readResult(m, part) }
    }
    for (const [m, slots] of this.slots) for (const slot of slots) this.close(m, slot)
  }

  private note(problem: Mending["problem"], callId: string, tool: string): void {
    this.mended.push({ problem, callId, tool })
  }

  private readCall(m: number, part: Prompt.AssistantMessagePart): void {
    if (part.type !== "tool-call" || part.providerExecuted) return
    const id = freeId(this.ids, part.id)
    this.ids.add(id)
    const slot: Slot = { message: m, part, id, result: undefined }
    if (id !== part.id) {
      this.note("repeated_id", id, part.name)
      this.touched.add(m)
    }
    this.byPart.set(part, slot)
    this.slots.set(m, [...this.slots.get(m) ?? [], slot])
    this.open.set(part.id, [...this.open.get(part.id) ?? [], slot])
  }

  private readResult(m: number, part: Prompt.ToolMessagePart): void {
    if (part.type !== "tool-result") return
    const open = this.open.get(part.id) ?? []
    const last = open.at(-1)
    // Of an answer that has an id twice the first call comes first; of two answers the last one.
    const slot = open.find(({ message }) => message === last?.message)
    if (slot === undefined) {
      this.note("result_without_call", part.id, part.name)
      if (this.groups[m] !== -1) this.touched.add(this.groups[m]!)
      return
    }
    this.open.set(part.id, open.filter((other) => other !== slot))
    slot.result = { part, message: m }
  }

  private close(m: number, slot: Slot): void {
    if (slot.result === undefined) this.note("call_without_result", slot.id, slot.part.name)
    else if (this.groups[slot.result.message] !== m) this.note("result_out_of_place", slot.id, slot.part.name)
    else return
    this.touched.add(m)
    if (slot.result !== undefined && this.groups[slot.result.message] !== -1) {
      this.touched.add(this.groups[slot.result.message]!)
    }
  }

  private answer(message: Prompt.AssistantMessage): Prompt.AssistantMessage {
    return Prompt.assistantMessage({
      options: message.options,
      content: message.content.map((part) => {
        const slot = part.type === "tool-call" ? this.byPart.get(part) : undefined
        return slot === undefined || slot.id === slot.part.id
          ? part
          : renamed(slot.part, slot.id)
      })
    })
  }

  private result(slot: Slot): Prompt.ToolResultPart {
    if (slot.result === undefined) return unknownResult(slot)
    const { message, part } = slot.result
    const isMoved = this.groups[message] !== slot.message
    if (!isMoved && slot.id === part.id) return part
    return Prompt.toolResultPart({
      ...part,
      id: slot.id,
      options: mark(part.options, isMoved ? "result_out_of_place" : "repeated_id")
    })
  }

  /** The results of an answer in one message behind it. */
  private results(m: number, behind: ReadonlyArray<Prompt.ToolMessage>): ReadonlyArray<Prompt.ToolMessage> {
    const content = [
      ...(this.slots.get(m) ?? []).map((slot) => this.result(slot)),
      ...behind.flatMap(({ content }) => content.filter(({ type }) => type !== "tool-result"))
    ]
    return content.length === 0
      ? []
      : [Prompt.toolMessage({ content, options: Object.assign({}, ...behind.map(({ options }) => options)) })]
  }

  get prompt(): Prompt.Prompt {
    const left: Array<Prompt.Message> = []
    for (const [m, message] of this.messages.entries()) {
      if (message.role === "tool") {
        if (this.groups[m] !== -1) continue
        const content = message.content.filter(({ type }) => type !== "tool-result")
        if (content.length > 0) left.push(Prompt.toolMessage({ content, options: message.options }))
        continue
      }
      if (message.role !== "assistant") {
        left.push(message)
        continue
      }
      const behind: Array<Prompt.ToolMessage> = []
      for (let n = m + 1; this.groups[n] === m; n++) behind.push(this.messages[n] as Prompt.ToolMessage)
      if (this.touched.has(m)) left.push(this.answer(message), ...this.results(m, behind))
      else left.push(message, ...behind)
    }
    return Prompt.fromMessages(left)
  }
}

/**
 * Returns a conversation in which each call has exactly one result, directly behind it, and an id of its own. Providers
 * require it, and a history that was cut, edited or joined by other programs may violate it. Lists the repairs; a
 * well-formed conversation is returned unchanged.
 *
 * A call without a result receives one of unknown outcome, so that no model repeats a write. Changes are marked
 * (`mended` in the part's `recourse` options). A tainted conversation stays tainted. Calls that the provider executed
 * do not change. An agent mends the conversation of its `prompt` itself, and emits `HistoryMended`.
 *
 * **Example** (The process died before the result was stored)
 *
 * ```ts
 * import { Prompt } from "effect/ai"
 * import { History } from "@recourse/core"
 *
 * const { mended, prompt } = History.mend(Prompt.fromMessages([
 *   Prompt.userMessage({ content: [Prompt.textPart({ text: "Pay order 7" })] }),
 *   Prompt.assistantMessage({
 *     content: [Prompt.toolCallPart({ id: "c1", name: "pay", params: { order: 7 }, providerExecuted: false })]
 *   }),
 *   Prompt.userMessage({ content: [Prompt.textPart({ text: "Well?" })] })
 * ]))
 *
 * mended // => [{ problem: "call_without_result", callId: "c1", tool: "pay" }]
 * prompt.content.map(({ role }) => role) // => ["user", "assistant", "tool", "user"]
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const mend = (prompt: Prompt.Prompt): Mended => {
  const mender = new Mender(prompt.content)
  return mender.mended.length === 0
    ? { prompt, mended: [] }
    : { prompt: withTaintOf(prompt, mender.prompt), mended: mender.mended }
}
