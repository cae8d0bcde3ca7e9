/** Laws about what a run is cut down to, and what it goes on from: compaction, and a resumption of what was given back. */
import { Exit, Predicate } from "effect"
import { count, eventsOf, givesIdsAnew, hasOneConversation, type Law, ofEachRun, specOf } from "./judging.ts"
import type { Observed, Part } from "./run.ts"

const resultsIn = ({ record }: Part): ReadonlySet<string> =>
  new Set(
    record?.transcript.content.flatMap((message) =>
      message.role === "tool" ? message.content.flatMap((part) => part.type === "tool-result" ? [part.id] : []) : []
    )
  )

const isUsed = ({ exit }: Part): boolean =>
  Exit.isFailure(exit) &&
  exit.cause.reasons.some((reason) =>
    reason._tag === "Fail" && Predicate.isTagged(reason.error, "SnapshotRefused") &&
    Predicate.hasProperty(reason.error, "reason") &&
    (reason.error.reason === "used" || reason.error.reason === "claimed" || reason.error.reason === "abandoned")
  )

/** Whether the resumption that was interrupted had come to nothing: no tool ran, nothing was to be undone, and it neither waited again nor came to its end. */
const cameToNothing = (run: Observed): boolean => {
  const [, to] = run.parts[0]?.events ?? [0, 0]
  const from = run.pauses.findLast(({ after }) => after <= to)?.after ?? to
  return !run.deeds.some(({ after }) => after >= from && after < to) &&
    !run.events.slice(from, to).some((event) =>
      event._tag === "ToolAttempt" || event._tag === "ToolCompensated" ||
      (event._tag === "RunFinished" && event.outcome !== "interrupted")
    )
}

export const longRunLaws = {
  /** What the model reads is made shorter, and once for a request that was refused. */
  compacted_is_shorter: ofEachRun((run) => {
    const compacted = eventsOf(run, "ContextCompacted")
    const refused = compacted.flatMap(({ agentRunId, because, turn }) =>
      because === "context_length" ? [`turn ${turn} of ${agentRunId}`] : []
    )
    return [
      ...(run.program.compact === "no" && compacted.length > 0 ? ["a run was compacted that is not to be"] : []),
      ...compacted.flatMap(({ tokens, tokensBefore }) =>
        tokens < tokensBefore ? [] : [`compacted from ${tokensBefore} to ${tokens} tokens`]
      ),
      ...[...count(refused)].flatMap(([turn, times]) => times > 1 ? [`${turn} was compacted ${times} times`] : [])
    ]
  }),

  /** The transcript has all that the model was told, also what it no longer reads. */
  transcripts_are_whole: ofEachRun((run) => {
    if (!hasOneConversation(run.program) || run.program.observers !== "fine") return []
    return run.parts.flatMap((part, nth) => {
      // Of a resumption that came to nothing there is no record: its snapshot has the conversation.
      if (nth === 0 && run.interrupted && run.pauses.length > 0 && cameToNothing(run)) return []
      const kept = resultsIn(part)
      const [from, to] = part.events
      return part.record === undefined ?
        [] :
        run.events.slice(from, to).flatMap((event) =>
          event._tag === "ToolResult" && event.parentCallId === undefined && !kept.has(event.callId)
            ? [`the transcript does not have the result of ${event.tool} ${event.callId}`]
            : []
        )
    })
  }),

  /** A snapshot of which nothing was made is good for another resumption, unless what was done before it is undone. */
  given_back_goes_on: ofEachRun((run) => {
    const { observers, store } = run.program
    return store.length === 0 && observers === "fine" && run.undone.length === 0 && cameToNothing(run) &&
        run.parts.some((part) => part.resumed && isUsed(part))
      ? ["a resumption that was interrupted before anything ran has used its snapshot up"]
      : []
  }),

  /** A write without a key begins once, however often the run is gone on with. */
  resumed_writes_begin_once: ofEachRun((run) => {
    if (!hasOneConversation(run.program) || givesIdsAnew(run.program) || run.program.observers !== "fine") return []
    const calls = run.deeds.flatMap(({ callId, tool }) => {
      const { effects, keyed } = specOf(run.program, tool)
      return effects === "write" && keyed === "no" && callId !== undefined && !callId.includes("/")
        ? [`${tool} ${callId}`]
        : []
    })
    return [...count(calls)].flatMap(([call, times]) => times > 1 ? [`${call} began ${times} times`] : [])
  })
} as const satisfies Readonly<Record<string, Law>>
