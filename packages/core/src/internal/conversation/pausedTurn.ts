/** Waiting turns: entries of a thread about a run that waits for a person, at the pause and when it is abandoned. */
import type * as Prompt from "effect/ai/Prompt"
import type { Snapshot } from "../approval/snapshot.ts"
import { outcomeUndecided } from "../approval/waitsWithin.ts"
import { idWithin } from "../path/path.ts"
import { decodePrompt } from "../foundation/json/promptJson.ts"
import { calledOff } from "../history/cancelledResults.ts"
import { endIn } from "../history/continuation.ts"

/** A run of a model that waits: the one of the thread, or one within it. */
interface WaitingRun {
  readonly run: Snapshot
  readonly round: NonNullable<Snapshot["round"]>
  /** True if it is known to have received the conversation of the thread; otherwise its messages decide. */
  readonly isAsGiven: boolean
}

/** The runs of models that wait: of an agent that is made of agents, those of its agents. */
const waitingRuns = (run: Snapshot, isAsGiven = true): ReadonlyArray<WaitingRun> => {
  const { round, steps } = run
  if (round === undefined) return []
  if (steps === undefined) return [{ run, round, isAsGiven }]
  return (round.nested ?? []).flatMap(({ callId, snapshot }) =>
    waitingRuns(snapshot as unknown as Snapshot, isAsGiven && steps.asGiven?.includes(callId) === true)
  )
}

/** True if a message is an answer with one of the calls of some runs. */
const asksFor = (runs: ReadonlyArray<WaitingRun>): (message: Prompt.Message) => boolean => {
  const calls = new Set(runs.flatMap(({ round }) => round.calls.map(({ id }) => id)))
  return (message) =>
    message.role === "assistant" && message.content.some((part) => part.type === "tool-call" && calls.has(part.id))
}

/** Returns the messages before the waiting answer: it is emitted when the run resumes, with its results. */
export const beforeWaiting = (
  messages: ReadonlyArray<Prompt.Message>,
  snapshot: Snapshot
): ReadonlyArray<Prompt.Message> => {
  const answer = messages.findIndex(asksFor(waitingRuns(snapshot)))
  return answer < 0 ? messages : messages.slice(0, answer)
}

/**
 * Returns the messages of a waiting run's answer that follow the part in the thread, if its conversation is the
 * thread's.
 */
const answerThatWaits = (
  waiting: WaitingRun,
  thread: Prompt.Prompt,
  isUnknown: boolean
): ReadonlyArray<Prompt.Message> => {
  const { isAsGiven, round: { calls, nested, pending, results, within }, run: { runId, transcript } } = waiting
  const all = decodePrompt(transcript)
  if (!isAsGiven && endIn(all, thread) === undefined) return []
  const answer = all.content.findLastIndex(asksFor([waiting]))
  if (answer < 0) return []
  const outcome = (id: string) =>
    isUnknown ? "unknown" : outcomeUndecided({
      nested: nested?.find(({ callId }) => callId === id),
      within: within?.find(({ callId }) => callId === id),
      pending: pending.filter(({ callId }) => callId === id || callId.startsWith(idWithin(id, "")))
    })
  return [
    ...all.content.slice(answer),
    calledOff({ calls, results: decodePrompt(results), outcomeOf: outcome, runId })
  ]
}

/**
 * Returns the messages of the waiting answers: for an agent made of agents, those of its agents with the thread's
 * conversation. `isUnknown`: a resumption may have run the calls.
 */
export const answersThatWait = (
  waiting: Snapshot,
  thread: Prompt.Prompt,
  isUnknown = false
): ReadonlyArray<Prompt.Message> => waitingRuns(waiting).flatMap((run) => answerThatWaits(run, thread, isUnknown))
