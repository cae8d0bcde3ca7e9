/**
 * Laws of recovery: hold for every agent, whatever goes wrong. Checked on runs under plans of faults.
 *
 * First each basic fault is injected once into each tool that is called, then pairs of faults on one call, and plans that
 * are drawn, most of them from plans that have shown something new. Each plan is run five times: as it is,
 * once more, streamed, in another order, and interrupted at one of its operations. Runs without faults are interrupted all over. A plan that breaks
 * a law is shrunk to a small one and shown with its timeline.
 */
/* oxlint-disable max-lines -- checks, options and report are one module to their users */
import { Cause, Effect, Exit, Logger, Schema } from "effect"
import * as FaultPlan from "./FaultPlan.ts"
import type { TestRunner } from "./FaultSuite.ts"
import { Agent, type AgentEvent } from "@recourse/core"
import { type Besides, type Counts, coverage, type Missed } from "./internal/laws/coverage.ts"
import { callbackLaws } from "./internal/laws/callbackLaws.ts"
import type { Law, Trial } from "./internal/laws/law.ts"
import { pauseLaws } from "./internal/laws/pauseLaws.ts"
import { type Basics, basics, type Case } from "./internal/laws/basics.ts"
import { drawing, inOrder, simplerThan } from "./internal/laws/plans.ts"
import { sentences } from "./internal/laws/sentences.ts"
import { runLaws } from "./internal/laws/runLaws.ts"
import { worldLaws } from "./internal/laws/worldLaws.ts"
import * as Simulation from "./Simulation.ts"
import type { Subject } from "./Subject.ts"
import * as Timeline from "./Timeline.ts"

export type { Counts, Missed } from "./internal/laws/coverage.ts"
export type { Law, Trial, Violation } from "./internal/laws/law.ts"
export { problemsOfHistory } from "./internal/laws/wellFormedHistory.ts"

const { no_duplicate_side_effects, runs_end, ...ofWorld } = worldLaws
const { same_seed_same_keys, same_seed_same_run, writes_at_most_once, ...ofRuns } = runLaws

/**
 * The laws, by name: explaining ones come first.
 *
 * @category constants
 * @since 0.2.0
 */
export const all = {
  runs_end,
  writes_at_most_once,
  no_duplicate_side_effects,
  same_seed_same_run,
  ...ofWorld,
  ...ofRuns,
  ...pauseLaws,
  ...callbackLaws,
  same_seed_same_keys
} as const satisfies Readonly<Record<string, Law>>

/** Laws that are reported only if no plan breaks another law, because another law shows the damage. */
const last: ReadonlySet<string> = new Set(["same_seed_same_keys" satisfies LawName])

/**
 * The name of a law.
 *
 * @category models
 * @since 0.2.0
 */
export type LawName = keyof typeof all

/**
 * Options of checks.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /**
   * Number of plans, the basic ones included. Default: 100, or half as many again as there are basic ones. If it is
   * less than the number of basic ones, the seed chooses among them.
   */
  readonly runs?: number | undefined
  /** Seed of the random numbers: the same seed checks the same plans. Default: 1. */
  readonly seed?: number | undefined
  /** Checked laws. Default: all of them. */
  readonly laws?: ReadonlyArray<LawName> | undefined
  /** Laws of your own, by name. */
  readonly more?: Readonly<Record<string, Law>> | undefined
  /** Maximum of faults in a plan. Default: 4. */
  readonly faults?: number | undefined
  /**
   * At how many of their operations the runs without faults are interrupted, spread evenly; `Infinity`: at each. Besides, each plan is
   * interrupted at one. An operation is a step of one of its fibers. Default: 100.
   */
  readonly interruptions?: number | undefined
  /** Plays a broken trial again: the value of `LawBroken.replay`. */
  readonly replay?: string | undefined
}

/**
 * Checked parts.
 *
 * @category models
 * @since 0.2.0
 */
export interface LawsReport {
  readonly plans: number
  readonly laws: ReadonlyArray<string>
  /** Number of injections of each fault. */
  readonly injected: Readonly<Record<string, number>>
  /**
   * Number of effective injections of each fault, by tool, store and callback (`"pay.compensate"`, `"audit"`) and the
   * `"model"`.
   */
  readonly met: Counts
  /** The faults that were never injected, with reasons: the unproven parts. */
  readonly missed: ReadonlyArray<Missed>
  /** Number of events by kind (`"ToolResult timeout"`), of each tool and of the `"run"`. */
  readonly reached: Counts
  /** The events that no run had: their subjects were not tested. */
  readonly unreached: ReadonlyArray<AgentEvent.AgentEvent["_tag"]>
  /** Number of runs by outcome. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Number of runs that waited for an approval. */
  readonly pauses: number
  /** Number of runs that were interrupted before their end. */
  readonly interrupted: number
}

/**
 * A law does not hold.
 *
 * @category errors
 * @since 0.2.0
 */
export class LawBroken extends Schema.TaggedError<LawBroken>()("LawBroken", {
  law: Schema.String,
  problem: Schema.String,
  /** The smallest plan that was found to break it. */
  plan: FaultPlan.FaultPlan,
  scenario: Schema.String,
  /** The operation before which the run was interrupted, if the interrupted run breaks the law. */
  interruptAt: Schema.optionalKey(Schema.Int),
  timeline: Schema.String,
  replay: Schema.String
}) {
  override get message(): string {
    return [
      `Law ${this.law} does not hold: ${this.problem}`,
      ...(Object.hasOwn(sentences, this.law) ? [sentences[this.law]!] : []),
      "",
      `Plan (scenario ${this.scenario}${
        this.interruptAt === undefined ? "" : `, interrupted at operation ${this.interruptAt}`
      }):`,
      FaultPlan.print(this.plan),
      "",
      "Timeline:",
      this.timeline,
      "",
      `Replay: ${this.replay}`
    ].join("\n")
  }
}

/**
 * Further places of faults: the tools whose calls may need a person, by declaration and by runs without faults, the
 * used stores, and the declared callbacks. Runs with decisions provide the audit records.
 */
const besides = <In, Out, E>(
  subject: Subject<In, Out, E>,
  faultless: ReadonlyArray<Simulation.Observation>
): Besides => ({
  asks: Agent.isResumable(subject.agent)
    ? new Set([
      ...subject.tools.flatMap(({ info, name }) => info.approval.isNeeded === undefined ? [] : [name]),
      ...faultless.flatMap(({ pauses }) => pauses.flatMap(({ pending }) => pending.map(({ tool }) => tool)))
    ])
    : new Set(),
  services: new Map(
    subject.tools.flatMap(({ name }) => {
      const requests = Math.max(...faultless.map(({ requestsOf }) => requestsOf[name] ?? 0))
      return requests === 0 ? [] : [[name, requests] as const]
    })
  ),
  stores: new Map(
    FaultPlan.Store.literals.flatMap((store) => {
      const operations = Math.max(...faultless.map(({ operationsOf }) => operationsOf[store]))
      return operations === 0 ? [] : [[store, operations] as const]
    })
  ),
  callbacks: [
    ...subject.tools.flatMap(({ info: { compensation }, name: tool }) =>
      compensation === undefined ? [] : [
        { callback: "compensate", tool } as const,
        ...(compensation.canReconcile ? [{ callback: "reconcile", tool } as const] : [])
      ]
    ),
    ...(faultless.some(({ audit }) => audit.length > 0) ? [{ callback: "audit" } as const] : [])
  ]
})

const CaseJson = Schema.fromJsonString(
  Schema.Struct({ plan: FaultPlan.FaultPlan, scenario: Schema.String, interruptAt: Schema.Int })
)

const decodeCase = Schema.decodeEffect(CaseJson)
const encodeCase = Schema.encodeSync(CaseJson)

/** The operation of a run for a random number: 1 is the first. */
const operationOf = (drawn: number, { operations }: Simulation.Observation): number =>
  1 + (drawn - 1) % Math.max(1, operations)

/** Runs a case as it is, once more, streamed, in another order, and interrupted. */
const tryCase = <In, Out, E>(
  subject: Subject<In, Out, E>,
  { interruptAt, plan, scenario: name }: Case,
  faultless: Simulation.Observation
): Effect.Effect<Trial> =>
  Effect.gen(function*() {
    const scenario = subject.scenarios[name]!
    const plain = yield* Simulation.run(subject, scenario, { plan, secret })
    const common = { subject: subject as unknown as Trial["subject"], secret, faultless, plain }
    // A run without an end is a fault, and takes long enough once.
    if (plain.stopped === "endless") {
      return { ...common, again: plain, streamed: plain, interrupted: plain, reordered: plain }
    }
    return {
      ...common,
      again: yield* Simulation.run(subject, scenario, { plan, secret }),
      streamed: yield* Simulation.run(subject, scenario, { plan, secret, streaming: true }),
      reordered: yield* Simulation.run(subject, scenario, { plan, secret, order: plan.seed }),
      interrupted: yield* Simulation.run(subject, scenario, {
        plan,
        secret,
        interruptAtOperation: operationOf(interruptAt, plain)
      })
    }
  })

/** A faultless run that is interrupted at an operation. */
const tryInterrupted = <In, Out, E>(
  subject: Subject<In, Out, E>,
  scenario: string,
  faultless: Simulation.Observation,
  interruptAtOperation: number
): Effect.Effect<Trial> =>
  Effect.map(
    Simulation.run(subject, subject.scenarios[scenario]!, { secret, interruptAtOperation }),
    (interrupted): Trial => ({
      subject: subject as unknown as Trial["subject"],
      secret,
      faultless,
      plain: faultless,
      again: faultless,
      streamed: faultless,
      reordered: faultless,
      interrupted
    })
  )

/** Some of the operations of a run, spread evenly over all. */
const operationsOf = ({ operations }: Simulation.Observation, most: number): ReadonlyArray<number> => {
  const count = Math.min(operations, most)
  return Array.from({ length: count }, (_, nth) => 1 + Math.floor(nth * operations / count))
}

const isInterrupted = ({ exit }: Simulation.Observation): boolean =>
  Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)

const lawBroken = (
  { interruptAt: drawn, plan, scenario }: Case,
  trial: Trial,
  { law, problem, run }: { readonly law: string; readonly problem: string; readonly run: keyof Trial & string }
) => {
  const interruptAt = operationOf(drawn, trial.plain)
  return new LawBroken({
    law,
    problem: `${problem} (${run} run)`,
    plan,
    scenario,
    ...(run === "interrupted" ? { interruptAt } : undefined),
    timeline: Timeline.render(trial[run as "plain"]),
    replay: encodeCase({ interruptAt, plan, scenario })
  })
}

/** Words, so that no rule of redaction hides a leak. */
const secret = "words planted in an inner error"

/**
 * Checks the laws on a subject under plans of faults. The subject's `budget` is the checked limit. Unproven parts are
 * in the report: `missed` names the faults that no plan could inject.
 *
 * **Example** (A hundred ways for things to go wrong)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { Laws, ScriptedModel, Subject } from "@recourse/testing"
 *
 * const Lookup = Tool.make("lookup", { success: Schema.String, effects: "read", execute: () => Effect.succeed("Ada") })
 * const budget = { turns: 5, toolCalls: 5, duration: "30 seconds" } as const
 * const subject = Subject.make({
 *   agent: Agent.make("crm", { tools: [Lookup], defaults: { onError: Recovery.standard }, budget }),
 *   tools: [Lookup],
 *   budget,
 *   scenarios: { default: { input: "Who?", model: [ScriptedModel.call("lookup", {}), ScriptedModel.text("Ada")] } }
 * })
 *
 * const report = await Effect.runPromise(Laws.check(subject, { runs: 100 }))
 *
 * report.plans // => 100
 * ```
 *
 * @category running
 * @since 0.2.0
 */
// oxlint-disable-next-line max-lines-per-function -- the options are read once, and shared by all that is checked
export const check = <In, Out, E>(
  subject: Subject<In, Out, E>,
  options?: Options
): Effect.Effect<LawsReport, LawBroken> => {
  const names = options?.laws ?? Object.keys(all) as ReadonlyArray<LawName>
  const laws: ReadonlyArray<readonly [string, Law]> = [
    ...names.map((name) => [name, all[name]] as const),
    ...Object.entries(options?.more ?? {})
  ]
  const injected = new Map<string, number>()
  const outcomes = new Map<string, number>()
  const covered = coverage(subject)
  let around: Besides = { asks: new Set(), services: new Map(), stores: new Map(), callbacks: [] }
  let pauses = 0
  let interrupted = 0
  const add = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)

  /** The first law that a trial breaks, of all or of those that are reported at once. */
  const judged = (trial: Trial) => {
    if (isInterrupted(trial.interrupted)) interrupted++
    for (const [law, holds] of laws) {
      const violation = holds(trial)[0]
      if (violation !== undefined) return { trial, broken: { law, ...violation } }
    }
    return { trial, broken: undefined }
  }
  const violated = (one: Case, faultless: Simulation.Observation) =>
    Effect.map(tryCase(subject, one, faultless), judged)

  const check = Effect.gen(function*() {
    const faultless: Record<string, Simulation.Observation> = {}
    for (const [name, scenario] of Object.entries(subject.scenarios)) {
      faultless[name] = yield* Simulation.run(subject, scenario)
    }
    around = besides(subject, Object.values(faultless))

    /** Simpler cases that break the same law, if there are any. */
    const shrunk = (one: Case, law: string) =>
      Effect.gen(function*() {
        let smallest = one
        let tries = 300
        search: while (tries > 0) {
          for (const simpler of simplerThan(smallest)) {
            if (--tries < 0) break
            const { broken } = yield* violated(simpler, faultless[simpler.scenario]!)
            if (broken?.law === law) {
              smallest = simpler
              continue search
            }
          }
          break
        }
        return smallest
      })

    /** Fails with a law that a case breaks, in the smallest plan that breaks it. */
    const report = (one: Case, law: string, shrinks: boolean) =>
      Effect.gen(function*() {
        const smallest = shrinks ? yield* shrunk(one, law) : one
        const { broken, trial } = yield* violated(smallest, faultless[smallest.scenario]!)
        return yield* lawBroken(smallest, trial, broken!)
      })

    let postponed: { readonly one: Case; readonly law: string } | undefined
    const tryOne = (one: Case, saw: Basics["saw"] | undefined) =>
      Effect.gen(function*() {
        const { broken, trial } = yield* violated(one, faultless[one.scenario]!)
        if (broken !== undefined && last.has(broken.law) && saw !== undefined) postponed ??= { one, law: broken.law }
        else if (broken !== undefined) return yield* report(one, broken.law, saw !== undefined)
        for (const { type } of trial.plain.injected) add(injected, type)
        add(outcomes, Simulation.outcome(trial.plain))
        pauses += trial.plain.pauses.length
        saw?.(one, trial.plain)
        return covered.add(trial.plain)
      })

    if (options?.replay !== undefined) {
      const replay = options.replay
      const one = yield* Effect.orDie(decodeCase(replay))
      yield* tryOne(one, undefined)
      return 1
    }
    const most = Math.ceil((options?.interruptions ?? 100) / Object.keys(faultless).length)
    for (const [scenario, run] of Object.entries(faultless)) {
      // The first plan reports a run without an end.
      if (run.stopped !== undefined) continue
      for (const interruptAt of operationsOf(run, most)) {
        const { broken, trial } = judged(yield* tryInterrupted(subject, scenario, run, interruptAt))
        // A failure of a run without faults and without an interruption is found, shrunk and shown with the first plan.
        if (broken?.run === "interrupted") {
          return yield* lawBroken({ interruptAt, plan: FaultPlan.none, scenario }, trial, broken)
        }
      }
    }
    const basic = yield* basics(subject, faultless, around)
    // One in three at least is no basic one: it has a pair of faults, or is drawn.
    const runs = () => options?.runs ?? Math.max(100, Math.ceil(basic.cases.length * 1.5))
    const seed = options?.seed ?? 1
    const draw = yield* drawing(subject, {
      runs: runs(),
      seed,
      faults: options?.faults ?? 4,
      besides: around
    })
    const next = inOrder(basic.cases, draw, { runs: runs(), seed })
    for (let nth = 0; nth < runs(); nth++) {
      const one = next(nth)
      if (yield* tryOne(one, basic.saw)) draw.keep(one)
    }
    if (postponed !== undefined) return yield* report(postponed.one, postponed.law, true)
    return runs()
  })
  // Logs of runs with failing stores would repeat a thousand times.
  return Effect.map(Effect.provide(check, Logger.layer([])), (plans) => ({
    plans,
    laws: laws.map(([name]) => name),
    injected: Object.fromEntries(injected),
    outcomes: Object.fromEntries(outcomes),
    pauses,
    interrupted,
    met: covered.met(),
    missed: covered.missed(around),
    reached: covered.reached(),
    unreached: covered.unreached()
  }))
}

/**
 * Makes a test of {@link check}: `Laws.test(vitest, subject)`. A broken law prints the shrunk plan and the timeline.
 *
 * @category testing
 * @since 0.2.0
 */
export const test = <In, Out, E>(
  runner: Pick<TestRunner, "it">,
  subject: Subject<In, Out, E>,
  options?: Options & { readonly timeout?: number | undefined }
): void => {
  const runs = options?.runs ?? 100
  runner.it(
    `${subject.name} keeps the laws under ${runs} plans of faults`,
    () => Effect.runPromise(Effect.asVoid(check(subject, options))),
    options?.timeout ?? 120_000
  )
}
