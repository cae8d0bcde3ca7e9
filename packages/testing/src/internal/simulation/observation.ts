/** Observation of a run: everything that a simulation has seen of it. */
import { Cause, Exit } from "effect"
import type { AgentEvent, Approval, Audit, RunRecord } from "@recourse/core"
import type * as FaultPlan from "../../FaultPlan.ts"
import type * as ScriptedModel from "../../ScriptedModel.ts"
import type * as SideEffects from "../../SideEffects.ts"
import type * as Approver from "../faults/approver.ts"
import type { Injected } from "../faults/injector.ts"
import type * as VirtualTime from "../time/virtualTime.ts"

/**
 * A span as far as exporters show it, its cause apart.
 *
 * @category models
 * @since 0.2.0
 */
export interface SpanRecord {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: ReadonlyArray<readonly [name: string, attributes: Readonly<Record<string, unknown>>]>
}

/**
 * An execution of a tool, or of the fault in its place.
 *
 * @category models
 * @since 0.2.0
 */
export interface Execution {
  readonly tool: string
  readonly callId: string
  readonly attempt: number
  /** The arguments, decoded. */
  readonly params: unknown
  /** Number of earlier events. */
  readonly after: number
  /** Its end, the fault included; `undefined` while it runs. */
  readonly ended?: "success" | "failure" | undefined
}

/**
 * A time at which the run waited for decisions.
 *
 * @category models
 * @since 0.2.0
 */
export interface Pause extends Approver.Pause {
  /** Number of events before the run resumed. */
  readonly after: number
}

/**
 * Everything that can be observed of a run.
 *
 * @category models
 * @since 0.2.0
 */
export interface Observation<out Out = unknown, out E = unknown> {
  readonly plan: FaultPlan.FaultPlan
  /** Its end, pauses included: a run that waits at the end has failed with `ApprovalRequired`. */
  readonly exit: Exit.Exit<Out, E | Approval.SnapshotRefused | Approval.DecisionRefused>
  /** Its record, from before the first pause on. */
  readonly record: RunRecord.RunRecord | undefined
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
  readonly requests: ReadonlyArray<ScriptedModel.Request>
  readonly injected: ReadonlyArray<Injected>
  readonly sideEffects: ReadonlyArray<SideEffects.SideEffect>
  readonly executions: ReadonlyArray<Execution>
  readonly pauses: ReadonlyArray<Pause>
  readonly spans: ReadonlyArray<SpanRecord>
  /** The tools that were executed and hand an idempotency key on. */
  readonly keyed: ReadonlyArray<string>
  /** Virtual milliseconds, the time that it waited for decisions included. */
  readonly elapsed: number
  /** Virtual milliseconds that it waited for decisions. */
  readonly waited: number
  /** Why the run was stopped from outside, if it was: it hung, or did not come to an end. */
  readonly stopped: VirtualTime.Ended<Out, E>["stopped"]
  /** True if it was interrupted by `interruptAt`. */
  readonly interrupted: boolean
  /** Fibers that were left behind. */
  readonly fibers: number
  /** Operations of all its fibers. */
  readonly operations: number
  /** Number of requests to services by `SideEffects.request`, by tool. */
  readonly requestsOf: Readonly<Record<string, number>>
  /** Number of operations of each of the kit's stores. */
  readonly operationsOf: Readonly<Record<FaultPlan.Store, number>>
  /** Number of calls of each callback: `"pay.compensate"`, `"pay.reconcile"`, `"audit"`. */
  readonly callbacksOf: Readonly<Record<string, number>>
  /** The records that the audit was given and has written. An agent that brings an audit itself, by `Agent.provide`, has none here. */
  readonly audit: ReadonlyArray<Audit.AuditRecord>
}

/**
 * Returns the end of a run in one word: `success`, `interrupted`, `defect`, or the tag of its error.
 *
 * @category getters
 * @since 0.2.0
 */
export const outcome = (observation: Observation): string => {
  const { exit } = observation
  if (Exit.isSuccess(exit)) return "success"
  const fail = exit.cause.reasons.find(Cause.isFailReason)
  if (fail === undefined) return Cause.hasInterruptsOnly(exit.cause) ? "interrupted" : "defect"
  const error: unknown = fail.error
  return typeof error === "object" && error !== null && "_tag" in error && typeof error._tag === "string"
    ? error._tag
    : "error"
}

/**
 * The attempts of calls, by call; of one tool, if it is named.
 *
 * @category getters
 * @since 0.2.0
 */
export const attempts = ({ events }: Pick<Observation, "events">, tool?: string): ReadonlyMap<string, number> => {
  const made = new Map<string, number>()
  for (const event of events) {
    if (event._tag !== "ToolAttempt" || (tool !== undefined && event.tool !== tool)) continue
    const call = `${event.agentRunId} > ${event.callId}`
    made.set(call, (made.get(call) ?? 0) + 1)
  }
  return made
}
