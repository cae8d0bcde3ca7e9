/** Events of a turn: what is appended to a thread when a turn ends, or when a message ends the wait of a run. */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import type { AgentEvent } from "../../AgentEventSchema.ts"
import { type Compacted, Snapshot } from "../approval/snapshot.ts"
import { decodePrompt } from "../foundation/json/promptJson.ts"
import { resultsIn } from "../history/keptCalls.ts"
import { endIn, endOfTextIn, texts } from "../history/continuation.ts"
import { callsLeftOut, inPlaceOf } from "./replacedHistory.ts"
import { messagesOfCall, type OpenCall, resultOf } from "./pendingCalls.ts"
import type { AppendOptions, ThreadContent } from "./conversationService.ts"
import type { Event } from "./thread.ts"
import { resultsCompensatedSince } from "./compensatedResults.ts"
import { encodeMessages, said, sent } from "./threadView.ts"
import { answersThatWait, beforeWaiting } from "./pausedTurn.ts"

/** How a turn ends. */
export interface EndOptions {
  /** The transcript of the run, which began with the turn's `prompt`. What is new in it is appended. */
  readonly transcript: Prompt.Prompt
  readonly runId?: string | undefined
  /**
   * What the model read in place of the conversation's beginning, where the run has compacted it: the `compacted` of its record. The next turn's model
   * reads it, too, in place of what was said; people are shown all. Left out: the next turn begins with all that was said.
   */
  readonly compacted?: Compacted | undefined
  /**
   * What the guard of the input has put in the place of the turn's `prompt`: the `replacedInput` of the run's record. The next turn's model reads it, too, with
   * the calls that it leaves out, in place of what was said; people are shown what was said.
   */
  readonly replacedInput?: Prompt.Prompt | undefined
  /** The snapshot of a run that waits for a person. Left out: none waits. */
  readonly snapshot?: Snapshot | undefined
  /** How the run ended, as its `RunFinished` says it. The end of a pause (`"paused"`) without its `snapshot` is ignored: the turn goes on. */
  readonly outcome?: Extract<AgentEvent, { readonly _tag: "RunFinished" }>["outcome"] | undefined
  /**
   * Whether the model of the next turn reads calls that failed. Default: `"forget"`, but for those that may have done something
   * (`outcome_unknown`, `partial_success`). People are shown all of them.
   */
  readonly failedCalls?: "forget" | "keep" | undefined
}

/** What is new in a transcript that began with a prompt: what stands behind the prompt's last message. */
const newIn = (transcript: Prompt.Prompt, prompt: Prompt.Prompt, end: number | undefined) => {
  const messages = transcript.content
  if (end !== undefined) return messages.slice(end)
  const before = new Set(texts(prompt.content))
  const all = texts(messages)
  return messages.filter(({ role }, n) => role !== "system" && !before.has(all[n]!))
}

/** What the next turn's model reads in place of the entries so far, without the instructions that the agent has given itself. */
const replacedBy = (
  { count, prompt: read }: Compacted,
  transcript: Prompt.Prompt,
  prompt: Prompt.Prompt,
  end: number
): ReadonlyArray<Prompt.Message> => {
  const own = new Set<unknown>(
    transcript.content.slice(0, end - prompt.content.length).flatMap(({ content, role }) =>
      role === "system" ? [content] : []
    )
  )
  const left = read.content.filter(({ content }) => !own.has(content))
  return [...left, ...transcript.content.slice(count, end)]
}

export const readSnapshot = Schema.decodeUnknownOption(Snapshot)

/** Results of calls, where later entries know how they ended. */
const asKnown = (message: Prompt.Message, calls: ReadonlyMap<string, OpenCall>): Prompt.Message =>
  message.role !== "tool" ? message : Prompt.toolMessage({
    options: message.options,
    content: message.content.flatMap((part) => {
      const call = part.type === "tool-result" ? calls.get(part.id) : undefined
      return call === undefined ? [part] : (resultOf(call) as Prompt.ToolMessage).content
    })
  })

/** What a thread is told of the run that waits, when something else is said: no person decides about its calls any more. */
export const endOfWaiting = (
  { entries, snapshot }: ThreadContent,
  open: ReadonlyArray<OpenCall>
): Pick<AppendOptions, "events" | "runId"> =>
  Option.match(readSnapshot(snapshot), {
    onNone: () => ({ events: [] }),
    onSome: (waiting) => {
      // A resumption has started them, and its process died.
      const calls = new Map(
        open.flatMap((call) => call.runId === waiting.runId ? [[call.callId, call] as const] : [])
      )
      const messages = answersThatWait(waiting, sent(entries)).map((message) => asKnown(message, calls))
      const told = new Set(resultsIn(messages).map(({ id }) => id))
      const others = [...calls.values()].filter(({ callId }) => !told.has(callId)).flatMap(messagesOfCall)
      return {
        runId: waiting.runId,
        events: [...turnEnded(calls.size === 0 ? [] : [waiting.runId]), ...said([...messages, ...others])]
      }
    }
  })

export const turnEnded = (runs: ReadonlyArray<string>): ReadonlyArray<Event> =>
  runs.length === 0 ? [] : [{ _tag: "TurnEnded", version: 1, runs }]

/** What a thread is told of a run that comes to wait when another turn has its thread: its question is off. */
export const endOfLateWaiting = (events: ReadonlyArray<Event>, prompt: Prompt.Prompt, snapshot: Snapshot) => {
  const fresh = events.flatMap((event) => event._tag === "Said" ? [event.message] : [])
  const thread = Prompt.fromMessages([...prompt.content, ...decodePrompt({ content: fresh }).content])
  return [...events, ...said(answersThatWait(snapshot, thread))]
}

const mayHaveHappened = new Set<unknown>(["outcome_unknown", "partial_success"])

/** The calls that the next turn's model need not read: those that failed, and that have done nothing. */
const forgettable = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<string> =>
  resultsIn(messages).filter(({ isFailure, result }) =>
    isFailure && !Predicate.hasProperty(result, "may_be_undone") &&
    !(Predicate.hasProperty(result, "code") && mayHaveHappened.has(result.code))
  ).map(({ id }) => id)

/** A conversation as it is known now, at the end of a run. */
const asOfNow = (before: Prompt.Prompt, transcript: Prompt.Prompt): Prompt.Prompt => {
  const known = resultsCompensatedSince(before.content, transcript)
  return known === undefined ? before : Prompt.fromMessages(known)
}

/** What the end of a run appends to a thread of so many entries. */
export const eventsOf = (
  { compacted, failedCalls: failed, replacedInput: replaced, snapshot, transcript }: EndOptions,
  stored: Prompt.Prompt,
  through: number
): Array<Event> => {
  const whole = asOfNow(stored, transcript)
  // A run that goes on has begun with the conversation that was put in the place of the first.
  const isReplaced = replaced !== undefined && endOfTextIn(transcript, whole) === undefined
  const prompt = isReplaced ? asOfNow(replaced, transcript) : whole
  const read = isReplaced ? inPlaceOf(stored.content, prompt.content) : prompt.content
  const changed: ReadonlyArray<Event> = read === stored.content
    ? []
    : [{ _tag: "Replaced", through, by: encodeMessages(read) }]
  const end = endIn(transcript, prompt)
  const fresh = newIn(transcript, prompt, end)
  if (snapshot !== undefined) return [...changed, ...said(beforeWaiting(fresh, snapshot))]
  const calls = failed === "keep" ? [] : forgettable(transcript.content)
  const forgotten: ReadonlyArray<Event> = calls.length === 0 ? [] : [{ _tag: "CallsForgotten", calls }]
  if (compacted === undefined || end === undefined) return [...changed, ...said(fresh), ...forgotten]
  const left = isReplaced ? callsLeftOut(stored.content, prompt.content) : []
  const by = encodeMessages([...left, ...replacedBy(compacted, transcript, prompt, end)])
  // What the run itself has said before it was compacted is in what it was compacted to.
  const covered = Math.max(0, compacted.count - end)
  return [
    { _tag: "Replaced", through, by },
    ...said(fresh.slice(0, covered), "people"),
    ...said(fresh.slice(covered)),
    ...forgotten
  ]
}
