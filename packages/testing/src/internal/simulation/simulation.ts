/** Simulation: one run of a subject under a plan of faults, in virtual time, with everything observed. */
import { Context, Effect, Layer, Random } from "effect"
import { OptionCheck, StoreTimeout } from "@recourse/core"
import * as FaultPlan from "../../FaultPlan.ts"
import * as ScriptedModel from "../../ScriptedModel.ts"
import * as SideEffects from "../../SideEffects.ts"
import { checkSubject, type Scenario, type Subject } from "../../Subject.ts"
import * as TestTracer from "../../TestTracer.ts"
import * as Approver from "../faults/approver.ts"
import { callbacksOf } from "../faults/callbackFaults.ts"
import * as Faults from "../faults/faults.ts"
import { requestsOf } from "../faults/serviceFaults.ts"
import { operationsOf } from "../faults/storeFaults.ts"
import * as VirtualTime from "../time/virtualTime.ts"
import type { Observation, SpanRecord } from "./observation.ts"
import { RunObserver } from "./runObserver.ts"
import { snapshotKey } from "./snapshotKey.ts"

export { attempts, type Execution, type Observation, outcome, type Pause, type SpanRecord } from "./observation.ts"

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

/** The services of a simulated run. */
type Services = Layer.Success<ReturnType<typeof servicesOf>>

/** The services of a run under a plan of faults; the observer is among them. */
const servicesOf = <In, Out, E>(
  { failures }: Subject<In, Out, E>,
  plan: FaultPlan.FaultPlan,
  secret: string | undefined,
  observer: RunObserver
) =>
  Faults.layerStores.pipe(
    Layer.provideMerge(Faults.layer(plan, { failures, secret })),
    Layer.provideMerge(ScriptedModel.layer(observer.model)),
    Layer.provideMerge(Layer.mergeAll(SideEffects.layer, TestTracer.layer, observer.layer, snapshotKey))
  )

/** Options of the virtual time of a run: waits that its faults are about do not end it. */
const timeOf = (
  { injections }: FaultPlan.FaultPlan,
  options: Options | undefined
): Pick<VirtualTime.Options, "limit" | "settle" | "order" | "interruptAt"> => {
  const has = (fault: string) => injections.some(({ fault: { type } }) => type === fault)
  return {
    limit: has("approval_late") ? Infinity : undefined,
    // A store's late answer is released in the background, within the time of one more operation.
    settle: has("store_hangs") ? StoreTimeout.CurrentStoreTimeout.defaultValue() : undefined,
    order: options?.order,
    interruptAt: options?.interruptAtOperation
  }
}

/** Everything that the services of a run have recorded at its end. */
const recordedBy = <In, Out, E>({ tools }: Subject<In, Out, E>, context: Context.Context<Services>) =>
  Effect.gen(function*() {
    const { injected, injector } = Context.get(context, Faults.FaultLog)
    const spans = yield* Context.get(context, TestTracer.TestTracer).spans
    return {
      requests: yield* Context.get(context, ScriptedModel.ScriptedModel).requests,
      injected: yield* injected,
      sideEffects: yield* Context.get(context, SideEffects.SideEffects).all,
      spans: spans.map((span): SpanRecord => ({
        name: span.name,
        attributes: Object.fromEntries(span.attributes),
        events: span.events.map(([name, , attributes]) => [name, attributes ?? {}] as const)
      })),
      requestsOf: Object.fromEntries(
        tools.map(({ name }) => [name, requestsOf(injector, name)] as const).filter(([, many]) => many > 0)
      ),
      operationsOf: operationsOf(injector),
      callbacksOf: callbacksOf(injector)
    }
  })

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
export const run = <In, Out, E>(
  subject: Subject<In, Out, E>,
  scenario: Scenario<In>,
  options?: Options
): Effect.Effect<Observation<Out, E>> =>
  Effect.suspend(() => {
    checkSubject("Simulation.run", subject)
    const called = `a scenario of the subject: ${Object.keys(subject.scenarios).join(", ")}`
    OptionCheck.checkArgument("Simulation.run", "its second argument", scenario, {
      is: OptionCheck.anObject.is,
      called
    })
    const { plan = FaultPlan.none, secret, streaming = false } = options ?? {}
    const observer = new RunObserver(scenario.model, options ?? {})
    return Effect.scoped(Effect.flatMap(Layer.build(servicesOf(subject, plan, secret, observer)), (context) =>
      Effect.gen(function*() {
        const execution = Approver.run(subject.agent, scenario.input, { streaming, ...observer.callbacks }).pipe(
          Effect.provideContext(context),
          Random.withSeed(plan.seed)
        )
        const { elapsed, exit, fibers, operations, stopped } = yield* VirtualTime.run(execution, {
          ...timeOf(plan, options),
          onStart: observer.onStart
        })
        return {
          plan,
          exit,
          elapsed,
          stopped,
          fibers,
          operations,
          ...observer.observed(exit),
          ...(yield* recordedBy(subject, context))
        }
      })))
  })
