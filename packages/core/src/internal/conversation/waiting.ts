/** Waiting: what a thread is told of a run that waits for a person, when it comes to wait and when nobody decides. */
import type * as Prompt from "effect/ai/Prompt"
import type { Snapshot } from "../approval/snapshot.ts"
import { decodePrompt } from "../foundation/promptJson.ts"
import { calledOff } from "../history/calledOff.ts"
import { endIn } from "../history/continuation.ts"

/** The calls of the answers that wait: of an agent that is made of agents, those of its agents. */
const callsOf = ({ round, steps }: Snapshot): ReadonlyArray<string> =>
  steps === undefined
    ? (round?.calls ?? []).map(({ id }) => id)
    : (round?.nested ?? []).flatMap(({ snapshot }) => callsOf(snapshot as unknown as Snapshot))

/** The messages before the answer that waits: it is told when the run goes on, with its results. */
export const beforeWaiting = (
  messages: ReadonlyArray<Prompt.Message>,
  snapshot: Snapshot
): ReadonlyArray<Prompt.Message> => {
  const waiting = new Set(callsOf(snapshot))
  const answer = messages.findIndex((message) =>
    message.role === "assistant" && message.content.some((part) => part.type === "tool-call" && waiting.has(part.id))
  )
  return answer < 0 ? messages : messages.slice(0, answer)
}

/** A run of a model that waits: the one of the thread, or one within it. */
interface WaitingRun {
  readonly run: Snapshot
  /** Whether it is known to have been given the conversation of the thread; else that shows in what it has. */
  readonly isAsGiven: boolean
}

/** The runs that wait within one that does, or itself: those of models. */
const waitingRuns = (run: Snapshot, isAsGiven = true): ReadonlyArray<WaitingRun> =>
  run.steps === undefined
    ? [{ run, isAsGiven }]
    : (run.round?.nested ?? []).flatMap(({ callId, snapshot }) =>
      waitingRuns(
        snapshot as unknown as Snapshot,
        isAsGiven && run.steps?.asGiven?.includes(callId) === true
      )
    )

/** What was said and done in the answer of a run that waits, if its conversation is the thread's: behind what the thread has of it. */
const answerThatWaits = (
  { isAsGiven, run: { round, runId, steps, transcript } }: WaitingRun,
  thread: Prompt.Prompt
): ReadonlyArray<Prompt.Message> => {
  if (round === undefined || steps !== undefined) return []
  const all = decodePrompt(transcript)
  if (!isAsGiven && endIn(all, thread) === undefined) return []
  const calls = new Set(round.calls.map(({ id }) => id))
  const answer = all.content.findLastIndex((message) =>
    message.role === "assistant" && message.content.some((part) => part.type === "tool-call" && calls.has(part.id))
  )
  if (answer < 0) return []
  const isDoneInPart = (id: string): boolean =>
    round.nested?.some(({ callId, doneInPart }) => callId === id && doneInPart === true) === true ||
    round.within?.some(({ begun, callId }) =>
        callId === id && begun?.some(({ outcome }) => outcome !== undefined) === true
      ) === true
  return [
    ...all.content.slice(answer),
    calledOff({ calls: round.calls, results: decodePrompt(round.results), isDoneInPart, runId })
  ]
}

/** What was said and done in the answers that wait: of an agent that is made of agents, those of its agents which have the thread's conversation. */
export const answersThatWait = (waiting: Snapshot, thread: Prompt.Prompt): ReadonlyArray<Prompt.Message> =>
  waitingRuns(waiting).flatMap((run) => answerThatWaits(run, thread))
