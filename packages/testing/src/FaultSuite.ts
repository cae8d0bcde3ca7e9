/** Fault suites as files: each case injects a fault into a tool and names the expected outcome. */
import { Effect, Result, Schema } from "effect"
import * as Expectation from "./Expectation.ts"
import * as FaultPlan from "./FaultPlan.ts"
import { render } from "./internal/simulation/timeline.ts"
import { prepareCase, type Prepared } from "./internal/suite/prepareCase.ts"
import { type SuiteError, suiteError } from "./internal/suite/suiteError.ts"
import { FaultSuite } from "./internal/suite/suiteFile.ts"
import * as Simulation from "./Simulation.ts"
import { checkSubject, type Subject } from "./Subject.ts"

export { SuiteError } from "./internal/suite/suiteError.ts"
export { Case, FaultSuite } from "./internal/suite/suiteFile.ts"

/**
 * The outcome of a case.
 *
 * @category models
 * @since 0.2.0
 */
export interface CaseReport {
  readonly id: string
  readonly tool: string | undefined
  readonly store: FaultPlan.Store | undefined
  readonly callback: FaultPlan.Callback | undefined
  readonly fault: string
  readonly expected: ReadonlyArray<string>
  readonly passed: boolean
  /** Why not; empty if it passed. */
  readonly misses: ReadonlyArray<string>
  /** Outcome of the run: `success`, `interrupted`, `defect`, or the tag of its error. */
  readonly outcome: string
  /** Attempts of the tool, calls of its callback, operations of the store, or calls of the model. */
  readonly attempts: number
  readonly sideEffects: number
  /** Virtual milliseconds. */
  readonly elapsed: number
  readonly observation: Simulation.Observation
}

/**
 * The outcome of a suite.
 *
 * @category models
 * @since 0.2.0
 */
export interface SuiteReport {
  readonly suite: string
  readonly subject: string
  readonly passed: boolean
  readonly cases: ReadonlyArray<CaseReport>
}

/**
 * Options of a suite.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options {
  /** Expectations of your own, besides those of `Expectation.all`. */
  readonly expectations?: Readonly<Record<string, Expectation.Expectation>> | undefined
  /** Receives each case when it has ended. */
  readonly onCase?: ((report: CaseReport, done: number, total: number) => Effect.Effect<void>) | undefined
}

const prepareAll = <In, Out, E>(
  subject: Subject<In, Out, E>,
  suite: FaultSuite,
  options: Options | undefined
): Effect.Effect<ReadonlyArray<Prepared>, SuiteError> => {
  const twice = suite.cases.find(({ id }, index) => suite.cases.findIndex((other) => other.id === id) !== index)
  return twice === undefined
    ? Effect.forEach(suite.cases, (one) => prepareCase(subject, { ...Expectation.all, ...options?.expectations }, one))
    : Effect.fail(suiteError("duplicate id", twice.id))
}

const runCase = <In, Out, E>(subject: Subject<In, Out, E>, prepared: Prepared): Effect.Effect<CaseReport> =>
  Effect.map(Simulation.run(subject, subject.scenarios[prepared.scenario]!, { plan: prepared.plan }), (observation) => {
    const { callback, case: { id }, expected, fault, store, tool } = prepared
    const name = callback === undefined ? undefined : FaultPlan.callbackName(callback, tool)
    const place = name ?? tool ?? store ?? "the model"
    const misses = observation.injected.length === 0
      ? [`the fault was not injected: ${place} was not called as often`]
      : !observation.injected.some(({ applied }) => applied)
      ? ["the fault could not be injected: the answer had no text to alter"]
      : expected.flatMap(([name, expectation, parameter]) =>
        Result.match(expectation({ observation, tool }, parameter), {
          onSuccess: () => [],
          onFailure: (why) => [expected.length === 1 ? why : `${name}: ${why}`]
        })
      )
    return {
      id,
      tool,
      store,
      callback,
      fault,
      expected: expected.map(([name]) => name),
      passed: misses.length === 0,
      misses,
      outcome: Simulation.outcome(observation),
      attempts: name !== undefined
        ? observation.callbacksOf[name] ?? 0
        : store !== undefined
        ? observation.operationsOf[store]
        : tool === undefined
        ? observation.events.filter(({ _tag }) => _tag === "ModelTurnStarted").length
        : [...Simulation.attempts(observation, tool).values()].reduce((sum, times) => sum + times, 0),
      sideEffects: observation.sideEffects.filter(({ duplicate }) => !duplicate).length,
      elapsed: observation.elapsed,
      observation
    }
  })

/**
 * Reads a suite.
 *
 * **Example** (Not a suite)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { FaultSuite } from "@recourse/testing"
 *
 * Effect.runSync(Effect.flip(FaultSuite.parse("{\"cases\": []}"))).problem // => "not a suite"
 * ```
 *
 * @category decoding
 * @since 0.2.0
 */
export const parse = (json: string): Effect.Effect<FaultSuite, SuiteError> =>
  Schema.decodeUnknownEffect(Schema.fromJsonString(FaultSuite))(json).pipe(
    Effect.mapError(({ issue }) => suiteError("not a suite", String(issue)))
  )

/**
 * Runs a suite on a subject, each case in a world of its own, in virtual time.
 *
 * A case whose fault never came about is a miss. An unknown fault, tool, scenario or expectation is a `SuiteError`, before
 * anything is run.
 *
 * **Example** (A suite of one case)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { FaultSuite, ScriptedModel, Subject } from "@recourse/testing"
 *
 * const Lookup = Tool.make("lookup", {
 *   success: Schema.String,
 *   effects: "read",
 *   timeout: "3 seconds",
 *   execute: () => Effect.succeed("Ada")
 * })
 * const subject = Subject.make({
 *   agent: Agent.make("crm", { tools: [Lookup], defaults: { onError: Recovery.standard } }),
 *   tools: [Lookup],
 *   scenarios: { default: { input: "Who?", model: [ScriptedModel.call("lookup", {}), ScriptedModel.text("Ada")] } }
 * })
 *
 * const report = await Effect.runPromise(FaultSuite.run(subject, {
 *   suite: "example",
 *   cases: [{ id: "once", tool: "lookup", fault: { type: "timeout", times: 1 }, expected: "retry_then_success" }]
 * }))
 *
 * report.passed // => true
 * report.cases[0]?.attempts // => 2
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const run = <In, Out, E>(
  subject: Subject<In, Out, E>,
  suite: FaultSuite,
  options?: Options
): Effect.Effect<SuiteReport, SuiteError> =>
  Effect.gen(function*() {
    checkSubject("FaultSuite.run", subject)
    const prepared = yield* prepareAll(subject, suite, options)
    const cases: Array<CaseReport> = []
    for (const one of prepared) {
      const report = yield* runCase(subject, one)
      cases.push(report)
      yield* options?.onCase?.(report, cases.length, prepared.length) ?? Effect.void
    }
    return { suite: suite.suite, subject: subject.name, passed: cases.every(({ passed }) => passed), cases }
  })

/**
 * Functions of a test runner: vitest, jest, `node:test` and the like.
 *
 * @category models
 * @since 0.2.0
 */
export interface TestRunner {
  readonly describe: (name: string, define: () => void) => unknown
  readonly it: (name: string, run: () => Promise<void>, timeout?: number) => unknown
}

/**
 * A case of a suite did not come out as expected.
 *
 * @category errors
 * @since 0.2.0
 */
export class CaseMissed extends Schema.TaggedError<CaseMissed>()("CaseMissed", {
  suite: Schema.String,
  case: Schema.String,
  misses: Schema.Array(Schema.String),
  /** Events, line by line. */
  timeline: Schema.String
}) {
  override get message(): string {
    return `${this.suite} / ${this.case}: ${this.misses.join("; ")}\n\n${this.timeline}\n`
  }
}

/**
 * Makes a test of each case. `runner` are the exports of the test runner: `FaultSuite.test(vitest, subject, suite)`. A
 * suite that cannot be run on the subject is one failing test.
 *
 * @category testing
 * @since 0.2.0
 */
export const test = <In, Out, E>(
  runner: TestRunner,
  subject: Subject<In, Out, E>,
  suite: FaultSuite,
  options?: Options
): void => {
  runner.describe(suite.suite, () => {
    const prepared = Effect.runSync(Effect.result(prepareAll(subject, suite, options)))
    if (Result.isFailure(prepared)) {
      runner.it("can be run", () => Effect.runPromise(Effect.fail(prepared.failure)))
      return
    }
    for (const one of prepared.success) {
      runner.it(
        one.case.id,
        () =>
          Effect.runPromise(
            Effect.flatMap(runCase(subject, one), ({ id, misses, observation, passed }) =>
              passed ? Effect.void : Effect.fail(
                new CaseMissed({ suite: suite.suite, case: id, misses, timeline: render(observation) })
              ))
          )
      )
    }
  })
}
