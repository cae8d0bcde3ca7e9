/** Laws about callbacks of a program that fail, die, hang or are interrupted: `compensate`, `reconcile` and the audit. */
import { Cause, Exit } from "effect"
import type { Injected } from "../faults/injector.ts"
import type * as Simulation from "../simulation/simulation.ts"
import { type Law, ofEachRun } from "./law.ts"

/** The faults of a callback that were injected. */
const faultsOf = (run: Simulation.Observation, callback: Injected["callback"]): ReadonlyArray<Injected> =>
  run.injected.filter((fault) => fault.callback === callback && fault.applied)

type Event<Tag> = Extract<Simulation.Observation["events"][number], { readonly _tag: Tag }>

const ofCall = <Tag extends "ToolResult" | "ToolCompensated">(
  run: Simulation.Observation,
  tag: Tag,
  { callId, tool }: Injected
): ReadonlyArray<Event<Tag>> =>
  run.events.filter((event): event is Event<Tag> =>
    event._tag === tag && "callId" in event && event.callId === callId && event.tool === tool
  )

/** The runs of agents that have made a call of an id. */
const runsOf = ({ events }: Simulation.Observation, callId: string): ReadonlyArray<string> => [
  ...new Set(
    events.flatMap((event) => event._tag === "ToolCallStarted" && event.callId === callId ? [event.agentRunId] : [])
  )
]

const isEnd = ({ _tag }: Simulation.Observation["events"][number]): boolean =>
  _tag === "RunFinished" || _tag === "AgentFinished"

/** Codes of results that say that something may have been done. */
const mayHaveBeenDone: ReadonlySet<string | undefined> = new Set([
  "outcome_unknown",
  "partial_success",
  "idempotency_conflict"
])

export const callbackLaws = {
  /** A compensation that has not completed is reported as not compensated, and never as compensated. */
  failed_compensations_are_reported: ofEachRun((run) =>
    faultsOf(run, "compensate").flatMap((fault) => {
      const reports = ofCall(run, "ToolCompensated", fault)
      const what = `the compensation of ${fault.tool} ${fault.callId} had ${fault.type}`
      return reports.some(({ outcome }) => outcome === "not_undone")
        ? []
        : [`${what}, and it is reported as ${reports.at(-1)?.outcome ?? "nothing"}`]
    })
  ),

  /** A `reconcile` without an answer leaves the outcome unknown: the call is neither reported as not done, nor as compensated. */
  failed_reconciliations_are_unknown: ofEachRun((run) =>
    faultsOf(run, "reconcile").flatMap((fault) => {
      const { callId, n, tool, type } = fault
      const result = ofCall(run, "ToolResult", fault).findLast(({ at }) => at >= fault.at)
      // A later one may have had an answer.
      const isLast = run.callbacksOf[`${tool}.reconcile`] === n
      const compensated = isLast
        ? ofCall(run, "ToolCompensated", fault).find(({ at, outcome }) => at >= fault.at && outcome !== "not_undone")
        : undefined
      const what = `reconcile of ${tool} ${callId} had ${type}, and the call is reported as`
      return [
        ...(result?.isFailure === true && !mayHaveBeenDone.has(result.code) ? [`${what} ${result.code}`] : []),
        ...(compensated === undefined ? [] : [`${what} ${compensated.outcome}`])
      ]
    })
  ),

  /**
   * A run whose audit cannot be written ends: not with success, and not as if it had been interrupted from outside. Of agents within another one it is
   * the one whose record it was: one that has lost a race is over already.
   */
  failed_audits_end_runs: ofEachRun((run) =>
    faultsOf(run, "audit").flatMap(({ at, callId, type }) => {
      const isOutside = run.interrupted || run.injected.some(({ type }) => type === "interruption")
      const isInterrupted = Exit.isFailure(run.exit) && Cause.hasInterruptsOnly(run.exit.cause)
      const runs = runsOf(run, callId!)
      const ends = runs.map((id) => run.events.findLast((event) => event.agentRunId === id && isEnd(event)))
      const isAsked = run.events.some((event) =>
        event._tag === "ModelTurnStarted" && event.at > at && runs.every((id) => event.agentRunId === id)
      )
      return [
        ...(ends.every((event) => event === undefined || ("outcome" in event && event.outcome === "success"))
          ? [`an audit record had ${type}, and the run ended with success`]
          : []),
        ...(isInterrupted && !isOutside
          ? [`an audit record had ${type}, and the run ended as one that is interrupted from outside`]
          : []),
        ...(isAsked ? [`an audit record had ${type}, and the model was asked again`] : [])
      ]
    })
  )
} as const satisfies Readonly<Record<string, Law>>
