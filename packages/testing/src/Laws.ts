/**
 * Laws of recovery: hold for every agent, whatever goes wrong. Checked on runs under plans of faults.
 *
 * First each basic fault is injected once into each tool that is called, then pairs of faults on one call, and plans that
 * are drawn, most of them from plans that have shown something new. Each plan is run five times: as it is,
 * once more, streamed, in another order, and interrupted at one of its operations. Runs without faults are interrupted all over. A plan that breaks
 * a law is shrunk to a small one and shown with its timeline.
 */
import { Effect, Logger } from "effect"
import { type AgentEvent, OptionCheck } from "@recourse/core"
import type { TestRunner } from "./FaultSuite.ts"
import { callbackLaws } from "./internal/laws/callbackLaws.ts"
import type { Counts, Missed } from "./internal/laws/coverage.ts"
import type { Law } from "./internal/laws/law.ts"
import type { LawBroken } from "./internal/laws/lawBroken.ts"
import { startLawCheck } from "./internal/laws/lawCheck.ts"
import { pauseLaws } from "./internal/laws/pauseLaws.ts"
import { runLaws } from "./internal/laws/runLaws.ts"
import { worldLaws } from "./internal/laws/worldLaws.ts"
import { checkSubject, type Subject } from "./Subject.ts"

export type { Counts, Missed } from "./internal/laws/coverage.ts"
export type { Law, Trial, Violation } from "./internal/laws/law.ts"
export { LawBroken } from "./internal/laws/lawBroken.ts"
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
  /**
   * Checked laws. Default: all of them. With `[]` and no laws in `more`, each plan is run once: the report shows the reached faults and events
   * in a fifth of the time.
   */
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

const kinds: Readonly<Record<keyof Options, OptionCheck.Kind>> = {
  runs: OptionCheck.aPositiveCount,
  seed: OptionCheck.aNumber,
  laws: OptionCheck.listOf(OptionCheck.oneOf(...Object.keys(all))),
  more: OptionCheck.anObject,
  faults: OptionCheck.aPositiveCount,
  interruptions: OptionCheck.aCap,
  replay: OptionCheck.aString
}

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
export const check = <In, Out, E>(
  subject: Subject<In, Out, E>,
  options: Options = {}
): Effect.Effect<LawsReport, LawBroken> => {
  checkSubject("Laws.check", subject)
  OptionCheck.checkOptions("Laws.check", options, { kinds, otherNames: { plans: "runs" } })
  const names = options.laws ?? Object.keys(all) as ReadonlyArray<LawName>
  const laws: ReadonlyArray<readonly [string, Law]> = [
    ...names.map((name) => [name, all[name]] as const),
    ...Object.entries(options.more ?? {})
  ]
  const checked = Effect.gen(function*() {
    const check = yield* startLawCheck(subject, { laws, last })
    if (options.replay !== undefined) {
      yield* check.replay(options.replay)
      return { plans: 1, ...check.counts() }
    }
    yield* check.interruptFaultless(options.interruptions ?? 100)
    const plans = yield* check.tryPlans({
      runs: options.runs,
      seed: options.seed ?? 1,
      faults: options.faults ?? 4
    })
    return { plans, ...check.counts() }
  })
  // Logs of runs with failing stores would repeat a thousand times.
  return Effect.provide(checked, Logger.layer([]))
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
  { timeout, ...options }: Options & { readonly timeout?: number | undefined } = {}
): void => {
  const runs = options.runs ?? 100
  runner.it(
    `${subject.name} keeps the laws under ${runs} plans of faults`,
    () => Effect.runPromise(Effect.asVoid(check(subject, options))),
    timeout ?? 120_000
  )
}
