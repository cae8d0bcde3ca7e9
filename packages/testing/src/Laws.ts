/**
 * Laws that hold for every agent, whatever goes wrong: checked on runs under random plans of faults.
 *
 * Each plan is run four times: as it is, once more, streamed, and interrupted at some event. A plan that breaks a law is
 * shrunk to a small one and shown with its timeline.
 */
import { Effect, Schema } from "effect"
import * as Arbitrary from "effect/Arbitrary"
import * as FaultPlan from "./FaultPlan.ts"
import type { TestRunner } from "./FaultSuite.ts"
import { Agent } from "@recourse/core"
import { type Drawn, drawn } from "./internal/laws/randomPlans.ts"
import type { Law, Trial } from "./internal/laws/law.ts"
import { pauseLaws } from "./internal/laws/pauseLaws.ts"
import { runLaws } from "./internal/laws/runLaws.ts"
import * as Simulation from "./Simulation.ts"
import type { Subject } from "./Subject.ts"
import * as Timeline from "./Timeline.ts"

export type { Law, Trial, Violation } from "./internal/laws/law.ts"
export { problemsOfHistory } from "./internal/laws/wellFormedHistory.ts"

/** The laws, by name. */
export const all = { ...runLaws, ...pauseLaws } as const satisfies Readonly<Record<string, Law>>

/** The name of a law. */
export type LawName = keyof typeof all

/** How laws are checked. */
export interface Options {
  /** How many plans. Default: 100. */
  readonly runs?: number | undefined
  /** Where chance begins: the same seed checks the same plans. Default: 1. */
  readonly seed?: number | undefined
  /** Which laws. Default: all of them. */
  readonly laws?: ReadonlyArray<LawName> | undefined
  /** Laws of your own, by name. */
  readonly more?: Readonly<Record<string, Law>> | undefined
  /** How many faults a plan has at most. Default: 4. */
  readonly faults?: number | undefined
  /** Plays a broken trial again: what `LawBroken.replay` holds. */
  readonly replay?: string | undefined
}

/** What was checked. */
export interface LawsReport {
  readonly plans: number
  readonly laws: ReadonlyArray<string>
  /** How often each fault was injected. */
  readonly injected: Readonly<Record<string, number>>
  /** How often the runs ended in which way. */
  readonly outcomes: Readonly<Record<string, number>>
  /** How often runs waited for an approval. */
  readonly pauses: number
}

/** A law does not hold. */
export class LawBroken extends Schema.TaggedError<LawBroken>()("LawBroken", {
  law: Schema.String,
  problem: Schema.String,
  /** The smallest plan that was found to break it. */
  plan: FaultPlan.FaultPlan,
  scenario: Schema.String,
  /** The event at which the run was interrupted, where it is the interrupted run that breaks the law. */
  interruptAt: Schema.optionalKey(Schema.Int),
  timeline: Schema.String,
  replay: Schema.String
}) {
  override get message(): string {
    return [
      `Law ${this.law} does not hold: ${this.problem}`,
      "",
      `Plan (scenario ${this.scenario}${
        this.interruptAt === undefined ? "" : `, interrupted at event ${this.interruptAt}`
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

/** The tools about whose calls a person may be asked: as they declare it, and as runs without faults show. */
const asksAbout = <In, Out, E>(subject: Subject<In, Out, E>): Effect.Effect<ReadonlySet<string>> =>
  Effect.gen(function*() {
    const asks = new Set(subject.tools.flatMap(({ info, name }) => info.needsApproval === undefined ? [] : [name]))
    if (!Agent.isResumable(subject.agent)) return new Set()
    for (const scenario of Object.values(subject.scenarios)) {
      const { pauses } = yield* Simulation.run(subject, scenario)
      for (const { pending } of pauses) for (const { tool } of pending) asks.add(tool)
    }
    return asks
  })

const secret = "planted-secret-5d41402abc4b2a76"

/**
 * Checks the laws on a subject under random plans of faults. The subject's `budget` is what it is held to.
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
 */
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
  let pauses = 0
  const add = (counts: Map<string, number>, key: string) => counts.set(key, (counts.get(key) ?? 0) + 1)

  const property = ({ interruptAt, plan, scenario: name }: Drawn) =>
    Effect.gen(function*() {
      const scenario = subject.scenarios[name]!
      const plain = yield* Simulation.run(subject, scenario, { plan, secret })
      const trial: Trial = {
        subject: subject as Trial["subject"],
        secret,
        plain,
        again: yield* Simulation.run(subject, scenario, { plan, secret }),
        streamed: yield* Simulation.run(subject, scenario, { plan, secret, streaming: true }),
        interrupted: yield* Simulation.run(subject, scenario, {
          plan,
          secret,
          interruptAt: Math.min(interruptAt, Math.max(1, plain.events.length - 1))
        })
      }
      for (const { type } of plain.injected) add(injected, type)
      add(outcomes, Simulation.outcome(plain))
      pauses += plain.pauses.length
      for (const [law, holds] of laws) {
        const violation = holds(trial)[0]
        if (violation !== undefined) {
          return yield* new LawBroken({
            law,
            problem: `${violation.problem} (${violation.run} run)`,
            plan,
            scenario: name,
            ...(violation.run === "interrupted" ? { interruptAt } : undefined),
            timeline: Timeline.render(trial[violation.run]),
            replay: ""
          })
        }
      }
      return true
    })

  const checked = Effect.flatMap(
    asksAbout(subject),
    (asks) =>
      Arbitrary.checkEffect(drawn(subject, options?.faults ?? 4, asks), property, {
        runs: options?.runs ?? 100,
        seed: options?.seed ?? 1,
        maxShrinks: 300,
        ...(options?.replay === undefined ? undefined : { replay: options.replay })
      })
  )
  return Effect.flatMap(
    checked,
    (result): Effect.Effect<LawsReport, LawBroken> => {
      switch (result._tag) {
        case "Passed":
          return Effect.succeed({
            plans: result.runs,
            laws: laws.map(([name]) => name),
            injected: Object.fromEntries(injected),
            outcomes: Object.fromEntries(outcomes),
            pauses
          })
        case "Falsified":
          return result.failure._tag === "PropertyError"
            ? Effect.fail(new LawBroken({ ...result.failure.error, replay: result.replay }))
            : Effect.die(new Error("A law answered neither yes nor no"))
        default:
          return Effect.die(new Error(Arbitrary.formatCheckFailure(result)))
      }
    }
  )
}

/** Makes a test of {@link check}: `Laws.test(vitest, subject)`. A broken law prints the shrunk plan and the timeline. */
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
