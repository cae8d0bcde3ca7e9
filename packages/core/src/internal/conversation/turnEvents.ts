/** Events of a turn: entries of a thread at the end of a turn, or when a message ends the wait of a run. */
import * as Option from "effect/Option"
import * as Predicate from "effect/Predicate"
import * as Schema from "effect/Schema"
import * as Prompt from "effect/ai/Prompt"
import type { RunFinished } from "../../AgentEventSchema.ts"
import { type Compacted, Snapshot } from "../approval/snapshot.ts"
import { decodePrompt } from "../foundation/json/promptJson.ts"
import { resultsIn } from "../history/remainingCalls.ts"
import { uncertainCodes } from "../run/callResult.ts"
import { endIn, endOfTextIn, texts } from "../history/continuation.ts"
import { callsLeftOut, inPlaceOf } from "./replacedHistory.ts"
import { messagesOfCall, type OpenCall, resultOf } from "./pendingCalls.ts"
import type { AppendOptions, ThreadContent } from "./conversationService.ts"
import type { Event } from "./thread.ts"
import { resultsCompensatedSince } from "./compensatedResults.ts"
import { encodeMessages, toEvents, toPrompt } from "./threadView.ts"
import { answersThatWait, beforeWaiting } from "./pausedTurn.ts"

/**
 * End of a turn.
 *
 * @category options
 * @since 0.2.0
 */
export interface EndOptions {
  /** The transcript of the run, which started with the turn's `prompt`. Its new messages are appended. */
  readonly transcript: Prompt.Prompt
  /** The run that answered. Default: the one of the turn. */
  readonly runId?: string | undefined
  /**
   * The model's replacement of the conversation's beginning, if the run has compacted it: the `compacted` of its
   * record. The next turn's model reads it too, instead of the original; people are shown all. Absent: the next turn
   * starts with all messages.
   */
  readonly compacted?: Compacted | undefined
  /**
   * The input guard's replacement of the turn's `prompt`: the `replacedInput` of the run's record. The next turn's
   * model reads it too, with the calls that it lacks, instead of the original; people are shown the original.
   */
  readonly replacedInput?: Prompt.Prompt | undefined
  /** The snapshot of a run that waits for a person. Left out: none waits. */
  readonly snapshot?: Snapshot | undefined
  /**
   * Outcome of the run, as in its `RunFinished`. A pause (`"paused"`) without its `snapshot` is ignored: the turn
   * continues.
   */
  readonly outcome?: RunFinished["outcome"] | undefined
  /**
   * Treatment of failed calls for the next turn's model. Default: `"forget"`, except for those that may have had an
   * effect (`outcome_unknown`, `partial_success`, any failure of a tool that may write and does not declare it as
   * `not_done`). People are shown all of them.
   */
  readonly failedCalls?: "forget" | "keep" | undefined
}

/** Returns the new messages of a transcript that started with a prompt: those behind the prompt's last message. */
const newIn = (transcript: Prompt.Prompt, prompt: Prompt.Prompt, end: number | undefined) => {
  const messages = transcript.content
  if (end !== undefined) return messages.slice(end)
  const before = new Set(texts(prompt.content))
  const all = texts(messages)
  return messages.filter(({ role }, n) => role !== "system" && !before.has(all[n]!))
}

/** Returns the replacement of the present entries for the next turn's model, without the agent's own instructions. */
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

/** Results of calls, completed by the outcomes in later entries. */
const asKnown = (message: Prompt.Message, calls: ReadonlyMap<string, OpenCall>): Prompt.Message =>
  message.role !== "tool" ? message : Prompt.toolMessage({
    options: message.options,
    content: message.content.flatMap((part) => {
      const call = part.type === "tool-result" ? calls.get(part.id) : undefined
      return call === undefined ? [part] : (resultOf(call) as Prompt.ToolMessage).content
    })
  })

/** Entries that end a run's wait when another message is added: no person decides about its calls any more. */
export const endOfWaiting = (
  { entries, snapshot }: ThreadContent,
  open: ReadonlyArray<OpenCall>,
  isUnknown: boolean
): Pick<AppendOptions, "events" | "runId"> =>
  Option.match(readSnapshot(snapshot), {
    onNone: () => ({ events: [] }),
    onSome: (waiting) => {
      // A resumption has started them, and its process died.
      const calls = new Map(
        open.flatMap((call) => call.runId === waiting.runId ? [[call.callId, call] as const] : [])
      )
      const messages = answersThatWait(waiting, toPrompt(entries), isUnknown).map((message) => asKnown(message, calls))
      const answeredIds = new Set(resultsIn(messages).map(({ id }) => id))
      const others = [...calls.values()].filter(({ callId }) => !answeredIds.has(callId)).flatMap(messagesOfCall)
      return {
        runId: waiting.runId,
        events: [...turnEnded(calls.size === 0 ? [] : [waiting.runId]), ...toEvents([...messages, ...others])]
      }
    }
  })

export const turnEnded = (runs: ReadonlyArray<string>): ReadonlyArray<Event> =>
  runs.length === 0 ? [] : [{ _tag: "TurnEnded", version: 1, runs }]

/** Entries of a run that pauses while another turn has its thread: its question is withdrawn. */
export const endOfLateWaiting = (events: ReadonlyArray<Event>, prompt: Prompt.Prompt, snapshot: Snapshot) => {
  const fresh = events.flatMap((event) => event._tag === "MessageAdded" ? [event.message] : [])
  const thread = Prompt.fromMessages([...prompt.content, ...decodePrompt({ content: fresh }).content])
  return [...events, ...toEvents(answersThatWait(snapshot, thread))]
}

/** Returns the calls that the next turn's model need not read: failed ones without an effect. */
const forgettable = (messages: ReadonlyArray<Prompt.Message>): ReadonlyArray<string> =>
  resultsIn(messages).filter(({ isFailure, options: { recourse }, result }) =>
    isFailure && !Predicate.hasProperty(result, "may_be_undone") &&
    !Predicate.hasProperty(recourse, "uncertain") &&
    !(Predicate.hasProperty(result, "code") && uncertainCodes.has(result.code))
  ).map(({ id }) => id)

/** A conversation as it is known now, at the end of a run. */
const asOfNow = (before: Prompt.Prompt, transcript: Prompt.Prompt): Prompt.Prompt => {
  const known = resultsCompensatedSince(before.content, transcript)
  return known === undefined ? before : Prompt.fromMessages(known)
}

/** Entries of a run's end, for a thread with this number of entries. */
export const eventsOf = (
  { compacted, failedCalls: failed, replacedInput: replaced, snapshot, transcript }: EndOptions,
  stored: Prompt.Prompt,
  through: number
): Array<Event> => {
  const whole = asOfNow(stored, transcript)
  // A resumed run has started with the replacement of the first conversation.
  const isReplaced = replaced !== undefined && endOfTextIn(transcript, whole) === undefined
  const prompt = isReplaced ? asOfNow(replaced, transcript) : whole
  const read = isReplaced ? inPlaceOf(stored.content, prompt.content) : prompt.content
  const changed: ReadonlyArray<Event> = read === stored.content
    ? []
    : [{ _tag: "HistoryCompacted", through, by: encodeMessages(read) }]
  const end = endIn(transcript, prompt)
  const fresh = newIn(transcript, prompt, end)
  if (snapshot !== undefined) return [...changed, ...toEvents(beforeWaiting(fresh, snapshot))]
  const calls = failed === "keep" ? [] : forgettable(transcript.content)
  const forgotten: ReadonlyArray<Event> = calls.length === 0 ? [] : [{ _tag: "ToolCallsPruned", calls }]
  if (compacted === undefined || end === undefined) return [...changed, ...toEvents(fresh), ...forgotten]
  const left = isReplaced ? callsLeftOut(stored.content, prompt.content) : []
  const by = encodeMessages([...left, ...replacedBy(compacted, transcript, prompt, end)])
  // The run's own messages before its compaction are in the compacted ones.
  const covered = Math.max(0, compacted.count - end)
  return [
    { _tag: "HistoryCompacted", through, by },
    ...toEvents(fresh.slice(0, covered), "people"),
    ...toEvents(fresh.slice(covered)),
    ...forgotten
  ]
}
