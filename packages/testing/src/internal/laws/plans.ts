/**
 * Choice of plans behind the basic ones: pairs of faults on one call, and variations of plans that showed something new.
 */
import { Effect } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Subject } from "../../Subject.ts"
import { chanceOf } from "../time/scheduler.ts"
import { basicOfTools, type Case } from "./basics.ts"
import type { Besides } from "./coverage.ts"
import { drawn } from "./randomPlans.ts"

/** Generates case after case; receives those that have shown a new event. */
export interface Drawing {
  readonly next: (nth: number) => Case
  readonly keep: (found: Case) => void
}

/** Draws pairs of faults on one call, changes of plans that have led to something new, and plans at random. */
export const drawing = <In, Out, E>(
  subject: Subject<In, Out, E>,
  options: { readonly runs: number; readonly seed: number; readonly faults: number; readonly besides: Besides }
): Effect.Effect<Drawing> =>
  Effect.map(
    Effect.orDie(
      Arbitrary.sampleEffect(drawn(subject, options.faults, options.besides), {
        count: options.runs,
        seed: options.seed
      })
    ),
    (samples) => {
      const chance = chanceOf(options.seed)
      const oneOf = <A>(items: ReadonlyArray<A>): A => items[Math.floor(chance() * items.length)]!
      const corpus: Array<Case> = []
      const tools = subject.tools.map(({ name }) => name)
      const pair = (sample: Case): Case => {
        const tool = oneOf(tools)
        const faults = [1, 2].map((from) => FaultPlan.onTool(tool, { type: oneOf(basicOfTools) }, { from }))
        return { ...sample, plan: { ...sample.plan, injections: faults } }
      }
      const changed = (sample: Case): Case => {
        const before = oneOf(corpus)
        const injections = [...before.plan.injections, ...sample.plan.injections.slice(0, 1)].slice(-options.faults)
        return { ...sample, scenario: before.scenario, plan: { ...sample.plan, injections } }
      }
      return {
        next: (nth) => {
          const sample = samples[nth % samples.length]!
          const which = chance()
          return which < 0.35 && tools.length > 0 && options.faults > 1
            ? pair(sample)
            : which < 0.65 && corpus.length > 0
            ? changed(sample)
            : sample
        },
        keep: (found) => {
          corpus.push(found)
        }
      }
    }
  )

/**
 * The cases in the order of their trials: the basic ones, then drawn ones. If there are more basic ones than runs, the seed chooses
 * among them, and each third case is a drawn one.
 */
export const inOrder = (
  basic: ReadonlyArray<Case>,
  draw: Drawing,
  options: { readonly runs: number; readonly seed: number }
): (nth: number) => Case => {
  const isTooMany = basic.length > options.runs
  const chance = chanceOf(options.seed)
  const tried = new Set<Case>()
  return (nth) => {
    if (isTooMany && nth % 3 === 2) return draw.next(nth)
    const left = basic.filter((one) => !tried.has(one))
    const one = left[isTooMany ? Math.floor(chance() * left.length) : 0]
    if (one === undefined) return draw.next(nth)
    tried.add(one)
    return one
  }
}

const without = <A>(items: ReadonlyArray<A>, index: number): ReadonlyArray<A> =>
  items.filter((_, other) => other !== index)

/** Simpler cases, the simplest first. */
export const simplerThan = ({ plan, ...others }: Case): ReadonlyArray<Case> => {
  const withPlan = (injections: ReadonlyArray<FaultPlan.Injection>): Case => ({
    ...others,
    plan: { ...plan, injections }
  })
  const each = (change: (injection: FaultPlan.Injection) => ReadonlyArray<FaultPlan.Injection>) =>
    plan.injections.flatMap((injection, index) =>
      change(injection).map((simpler) => withPlan(plan.injections.with(index, simpler)))
    )
  return [
    ...plan.injections.flatMap((_, index) => {
      const fewer = without(plan.injections, index)
      return [withPlan(fewer), withPlan(fewer.map((injection) => ({ ...injection, from: 1 })))]
    }),
    // Two faults of one tool in a row may be one that lasts.
    ...plan.injections.flatMap((injection, index) =>
      plan.injections.flatMap((other, at) =>
        at === index || !("tool" in injection) || !("tool" in other) || injection.tool !== other.tool ||
          FaultPlan.isOfCallback(injection) !== FaultPlan.isOfCallback(other)
          ? []
          : [withPlan(without(plan.injections.with(index, { ...injection, times: injection.times + other.times }), at))]
      )
    ),
    ...each(({ probability, ...certain }) => probability === undefined ? [] : [certain as FaultPlan.Injection]),
    ...each((injection) => injection.times === 1 ? [] : [{ ...injection, times: injection.times - 1 }]),
    ...each((injection) => injection.from === 1 ? [] : [{ ...injection, from: injection.from - 1 }]),
    ...[1, Math.floor(others.interruptAt / 2), others.interruptAt - 1]
      .filter((at, index, all) => at >= 1 && at < others.interruptAt && all.indexOf(at) === index)
      .map((interruptAt) => ({ ...others, plan, interruptAt }))
  ]
}
