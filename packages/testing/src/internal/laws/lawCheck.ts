/** Check of the laws on one subject: tries cases, counts their runs, and shrinks the first case that breaks a law. */
import { Cause, Effect, Exit } from "effect"
import * as FaultPlan from "../../FaultPlan.ts"
import type { Subject } from "../../Subject.ts"
import * as Simulation from "../simulation/simulation.ts"
import { type Basics, basics, type Case } from "./basics.ts"
import { type Besides, type Coverage, coverage } from "./coverage.ts"
import { faultTargets } from "./faultTargets.ts"
import type { Law, Trial, Violation } from "./law.ts"
import { decodeCase, type LawBroken, lawBroken } from "./lawBroken.ts"
import { drawing, inOrder, simplerThan } from "./plans.ts"
import { operationsOf, tryCase, tryInterrupted } from "./trials.ts"

/** The laws to check. */
export interface Checked {
  /** By name; the first that a trial breaks is reported. */
  readonly laws: ReadonlyArray<readonly [name: string, law: Law]>
  /** Names of laws that are reported only if no plan breaks another one. */
  readonly last: ReadonlySet<string>
}

/** The plans to try. */
export interface Plans {
  readonly runs: number | undefined
  readonly seed: number
  readonly faults: number
}

/** A trial, and the first law that it breaks. */
interface Judged {
  readonly trial: Trial
  readonly broken: (Violation & { readonly law: string }) | undefined
}

/** Most cases that are tried to shrink one. */
const mostShrinks = 300

const isInterrupted = ({ exit }: Simulation.Observation): boolean =>
  Exit.isFailure(exit) && Cause.hasInterrupts(exit.cause)

const increment = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)

/** Starts a check by a run of each scenario without faults. */
export const startLawCheck = <In, Out, E>(
  subject: Subject<In, Out, E>,
  checked: Checked
): Effect.Effect<LawCheck<In, Out, E>> =>
  Effect.map(
    Effect.forEach(
      Object.entries(subject.scenarios),
      ([name, scenario]) => Effect.map(Simulation.run(subject, scenario), (run) => [name, run] as const)
    ),
    (faultless) => new LawCheck(subject, checked, Object.fromEntries(faultless))
  )

/** A check in progress. */
export class LawCheck<In, Out, E> {
  private readonly subject: Subject<In, Out, E>
  private readonly checked: Checked
  private readonly faultless: Readonly<Record<string, Simulation.Observation>>
  private readonly targets: Besides
  private readonly coverage: Coverage
  private readonly injected = new Map<string, number>()
  private readonly outcomes = new Map<string, number>()
  private pauses = 0
  private interrupted = 0
  /** The first case that breaks a law of `last`. */
  private postponed: { readonly one: Case; readonly law: string } | undefined

  constructor(
    subject: Subject<In, Out, E>,
    checked: Checked,
    faultless: Readonly<Record<string, Simulation.Observation>>
  ) {
    this.subject = subject
    this.checked = checked
    this.faultless = faultless
    this.targets = faultTargets(subject, Object.values(faultless))
    this.coverage = coverage(subject)
  }

  /** Tries the case of a `LawBroken.replay`, without shrinking it. */
  replay(text: string): Effect.Effect<void, LawBroken> {
    return Effect.flatMap(
      Effect.orDie(decodeCase(text)),
      (one) =>
        Effect.flatMap(this.attempt(one), ({ broken, trial }) => {
          if (broken !== undefined) return Effect.fail(lawBroken(one, trial, broken))
          this.count(trial.plain)
          return Effect.void
        })
    )
  }

  /** Interrupts the runs without faults, at no more than so many operations in all. */
  interruptFaultless(most: number): Effect.Effect<void, LawBroken> {
    return Effect.gen({ self: this }, function*() {
      const mostOfRun = Math.ceil(most / Object.keys(this.faultless).length)
      for (const [scenario, run] of Object.entries(this.faultless)) {
        // The first plan reports a run without an end.
        if (run.stopped !== undefined) continue
        for (const interruptAt of operationsOf(run, mostOfRun)) {
          const { broken, trial } = this.judge(yield* tryInterrupted(this.subject, scenario, run, interruptAt))
          // A failure of a run without faults and without an interruption is found, shrunk and shown with the first plan.
          if (broken?.run === "interrupted") {
            return yield* lawBroken({ interruptAt, plan: FaultPlan.none, scenario }, trial, broken)
          }
        }
      }
    })
  }

  /** Tries the basic cases and drawn ones, and returns their number. */
  tryPlans({ faults, runs: given, seed }: Plans): Effect.Effect<number, LawBroken> {
    return Effect.gen({ self: this }, function*() {
      const basic = yield* basics(this.subject, this.faultless, this.targets)
      // One in three at least is no basic one: it has a pair of faults, or is drawn.
      const runs = () => given ?? Math.max(100, Math.ceil(basic.cases.length * 1.5))
      const draw = yield* drawing(this.subject, { runs: runs(), seed, faults, besides: this.targets })
      const next = inOrder(basic.cases, draw, { runs: runs(), seed })
      for (let nth = 0; nth < runs(); nth++) {
        const one = next(nth)
        if (yield* this.tryOne(one, basic.saw)) draw.keep(one)
      }
      if (this.postponed !== undefined) return yield* this.report(this.postponed.one, this.postponed.law)
      return runs()
    })
  }

  /** The counts of all runs so far. */
  counts() {
    return {
      laws: this.checked.laws.map(([name]) => name),
      injected: Object.fromEntries(this.injected),
      outcomes: Object.fromEntries(this.outcomes),
      pauses: this.pauses,
      interrupted: this.interrupted,
      met: this.coverage.met(),
      missed: this.coverage.missed(this.targets),
      reached: this.coverage.reached(),
      unreached: this.coverage.unreached()
    }
  }

  private judge(trial: Trial): Judged {
    if (isInterrupted(trial.interrupted)) this.interrupted++
    for (const [law, holds] of this.checked.laws) {
      const violation = holds(trial)[0]
      if (violation !== undefined) return { trial, broken: { law, ...violation } }
    }
    return { trial, broken: undefined }
  }

  private attempt(one: Case): Effect.Effect<Judged> {
    const runs = { faultless: this.faultless[one.scenario]!, hasLaws: this.checked.laws.length > 0 }
    return Effect.map(tryCase(this.subject, one, runs), (trial) => this.judge(trial))
  }

  /** Tries a case, and returns whether its run has reached a new event. */
  private tryOne(one: Case, saw: Basics["saw"]): Effect.Effect<boolean, LawBroken> {
    return Effect.flatMap(this.attempt(one), ({ broken, trial: { plain } }) => {
      if (broken !== undefined) {
        if (!this.checked.last.has(broken.law)) return this.report(one, broken.law)
        this.postponed ??= { one, law: broken.law }
      }
      saw(one, plain)
      return Effect.succeed(this.count(plain))
    })
  }

  private count(run: Simulation.Observation): boolean {
    for (const { type } of run.injected) increment(this.injected, type)
    increment(this.outcomes, Simulation.outcome(run))
    this.pauses += run.pauses.length
    return this.coverage.add(run)
  }

  /** Returns a simpler case that breaks the same law, if there is one. */
  private shrink(one: Case, law: string): Effect.Effect<Case> {
    return Effect.gen({ self: this }, function*() {
      let smallest = one
      let tries = mostShrinks
      search: while (tries > 0) {
        for (const simpler of simplerThan(smallest)) {
          if (--tries < 0) break
          const { broken } = yield* this.attempt(simpler)
          if (broken?.law === law) {
            smallest = simpler
            continue search
          }
        }
        break
      }
      return smallest
    })
  }

  /** Fails with the law that a case breaks, in the smallest plan that breaks it. */
  private report(one: Case, law: string): Effect.Effect<never, LawBroken> {
    return Effect.gen({ self: this }, function*() {
      const smallest = yield* this.shrink(one, law)
      const { broken, trial } = yield* this.attempt(smallest)
      return yield* lawBroken(smallest, trial, broken!)
    })
  }
}
