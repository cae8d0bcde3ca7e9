/** One run of a subject under a plan of faults, in virtual time, and everything that can be observed of it. */
import { Cause, Context, Effect, Exit, Layer, Option, Random } from "effect"
import { AgentEvent, RunRecord, ToolInterceptor } from "recourse"
import * as FaultPlan from "./FaultPlan.ts"
import * as Faults from "./Faults.ts"
import * as ScriptedModel from "./ScriptedModel.ts"
import * as SideEffects from "./SideEffects.ts"
import type { Scenario, Subject } from "./Subject.ts"
import * as TestTracer from "./TestTracer.ts"
import * as VirtualTime from "./VirtualTime.ts"

/** A span as far as exporters show it, its cause apart. */
export interface SpanRecord {
  readonly name: string
  readonly attributes: Readonly<Record<string, unknown>>
  readonly events: ReadonlyArray<readonly [name: string, attributes: Readonly<Record<string, unknown>>]>
}

/** Everything that can be observed of a run. */
export interface Observation<out Out = unknown, out E = unknown> {
  readonly plan: FaultPlan.FaultPlan
  readonly exit: Exit.Exit<Out, E>
  readonly record: RunRecord.RunRecord | undefined
  readonly events: ReadonlyArray<AgentEvent.AgentEvent>
  readonly requests: ReadonlyArray<ScriptedModel.Request>
  readonly injected: ReadonlyArray<Faults.Injected>
  readonly sideEffects: ReadonlyArray<SideEffects.SideEffect>
  readonly spans: ReadonlyArray<SpanRecord>
  /** The tools that were executed and hand an idempotency key on. */
  readonly keyed: ReadonlyArray<string>
  /** Virtual milliseconds. */
  readonly elapsed: number
  /** Why the run was stopped from outside, if it was: it hung, or did not come to an end. */
  readonly stopped: VirtualTime.Ended<Out, E>["stopped"]
  /** Whether it was interrupted as `interruptAt` asked. */
  readonly interrupted: boolean
  /** Fibers that were left behind. */
  readonly fibers: number
}

/** How a subject is run. */
export interface Options {
  readonly plan?: FaultPlan.FaultPlan | undefined
  /** Whether model calls are streamed. Default: no. */
  readonly streaming?: boolean | undefined
  /** The event after which the run is interrupted; 1 is the first. */
  readonly interruptAt?: number | undefined
  /** A text that stands in every injected error. */
  readonly secret?: string | undefined
}

/**
 * Runs a subject once. Does not fail: what went wrong is in the observation. Each run has a world, a clock and a source
 * of chance of its own, so the same plan gives the same observation.
 *
 * **Example** (How long does it take when the first call times out?)
 *
 * ```ts
 * import { Effect, Exit, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "recourse"
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
 * observed.elapsed // => 3200
 * ```
 */
export const run = <In, Out, E>(
  subject: Subject<In, Out, E>,
  scenario: Scenario<In>,
  options?: Options
): Effect.Effect<Observation<Out, E>> =>
  Effect.suspend(() => {
    const { interruptAt, secret, streaming = false } = options ?? {}
    const plan = options?.plan ?? FaultPlan.none
    const events: Array<AgentEvent.AgentEvent> = []
    let record: RunRecord.RunRecord | undefined
    let control: VirtualTime.Control
    let interrupted = false

    const keyed = new Set<string>()
    const intercept: ToolInterceptor.Interceptor = ({ passesKey, tool }, execute) => {
      if (passesKey) keyed.add(tool)
      return execute
    }
    const listener = (event: AgentEvent.AgentEvent) =>
      Effect.suspend(() => {
        if (events.push(event) !== interruptAt) return Effect.void
        interrupted = true
        control.interrupt()
        return Effect.yieldNow
      })
    const onRecord = (ended: () => RunRecord.RunRecord) => {
      record = ended()
    }
    const services = Faults.layer(plan, { failures: subject.failures, secret }).pipe(
      Layer.provideMerge(ScriptedModel.layer(scenario.model)),
      Layer.provideMerge(Layer.mergeAll(
        SideEffects.layer,
        TestTracer.layer,
        AgentEvent.listen(listener),
        Layer.succeed(ToolInterceptor.ToolInterceptor, intercept)
      ))
    )
    return Effect.scoped(Effect.flatMap(Layer.build(services), (context) =>
      Effect.gen(function*() {
        const execution = subject.agent.execute(scenario.input, { streaming, onRecord }).pipe(
          Effect.provideContext(context),
          Random.withSeed(plan.seed)
        )
        const ended = yield* VirtualTime.run(execution, {
          onStart: (given) => {
            control = given
          }
        })
        const { exit } = ended
        const spans = yield* Context.get(context, TestTracer.TestTracer).spans
        return {
          plan,
          exit,
          record: record ?? (Exit.isFailure(exit) ? Option.getOrUndefined(RunRecord.fromCause(exit.cause)) : undefined),
          events,
          requests: yield* Context.get(context, ScriptedModel.ScriptedModel).requests,
          injected: yield* Context.get(context, Faults.FaultLog).injected,
          sideEffects: yield* Context.get(context, SideEffects.SideEffects).all,
          spans: spans.map((span) => ({
            name: span.name,
            attributes: Object.fromEntries(span.attributes),
            events: span.events.map(([name, , attributes]) => [name, attributes ?? {}] as const)
          })),
          keyed: [...keyed],
          elapsed: ended.elapsed,
          stopped: ended.stopped,
          interrupted,
          fibers: ended.fibers
        }
      })))
  })

/** How a run ended, in one word: `success`, `interrupted`, `defect`, or the tag of its error. */
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
