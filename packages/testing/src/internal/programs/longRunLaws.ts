/** Laws about reduced and resumed runs: compaction, and a resumption of a released snapshot. */
import { Exit, Predicate } from "effect"
import { count, eventsOf, hasOneConversation, type Law, ofEachRun, renewsCallIds, specOf } from "./judging.ts"
import type { Observed, Part } from "./observed.ts"

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

/**
 * True if the interrupted resumption had no effect: no tool ran, no compensation was due, and it neither waited again
 * nor ended.
 */
const endedWithoutEffect = (run: Observed): boolean => {
  const [, to] = run.parts[0]?.events ?? [0, 0]
  const from = run.pauses.findLast(({ after }) => after <= to)?.after ?? to
  return !run.sideEffects.some(({ after }) => after >= from && after < to) &&
    !run.events.slice(from, to).some((event) =>
      event._tag === "ToolAttempt" || event._tag === "ToolCompensated" ||
      (event._tag === "RunFinished" && event.outcome !== "interrupted")
    )
}

export const longRunLaws = {
  /** The model's prompt is shortened, once for each refused request. */
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

  /** The transcript has all texts for the model, including removed ones. */
  transcripts_are_whole: ofEachRun((run) => {
    if (!hasOneConversation(run.program) || run.program.observers !== "fine") return []
    return run.parts.flatMap((part, nth) => {
      // A resumption without effect has no record: its snapshot has the conversation.
      if (nth === 0 && run.interrupted && run.pauses.length > 0 && endedWithoutEffect(run)) return []
      const recorded = resultsIn(part)
      const [from, to] = part.events
      return part.record === undefined ?
        [] :
        run.events.slice(from, to).flatMap((event) =>
          event._tag === "ToolResult" && event.parentCallId === undefined && !recorded.has(event.callId)
            ? [`the transcript does not have the result of ${event.tool} ${event.callId}`]
            : []
        )
    })
  }),

  /** An unused snapshot can be resumed again, unless its earlier writes are compensated. */
  given_back_goes_on: ofEachRun((run) => {
    const { observers, store } = run.program
    return store.length === 0 && observers === "fine" && run.compensations.length === 0 && endedWithoutEffect(run) &&
        run.parts.some((part) => part.resumed && isUsed(part))
      ? ["a resumption that was interrupted before anything ran has used its snapshot up"]
      : []
  }),

  /** A keyless write starts once, over any number of resumptions. */
  resumed_writes_begin_once: ofEachRun((run) => {
    if (!hasOneConversation(run.program) || renewsCallIds(run.program) || run.program.observers !== "fine") return []
    const calls = run.sideEffects.flatMap(({ callId, tool }) => {
      const { effects, keyed } = specOf(run.program, tool)
      return effects === "write" && keyed === "no" && callId !== undefined && !callId.includes("/")
        ? [`${tool} ${callId}`]
        : []
    })
    return [...count(calls)].flatMap(([call, times]) => times > 1 ? [`${call} began ${times} times`] : [])
  })
} as const satisfies Readonly<Record<string, Law>>
