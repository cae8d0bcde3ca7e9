/** Laws about endings: of runs, calls, questions and spans. */
import { Cause, Exit, Predicate } from "effect"
import { callsIn, deadline, eventsOf, isWaiting, type Law, moreOften, ofEachRun, unended } from "./judging.ts"
import type { Observed } from "./observed.ts"

/**
 * Not checked: questions that stay open for listeners. An interactive agent is interrupted around the answer, and has
 * no write to compensate: no segment emits its end. An agent that a function runs by hand waits, and the caller of the
 * function is interrupted (decision 191).
 */
const leavesQuestionsOpen = ({ program: { asks, chat, form }, compensations }: Observed): boolean =>
  form === "hand" || (asks !== "outside" && (chat.length > 0 || compensations.length === 0))

/** Internal signals between steps of composed agents. */
const betweenSteps: ReadonlySet<unknown> = new Set(["Waits", "FailedBefore"])

const isError = (error: unknown): boolean => Predicate.hasProperty(error, "_tag") && !betweenSteps.has(error._tag)

/**
 * True if a run itself may have died of that: of a tool, of a store that has not answered a claim, or of one that has
 * refused it.
 */
const isDefectOf = ({ sideEffects, program, unansweredClaims }: Observed, defect: unknown): boolean => {
  // An interactive agent has no error for a store that reports its own snapshot as used.
  if (Predicate.isTagged(defect, "SnapshotRefused")) return program.asks !== "outside" && program.store.length > 0
  if (Predicate.isTagged(defect, "StoreDown")) return unansweredClaims > 0
  if (Predicate.isTagged(defect, "ExecutorDefect")) return sideEffects.some(({ state }) => state === "died")
  return !Predicate.hasProperty(defect, "_tag") &&
    (unansweredClaims > 0 || sideEffects.some(({ state }) => state === "died"))
}

export const endingLaws = {
  /** Whatever a program is made of, it ends with a value, a tagged error, an interruption, or a defect of a tool or of a store. */
  endings_are_typed: ofEachRun((run) => [
    ...run.parts.flatMap(({ exit }) => {
      if (Exit.isSuccess(exit)) return []
      const { reasons } = exit.cause
      // Effect makes defects of the errors in parallel to one.
      const hasDefect = reasons.some((reason) => Cause.isDieReason(reason) && isDefectOf(run, reason.defect))
      return reasons.flatMap((reason) => {
        if (Cause.isFailReason(reason)) return isError(reason.error) ? [] : [`it fails with ${String(reason.error)}`]
        if (!Cause.isDieReason(reason) || isDefectOf(run, reason.defect)) return []
        return hasDefect && isError(reason.defect)
          ? []
          : [`it dies of ${String(reason.defect)}, ${hasDefect ? "which is no error" : "and no tool died"}`]
      })
    }),
    ...eventsOf(run, "ToolResult").flatMap(({ callId, code, isFailure, tool }) =>
      isFailure && code === undefined ? [`${tool} ${callId} failed without a code`] : []
    )
  ]),

  /** Each started run, agent, call and span has its end, and no event follows the end of the run. */
  every_start_has_its_end: ofEachRun((run) => {
    if (run.program.observers !== "fine") return []
    const paths = (tag: "AgentStarted" | "AgentFinished" | "RunStarted" | "RunFinished") =>
      eventsOf(run, tag).map(({ path }) =>
        `${tag.slice(0, -tag.replace(/^(Agent|Run)/, "").length)} ${path.join(" > ")}`
      )
    const starts = [...paths("RunStarted"), ...paths("AgentStarted")]
    const ends = [...paths("RunFinished"), ...paths("AgentFinished")]
    return [
      ...moreOften(starts, ends).map(([who, began, ended]) => `${who} started ${began} times, finished ${ended}`),
      ...moreOften(ends, starts).map(([who, ended, began]) => `${who} finished ${ended} times, started ${began}`),
      ...run.parts.flatMap(({ events: [from, to], exit }, nth) => {
        const events = run.events.slice(from, to)
        // Interrupted once it has emitted its wait, or, when resumed, before any execution: the snapshot is present.
        const pausedAt = events.findLastIndex((event) =>
          event._tag === "RunFinished" &&
          (event.outcome === "paused" || (event.outcome === "failure" && event.code === "approval_required"))
        )
        const waits = isWaiting(run.parts[nth]!) ||
          (pausedAt >= 0 && !events.slice(pausedAt).some(({ _tag }) => _tag === "ToolCallStarted"))
        const isLeftOpen = (call: string) =>
          leavesQuestionsOpen(run) &&
          eventsOf(run, "ApprovalRequested").some(({ callId, path }) =>
            `${path.join(" > ")} ${callId}/`.startsWith(`${call}/`)
          )
        return [
          ...(events.length === 0 || events.at(-1)?._tag === "RunFinished"
            ? []
            : [`the last event is ${events.at(-1)?._tag}, the run ended with ${exit._tag}`]),
          ...(waits ? [] : [...callsIn(events, "ToolCallStarted")]
            .filter((call) => !callsIn(events, "ToolResult").has(call) && !isLeftOpen(call))
            .map((call) => `${call} started, and has no result`)),
          ...(waits ? [] : unended(events))
        ]
      }),
      ...run.open.map((name) => `span ${name} was not ended`)
    ]
  }),

  /** A run ends in its time, also if stores and listeners do not answer; no fiber is left running. */
  it_ends: ofEachRun((run) => {
    const silent = run.program.store.filter(({ fault }) => fault === "hangs")
    const hangs = silent.length + (run.program.observers === "hang" ? 1 : 0)
    // Compensations run behind the deadline, each within its time.
    const limit = deadline(run.program, run.pauses.length > 0) + hangs * 30_000 + run.compensations.length * 3_000
    return run.parts.flatMap(({ elapsed, fibers, stopped, waited }) => [
      ...(stopped === undefined ? [] : [`the run did not end: ${stopped}`]),
      ...(elapsed - waited > limit ? [`the run took ${elapsed - waited} ms of ${limit}`] : []),
      ...(fibers === 0 ? [] : [`${fibers} fibers are alive after the run`])
    ])
  })
} as const satisfies Readonly<Record<string, Law>>
