/**
 * Experiments: several agents answer the cases of a data set, over several seeds, and scorers rate the answers. A table
 * and a picture compare them; a gate fails if one is not good enough.
 */
import { Clock, Effect, Exit, Random, Result, Schema } from "effect"
import { type Agent, ConfigurationError, OptionCheck, type RunRecord } from "@recourse/core"
import { type Estimate, mean, share } from "./internal/experiment/share.ts"
import type * as Scorer from "./Scorer.ts"

export type { Estimate } from "./internal/experiment/share.ts"

/**
 * A case of a data set.
 *
 * @category models
 * @since 0.2.0
 */
export interface Case<out In, out Expected = undefined> {
  /** Names it in reports. Default: its number, from 1. */
  readonly id?: string | undefined
  readonly input: In
  readonly expected: Expected
}

/**
 * A line of a data set that is no case.
 *
 * @category errors
 * @since 0.2.0
 */
export class DataSetError extends Schema.TaggedError<DataSetError>()("DataSetError", {
  /** From 1. */
  line: Schema.Int,
  problem: Schema.String
}) {
  override get message(): string {
    return `Line ${this.line} of the data set is no case: ${this.problem}`
  }
}

/**
 * Reads a data set: JSON Lines, an object `{ "id"?, "input", "expected"? }` a line; empty lines are left out. Input and expected answer are
 * read by their schemas.
 *
 * **Example** (Two cases)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Experiment } from "@recourse/testing"
 *
 * const cases = Experiment.parseCases(`{"input":"My bill is wrong","expected":"billing"}
 * {"id":"late","input":"Where is it?","expected":"orders"}`, { input: Schema.String, expected: Schema.String })
 *
 * (await Effect.runPromise(cases)).map(({ id }) => id) // => ["1", "late"]
 * ```
 *
 * @category decoding
 * @since 0.2.0
 */
export const parseCases = <In extends Schema.Top, Expected extends Schema.Top>(
  text: string,
  schemas: { readonly input: In; readonly expected: Expected }
): Effect.Effect<
  ReadonlyArray<Case<In["Type"], Expected["Type"]>>,
  DataSetError,
  In["DecodingServices"] | Expected["DecodingServices"]
> => {
  const Line = Schema.fromJsonString(Schema.Struct({ id: Schema.optionalKey(Schema.String), ...schemas }))
  const decode = Schema.decodeUnknownEffect(Line)
  const lines = text.split("\n").flatMap((line, index) => line.trim() === "" ? [] : [{ line, number: index + 1 }])
  return Effect.forEach(lines, ({ line, number }, index) =>
    Effect.mapBoth(decode(line), {
      onFailure: (error) => new DataSetError({ line: number, problem: error.message }),
      onSuccess: (read) => ({ id: String(index + 1), ...read })
    })) as never
}

/**
 * One run: the result of one case, with one seed.
 *
 * @category models
 * @since 0.2.0
 */
export interface Trial {
  readonly case: string
  readonly seed: number
  /** The answer, or the failure of the run. */
  readonly exit: Exit.Exit<unknown, unknown>
  readonly expected: unknown
  /** By scorer. An answer that could not be scored has none; a run that failed has 0. */
  readonly scores: Readonly<Record<string, Scorer.Score>>
  readonly record: RunRecord.RunRecord
  /** Milliseconds. */
  readonly elapsed: number
}

/**
 * Measurements of one agent.
 *
 * @category models
 * @since 0.2.0
 */
export interface Candidate {
  readonly name: string
  readonly trials: ReadonlyArray<Trial>
  /** Share of the runs that did not fail. */
  readonly succeeded: Estimate
  /** By scorer: the mean, over cases. */
  readonly scores: Readonly<Record<string, Estimate>>
  /** Answers that a scorer failed on. */
  readonly unscored: number
  /** For each run. */
  readonly turns: number
  readonly tokens: number
  /** Of `Budget.layerPrices`; 0 without. */
  readonly cost: number
  /** Milliseconds, the median. */
  readonly elapsed: number
}

/**
 * Measurements of several agents.
 *
 * @category models
 * @since 0.2.0
 */
export interface Results {
  readonly title: string
  readonly cases: number
  readonly seeds: number
  readonly candidates: ReadonlyArray<Candidate>
}

/**
 * Compared agents, and their scorers.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options<In, Out, Expected, E, R, SE, SR> {
  /** Title of the table and of the picture. */
  readonly title: string
  /** The data set: see {@link parseCases}. */
  readonly cases: ReadonlyArray<Case<In, Expected>>
  /** By name: other instructions, other tools, or another model (`Agent.provide`). */
  readonly agents: Readonly<Record<string, Agent.Agent<In, Out, E, R>>>
  /** By name. */
  readonly scorers: Readonly<Record<string, Scorer.Scorer<In, Out, Expected, SE, SR>>>
  /** Number of runs of each case. The number of the run, from 1, seeds effect's `Random`. Default: 1. */
  readonly seeds?: number | undefined
  /** Number of concurrent runs. Default: 4. */
  readonly concurrency?: number | undefined
}

const kinds: Readonly<Record<keyof Options<0, 0, 0, 0, 0, 0, 0>, OptionCheck.Kind>> = {
  title: OptionCheck.aString,
  cases: OptionCheck.anArray,
  agents: OptionCheck.anObject,
  scorers: OptionCheck.anObject,
  seeds: OptionCheck.aPositiveCount,
  concurrency: OptionCheck.aLimit
}

/** A score that is one. */
const checked = (name: string, score: Scorer.Score): Scorer.Score => {
  if (score.value >= 0 && score.value <= 1) return score
  const problem = `a score is a number from 0 to 1, and this is ${score.value}`
  throw new ConfigurationError.ConfigurationError({ subject: `Scorer "${name}"`, problem })
}

const median = (values: ReadonlyArray<number>): number =>
  values.toSorted((a, b) => a - b)[Math.ceil(values.length / 2) - 1] ?? 0

const trial = <In, Out, Expected, E, R, SE, SR>(
  { agent, one: { expected, input }, id, scorers, seed }: {
    readonly agent: Agent.Agent<In, Out, E, R>
    readonly one: Case<In, Expected>
    readonly id: string
    readonly scorers: Options<In, Out, Expected, E, R, SE, SR>["scorers"]
    readonly seed: number
  }
): Effect.Effect<Trial, never, R | SR> =>
  Effect.gen(function*() {
    const start = yield* Clock.currentTimeMillis
    const { exit, ...record } = yield* agent.report(input)
    const elapsed = (yield* Clock.currentTimeMillis) - start
    const scores: Record<string, Scorer.Score> = {}
    for (const [name, scorer] of Object.entries(scorers)) {
      const scored: Exit.Exit<Scorer.Score, SE> = Exit.isSuccess(exit)
        ? yield* Effect.exit(scorer({ input, output: exit.value, expected, record, seed }))
        : Exit.succeed({ value: 0, reason: "the run failed" })
      if (Exit.isSuccess(scored)) scores[name] = checked(name, scored.value)
    }
    return { case: id, seed, exit, expected, scores, record, elapsed }
  }).pipe(Random.withSeed(`${seed}`))

const candidate = (name: string, trials: ReadonlyArray<Trial>, scorers: ReadonlyArray<string>): Candidate => {
  const perRun = (value: (trial: Trial) => number) =>
    trials.length === 0 ? 0 : trials.reduce((sum, one) => sum + value(one), 0) / trials.length
  const byCase = [...Map.groupBy(trials, (one) => one.case).values()]
  const valuesOf = (scorer: string) =>
    byCase.map((runs) => runs.flatMap(({ scores }) => Object.hasOwn(scores, scorer) ? [scores[scorer]!.value] : []))
  return {
    name,
    trials,
    succeeded: share(trials.filter(({ exit }) => Exit.isSuccess(exit)).length, trials.length),
    scores: Object.fromEntries(scorers.map((scorer) => [scorer, mean(valuesOf(scorer))])),
    unscored: trials.reduce((sum, { scores }) => sum + scorers.length - Object.keys(scores).length, 0),
    turns: perRun(({ record }) => record.usage.turns),
    tokens: perRun(({ record }) => record.usage.totalTokens),
    cost: perRun(({ record }) => record.usage.cost),
    elapsed: median(trials.map(({ elapsed }) => elapsed))
  }
}

/**
 * Runs each agent on each case, and scores the answers. It does not fail: a run that fails has the score 0, an answer that a scorer
 * fails on is counted as `unscored`.
 *
 * **Example** (Do the instructions matter?)
 *
 * ```ts
 * import { Effect, Result } from "effect"
 * import { Agent } from "@recourse/core"
 * import { Experiment, Scorer } from "@recourse/testing"
 *
 * const triage = (words: Readonly<Record<string, string>>) =>
 *   Agent.fromFunction("triage", (mail: string) =>
 *     Effect.succeed(Object.keys(words).filter((word) => mail.includes(word)).map((word) => words[word]!)[0] ?? "desk"))
 *
 * const results = await Effect.runPromise(Experiment.run({
 *   title: "Triage",
 *   cases: [
 *     { input: "My bill is wrong", expected: "billing" },
 *     { input: "Where is my parcel?", expected: "orders" }
 *   ],
 *   agents: { short: triage({ bill: "billing" }), long: triage({ bill: "billing", parcel: "orders" }) },
 *   scorers: { department: Scorer.exact }
 * }))
 *
 * results.candidates.map(({ name, scores }) => [name, scores["department"]!.rate]) // => [["short", 0.5], ["long", 1]]
 * Result.isFailure(Experiment.gate(results, { department: 0.9 })) // => true
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const run = <In, Out, Expected, E, R, SE = never, SR = never>(
  options: Options<In, Out, Expected, E, R, SE, SR>
): Effect.Effect<Results, never, R | SR> => {
  OptionCheck.checkOptions("Experiment", options, { kinds, otherNames: { runs: "seeds" } })
  const { agents, cases, concurrency = 4, scorers, seeds = 1, title } = options
  const runs = Object.entries(agents).flatMap(([name, agent]) =>
    cases.flatMap((one, index) =>
      Array.from({ length: seeds }, (_, seed) => ({ name, agent, one, id: one.id ?? `${index + 1}`, seed: seed + 1 }))
    )
  )
  return Effect.map(
    Effect.forEach(
      runs,
      ({ name, ...one }) => Effect.map(trial({ ...one, scorers }), (trial) => ({ name, trial })),
      { concurrency }
    ),
    (trials) => {
      const byName = Map.groupBy(trials, ({ name }) => name)
      return {
        title,
        cases: cases.length,
        seeds,
        candidates: Object.keys(agents).map((name) =>
          candidate(name, (byName.get(name) ?? []).map(({ trial }) => trial), Object.keys(scorers))
        )
      }
    }
  )
}

/**
 * Required minima, by scorer, from 0 to 1. `succeeded` is the share of the runs that did not fail.
 *
 * @category models
 * @since 0.2.0
 */
export type Thresholds = Readonly<Record<string, number>>

/**
 * A measure that is below its threshold.
 *
 * @category models
 * @since 0.2.0
 */
export interface Missed {
  readonly agent: string
  readonly measure: string
  readonly wanted: number
  readonly got: Estimate
}

/**
 * An experiment did not reach its thresholds. The message is a report for people: the missed thresholds, and their
 * cases.
 *
 * @category errors
 * @since 0.2.0
 */
export class BelowThreshold extends Schema.TaggedError<BelowThreshold>()("BelowThreshold", {
  title: Schema.String,
  missed: Schema.Array(
    Schema.Struct({ agent: Schema.String, measure: Schema.String, wanted: Schema.Number, got: Schema.Number })
  ),
  report: Schema.String
}) {
  override get message(): string {
    return this.report
  }
}

/**
 * Options of a gate.
 *
 * @category options
 * @since 0.2.0
 */
export interface GateOptions {
  /** Agents that have to reach them. Default: all. */
  readonly agents?: ReadonlyArray<string> | undefined
  /** `"mean"`: the measured value. `"low"`: the lower end of its interval, so that a lucky run does not pass. Default: `"mean"`. */
  readonly by?: "mean" | "low" | undefined
  /** Number of the worst cases in the report of each missed measure. Default: 3. */
  readonly worst?: number | undefined
}

/**
 * Checks an experiment against thresholds: returns the results, or fails with a {@link BelowThreshold} whose message
 * names the misses. An unscored answer counts as a miss, and so does a threshold for a missing measure.
 *
 * @category running
 * @since 0.2.0
 */
export const gate = (
  results: Results,
  thresholds: Thresholds,
  options?: GateOptions
): Result.Result<Results, BelowThreshold> => {
  const { agents, by = "mean", worst = 3 } = options ?? {}
  const measured = results.candidates.filter(({ name }) => agents === undefined || agents.includes(name))
  const missed = measured.flatMap((one) =>
    Object.entries(thresholds).flatMap(([measure, wanted]): ReadonlyArray<Missed> => {
      const got = measure === "succeeded"
        ? one.succeeded
        : Object.hasOwn(one.scores, measure)
        ? one.scores[measure]!
        : { rate: 0, low: 0, high: 0 }
      return (by === "mean" ? got.rate : got.low) >= wanted ? [] : [{ agent: one.name, measure, wanted, got }]
    })
  )
  const unscored = measured.filter((one) => one.unscored > 0)
  const absent = (agents ?? []).filter((name) => !results.candidates.some((one) => one.name === name))
  if (missed.length + unscored.length + absent.length === 0 && measured.length > 0) return Result.succeed(results)
  return Result.fail(
    new BelowThreshold({
      title: results.title,
      missed: missed.map(({ agent, got, measure, wanted }) => ({
        agent,
        measure,
        wanted,
        got: by === "mean" ? got.rate : got.low
      })),
      report: reportOf(results, measured, missed, { by, worst, absent })
    })
  )
}

const percent = (rate: number): string => `${(rate * 100).toFixed(1)} %`

const shortText = (value: unknown): string => {
  const text = typeof value === "string" ? value : JSON.stringify(value) ?? String(value)
  return text.length <= 80 ? text : `${text.slice(0, 79)}…`
}

const worstOf = ({ trials }: Candidate, measure: string, count: number): ReadonlyArray<string> => {
  const valueOf = ({ exit, scores }: Trial) =>
    measure === "succeeded" ? Number(Exit.isSuccess(exit)) : scores[measure]?.value ?? 0
  return trials.filter((one) => valueOf(one) < 1).toSorted((a, b) => valueOf(a) - valueOf(b)).slice(0, count).map(
    (one) => {
      const got = Exit.isSuccess(one.exit) ? shortText(one.exit.value) : "the run failed"
      const reason = one.scores[measure]?.reason
      const expected = one.expected === undefined ? "" : `, expected ${shortText(one.expected)}`
      return `    case ${one.case}, seed ${one.seed}: ${valueOf(one)}: ${got}${expected}${
        reason === undefined || !Exit.isSuccess(one.exit) ? "" : ` (${shortText(reason)})`
      }`
    }
  )
}

const reportOf = (
  { title }: Results,
  measured: ReadonlyArray<Candidate>,
  missed: ReadonlyArray<Missed>,
  { absent, by, worst }: { readonly by: "mean" | "low"; readonly worst: number; readonly absent: ReadonlyArray<string> }
): string =>
  [
    `${title}: not good enough`,
    ...missed.flatMap(({ agent, got, measure, wanted }) => [
      `  ${agent}, ${measure}: ${percent(by === "mean" ? got.rate : got.low)}${
        by === "low" ? ` (lower end; mean ${percent(got.rate)})` : ""
      }, wanted ${percent(wanted)}`,
      ...worstOf(measured.find(({ name }) => name === agent)!, measure, worst)
    ]),
    ...measured.flatMap(({ name, unscored }) =>
      unscored === 0 ? [] : [`  ${name}: ${unscored} answers could not be scored`]
    ),
    ...absent.map((name) => `  ${name}: there is no such agent`),
    ...(measured.length === 0 ? ["  there is no agent to measure"] : [])
  ].join("\n")

export { type Compared, type Measured, svg, table } from "./internal/experiment/report.ts"
