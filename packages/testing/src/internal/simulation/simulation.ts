/** Simulation: one run of a subject under a plan of faults, in virtual time, with everything observed. */
import { Cause, Context, Effect, Exit, Layer, Option, Random } from "effect"
import { AgentEvent, type Approval, Audit, RunRecord, StoreTimeout, ToolInterceptor } from "@recourse/core"
import * as Approver from "../faults/approver.ts"
import * as FaultPlan from "../../FaultPlan.ts"
import * as Faults from "../faults/faults.ts"
import { callbacksOf } from "../faults/callbackFaults.ts"
import type { Injected } from "../faults/injector.ts"
import { requestsOf } from "../faults/serviceFaults.ts"
import { operationsOf } from "../faults/storeFaults.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import * as SideEffects from "../../SideEffects.ts"
import type { Scenario, Subject } from "../../Subject.ts"
import * as TestTracer from "../../TestTracer.ts"
import * as VirtualTime from "../time/virtualTime.ts"
import { snapshotKey } from "./snapshotKey.ts"
import { CurrentWithin } from "./within.ts"

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
 * Options of a subject's run.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** The injected faults. Default: none. */
  readonly plan?: FaultPlan.FaultPlan | undefined
  /** True if model calls are streamed. Default: false. */
  readonly streaming?: boolean | undefined
  /** The event after which the run is interrupted; 1 is the first. */
  readonly interruptAt?: number | undefined
  /** The operation before which the run is interrupted; 1 is the first. There are `Observation.operations`. */
  readonly interruptAtOperation?: number | undefined
  /** A seed of the random order of simultaneously ready fibers. Default: first come, first served. */
  readonly order?: number | undefined
  /** Events after which a run is taken to have no end, and is interrupted. Default: 2,000. */
  readonly mostEvents?: number | undefined
  /** Requests to the model after which a run is taken to have no end. Default: 100. */
  readonly mostRequests?: number | undefined
  /** A text in every injected error. */
  readonly secret?: string | undefined
}

/**
 * Runs a subject once, over its pauses to its end. Does not fail: the observation contains the faults. Each run has its
 * own world, clock and random source, so the same plan gives the same observation.
 *
 * **Example** (How long does it take when the first call times out?)
 *
 * ```ts
 * import { Effect, Exit, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { FaultPlan, ScriptedModel, Simulation, Subject } from "@recourse/testing"
 *
 * const Rate = Tool.make("rate", {
 *   success: Schema.Number,
 *   effects: "read",
 *   timeout: "3 seconds",
 *   execute: () => Effect.succeed(1.1)
 * })
 * const scenario = {
 *   input: "What is the rate?",
 *   model: [ScriptedModel.call("rate", {}), ScriptedModel.text("1.1")]
 * } as const
 * const subject = Subject.make({
 *   agent: Agent.make("rates", { tools: [Rate], defaults: { onError: Recovery.standard } }),
 *   tools: [Rate],
 *   scenarios: { default: scenario }
 * })
 *
 * const plan = FaultPlan.make([FaultPlan.onTool("rate", { type: "timeout" })])
 * const observed = await Effect.runPromise(Simulation.run(subject, subject.scenarios.default!, { plan }))
 *
 * observed.exit // => Exit.succeed("1.1")
 * // the time limit of the first call, and a wait with jitter before the second
 * Math.round(observed.elapsed / 1000) // => 3
 * ```
 *
 * @category running
 * @since 0.2.0
 */
// oxlint-disable-next-line max-lines-per-function -- one simulation: the steps share its world and its clock
export const run = <In, Out, E>(
  subject: Subject<In, Out, E>,
  scenario: Scenario<In>,
  options?: Options
): Effect.Effect<Observation<Out, E>> =>
  // oxlint-disable-next-line max-lines-per-function -- one simulation: the steps share its world and its clock
  Effect.suspend(() => {
    const { interruptAt, mostEvents = 2000, mostRequests = 100, secret, streaming = false } = options ?? {}
    const plan = options?.plan ?? FaultPlan.none
    const events: Array<AgentEvent.AgentEvent> = []
    const executions: Array<Execution> = []
    const audit: Array<Audit.AuditRecord> = []
    const pauses: Array<Pause> = []
    let record: RunRecord.RunRecord | undefined
    let control: VirtualTime.Control
    let interrupted = false
    let waited = 0

    const keyed = new Set<string>()
    const intercept: ToolInterceptor.Interceptor = ({ attempt, callId, params, passesKey, tool }, execute) => {
      const execution: { -readonly [K in keyof Execution]: Execution[K] } = {
        tool,
        callId,
        attempt,
        params,
        after: events.length
      }
      const index = executions.push(execution) - 1
      if (passesKey) keyed.add(tool)
      const executed = Effect.updateService(execute, CurrentWithin, (around) => ({
        executions: [...around?.executions ?? [], index]
      }))
      return Effect.onExit(executed, (exit) =>
        Effect.sync(() => {
          execution.ended = Exit.isSuccess(exit) ? "success" : "failure"
        }))
    }
    const undone: ToolInterceptor.CompensationIntercept = ({ callId, tool }, undo) =>
      Effect.provideService(undo, CurrentWithin, { executions: [], undoes: { tool, callId } })
    const behaviour: ScriptedModel.Behaviour = (request, index) => {
      if (index + 1 >= mostRequests) control.giveUp()
      return scenario.model(request, index)
    }
    const listener = (event: AgentEvent.AgentEvent) =>
      Effect.suspend(() => {
        const nth = events.push(event)
        if (nth === mostEvents) control.giveUp()
        if (nth !== interruptAt) return Effect.void
        interrupted = true
        control.interrupt()
        return Effect.yieldNow
      })
    const onRecord = (ended: RunRecord.RunRecord) => {
      record = ended
    }
    const services = Faults.layerStores.pipe(
      Layer.provideMerge(Faults.layer(plan, { failures: subject.failures, secret })),
      Layer.provideMerge(ScriptedModel.layer(behaviour)),
      Layer.provideMerge(Layer.mergeAll(
        SideEffects.layer,
        TestTracer.layer,
        AgentEvent.listen(listener),
        Layer.succeed(ToolInterceptor.ToolInterceptor, intercept),
        Layer.succeed(ToolInterceptor.CompensationInterceptor, undone),
        Audit.layer((record) => Effect.sync(() => audit.push(record))),
        snapshotKey
      ))
    )
    return Effect.scoped(Effect.flatMap(Layer.build(services), (context) =>
      Effect.gen(function*() {
        const execution = Approver.run(subject.agent, scenario.input, {
          streaming,
          onRecord,
          onPause: (pause) => pauses.push({ ...pause, after: events.length }),
          onWaited: (millis) => {
            waited += millis
          }
        }).pipe(
          Effect.provideContext(context),
          Random.withSeed(plan.seed)
        )
        // A store's late answer is released in the background, within the time of one more operation.
        const hangs = plan.injections.some(({ fault: { type } }) => type === "store_hangs")
        const waitsLong = plan.injections.some(({ fault: { type } }) => type === "approval_late")
        const ended = yield* VirtualTime.run(execution, {
          limit: waitsLong ? Infinity : undefined,
          settle: hangs ? StoreTimeout.CurrentStoreTimeout.defaultValue() : undefined,
          order: options?.order,
          interruptAt: options?.interruptAtOperation,
          onStart: (given) => {
            control = given
          }
        })
        const { exit } = ended
        const { injector } = Context.get(context, Faults.FaultLog)
        const spans = yield* Context.get(context, TestTracer.TestTracer).spans
        return {
          plan,
          exit,
          record: record ?? (Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined),
          events,
          requests: yield* Context.get(context, ScriptedModel.ScriptedModel).requests,
          injected: yield* Context.get(context, Faults.FaultLog).injected,
          sideEffects: yield* Context.get(context, SideEffects.SideEffects).all,
          executions,
          pauses,
          spans: spans.map((span) => ({
            name: span.name,
            attributes: Object.fromEntries(span.attributes),
            events: span.events.map(([name, , attributes]) => [name, attributes ?? {}] as const)
          })),
          keyed: [...keyed],
          elapsed: ended.elapsed,
          waited,
          stopped: ended.stopped,
          interrupted: interrupted || options?.interruptAtOperation !== undefined,
          fibers: ended.fibers,
          operations: ended.operations,
          requestsOf: Object.fromEntries(
            subject.tools.map(({ name }) => [name, requestsOf(injector, name)] as const).filter(([, many]) => many > 0)
          ),
          operationsOf: operationsOf(injector),
          callbacksOf: callbacksOf(injector),
          audit
        }
      })))
  })

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
