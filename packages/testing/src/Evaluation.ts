/**
 * Evaluation: how well a declaration of recovery does over many seeds of the same faults, compared with other
 * declarations.
 */
import { Effect, Predicate } from "effect"
import type * as FaultPlan from "./FaultPlan.ts"
import { promptInjection } from "./Faults.ts"
import { type Estimate, share } from "./internal/experiment/share.ts"
import { bars } from "./internal/text/barChart.ts"
import { textOf } from "./internal/text/text.ts"
import { table as textTable } from "./internal/text/textTable.ts"
import * as Simulation from "./Simulation.ts"
import type { Subject } from "./Subject.ts"

/**
 * Measurements of one declaration.
 *
 * @category models
 * @since 0.2.0
 */
export interface Measures {
  readonly name: string
  readonly runs: number
  /** Share of the runs that ended well, and the 95% interval of it. */
  readonly success: Share
  /** Share of the tool calls that succeeded: the model did not have to handle them. */
  readonly calls: Share
  /** Attempts of tools, for each run. */
  readonly attempts: number
  /** Calls of the model, for each run. */
  readonly turns: number
  /** Tokens for each run, reported by the scripted model. */
  readonly tokens: number
  /** Side effects that happened once more with the same details, over all runs. */
  readonly duplicates: number
  /** Runs in which an injected error's secret or a planted instruction reached the model or an event. */
  readonly leaks: number
  /** Virtual milliseconds. */
  readonly latency: { readonly p50: number; readonly p90: number; readonly p99: number }
}

/**
 * A share, with the interval in which it lies with 95% confidence (Wilson, JASA 22, 1927).
 *
 * @category models
 * @since 0.2.0
 */
export type Share = Estimate

/**
 * Measurements of several declarations.
 *
 * @category models
 * @since 0.2.0
 */
export interface Comparison {
  readonly title: string
  readonly measures: ReadonlyArray<Measures>
}

/**
 * Evaluated declarations, and their faults.
 *
 * @category options
 * @since 0.2.0
 */
export interface Options<In> {
  /** Title of the table and of the picture. */
  readonly title: string
  /** The plan of each seed: all declarations meet the same. */
  readonly plan: (seed: number) => FaultPlan.FaultPlan
  /** Number of seeds. Default: 200. */
  readonly seeds?: number | undefined
  /** The scenario that is played. Default: `default`. */
  readonly scenario?: string | undefined
  /** The declarations by name: the same agent but for its recovery. */
  readonly subjects: Readonly<Record<string, Subject<In, unknown, unknown>>>
  /** When a run counts as a success. Default: when it ends well. */
  readonly succeeded?: ((observation: Simulation.Observation) => boolean) | undefined
}

const secret = "planted-secret-5d41402abc4b2a76"

/** The nearest-rank percentile of sorted numbers. */
const percentile = (sorted: ReadonlyArray<number>, p: number): number =>
  sorted[Math.max(0, Math.ceil(p / 100 * sorted.length) - 1)] ?? 0

const duplicatesIn = ({ sideEffects }: Simulation.Observation): number => {
  const done = sideEffects.filter(({ duplicate }) => !duplicate).map(({ details, tool }) => textOf([tool, details]))
  return done.length - new Set(done).size
}

const leaks = (observation: Simulation.Observation): boolean => {
  const shown = textOf([observation.requests.map(({ prompt }) => prompt.content), observation.events])
  const planted = observation.injected.flatMap(({ index }) => {
    const fault = observation.plan.injections[index]?.fault
    return fault?.type === "prompt_injection" ? [fault.text ?? promptInjection] : []
  })
  return shown.includes(secret) || planted.some((text) => shown.includes(JSON.stringify(text).slice(1, -1)))
}

const measure = (
  name: string,
  runs: ReadonlyArray<Simulation.Observation>,
  succeeded: (observation: Simulation.Observation) => boolean
): Measures => {
  const mean = (value: (run: Simulation.Observation) => number) =>
    runs.length === 0 ? 0 : runs.reduce((sum, run) => sum + value(run), 0) / runs.length
  const results = runs.flatMap(({ events }) => events.filter(({ _tag }) => _tag === "ToolResult"))
  const latencies = runs.map(({ elapsed }) => elapsed).toSorted((a, b) => a - b)
  return {
    name,
    runs: runs.length,
    success: share(runs.filter(succeeded).length, runs.length),
    calls: share(
      results.filter((event) => Predicate.hasProperty(event, "isFailure") && event.isFailure === false).length,
      results.length
    ),
    attempts: mean((run) => [...Simulation.attempts(run).values()].reduce((sum, made) => sum + made, 0)),
    turns: mean(({ record }) => record?.usage.turns ?? 0),
    tokens: mean(({ record }) => record?.usage.totalTokens ?? 0),
    duplicates: runs.reduce((sum, run) => sum + duplicatesIn(run), 0),
    leaks: runs.filter(leaks).length,
    latency: {
      p50: percentile(latencies, 50),
      p90: percentile(latencies, 90),
      p99: percentile(latencies, 99)
    }
  }
}

/**
 * Runs each declaration under the same plans, and measures.
 *
 * **Example** (What does a retry buy?)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { Evaluation, FaultPlan, ScriptedModel, Subject } from "@recourse/testing"
 *
 * const Lookup = Tool.make("lookup", {
 *   success: Schema.String,
 *   effects: "read",
 *   timeout: "3 seconds",
 *   execute: () => Effect.succeed("Ada")
 * })
 * const declared = (Timeout: "escalate" | { readonly retry: { readonly times: number }; readonly otherwise: "escalate" }) =>
 *   Subject.make({
 *     agent: Agent.make("crm", { tools: [Lookup], defaults: { onError: Recovery.policy({ Timeout }) } }),
 *     tools: [Lookup],
 *     scenarios: { default: { input: "Who?", model: [ScriptedModel.call("lookup", {}), ScriptedModel.text("Ada")] } }
 *   })
 *
 * const comparison = await Effect.runPromise(Evaluation.run({
 *   title: "Time-outs",
 *   plan: (seed) => FaultPlan.make([FaultPlan.onTool("lookup", { type: "timeout" }, { times: 9, probability: 0.5 })], { seed }),
 *   seeds: 50,
 *   subjects: { "no retry": declared("escalate"), "two retries": declared({ retry: { times: 2 }, otherwise: "escalate" }) }
 * }))
 * const [without, withRetries] = comparison.measures
 *
 * withRetries!.calls.low > without!.calls.high // => true
 * ```
 *
 * @category running
 * @since 0.2.0
 */
export const run = <In>(options: Options<In>): Effect.Effect<Comparison> =>
  Effect.gen(function*() {
    const { plan, scenario = "default", subjects, title } = options
    const succeeded = options.succeeded ?? ((observation) => Simulation.outcome(observation) === "success")
    const seeds = Array.from({ length: options.seeds ?? 200 }, (_, index) => index + 1)
    const measures: Array<Measures> = []
    for (const [name, subject] of Object.entries(subjects)) {
      const played = subject.scenarios[scenario]
      if (played === undefined) return yield* Effect.die(new Error(`"${name}" has no scenario "${scenario}"`))
      const runs: Array<Simulation.Observation> = []
      for (const seed of seeds) runs.push(yield* Simulation.run(subject, played, { plan: plan(seed), secret }))
      measures.push(measure(name, runs, succeeded))
    }
    return { title, measures }
  })

const percent = (rate: number): string => `${(rate * 100).toFixed(1)} %`

interface Row {
  readonly label: string
  /** The length of the bar. */
  readonly value: (measures: Measures) => number
  readonly text: (measures: Measures) => string
  readonly interval?: (measures: Measures) => Share
  /** Value of a full bar, if it is fixed. */
  readonly full?: number
}

const grouped = (n: number, digits = 0): string =>
  n.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })

const time = (millis: number): string =>
  millis < 100_000 ?
    `${Math.round(millis)} ms` :
    millis < 6_000_000 ?
    `${grouped(millis / 60_000, 1)} min` :
    `${grouped(millis / 3_600_000, 1)} h`

const rows: ReadonlyArray<Row> = [
  {
    label: "runs that succeeded",
    value: (m) => m.success.rate,
    text: (m) => percent(m.success.rate),
    interval: (m) => m.success,
    full: 1
  },
  {
    label: "tool calls that succeeded",
    value: (m) => m.calls.rate,
    text: (m) => percent(m.calls.rate),
    interval: (m) => m.calls,
    full: 1
  },
  { label: "attempts of tools per run", value: (m) => m.attempts, text: (m) => grouped(m.attempts, 2) },
  { label: "model calls per run", value: (m) => m.turns, text: (m) => grouped(m.turns, 2) },
  { label: "tokens per run", value: (m) => m.tokens, text: (m) => grouped(m.tokens) },
  { label: "duplicate side effects, all runs", value: (m) => m.duplicates, text: (m) => grouped(m.duplicates) },
  { label: "runs that leaked", value: (m) => m.leaks, text: (m) => grouped(m.leaks) },
  { label: "virtual time per run, median", value: (m) => m.latency.p50, text: (m) => time(m.latency.p50) },
  { label: "virtual time per run, p90", value: (m) => m.latency.p90, text: (m) => time(m.latency.p90) },
  { label: "virtual time per run, p99", value: (m) => m.latency.p99, text: (m) => time(m.latency.p99) }
]

const between = ({ high, low }: Share): string => `${percent(low)} – ${percent(high)}`

const titleOf = ({ measures, title }: Comparison): string => `${title} (${measures[0]?.runs ?? 0} seeds)`

/**
 * The comparison as a table, one column for each declaration.
 *
 * @category formatting
 * @since 0.2.0
 */
export const table = (comparison: Comparison): string => {
  const { measures } = comparison
  return [
    titleOf(comparison),
    "",
    textTable(
      ["", ...measures.map(({ name }) => name)],
      rows.flatMap(({ interval, label, text }) => [
        [label, ...measures.map(text)],
        ...(interval === undefined
          ? []
          : [["  with 95% confidence", ...measures.map((measured) => between(interval(measured)))]])
      ])
    )
  ].join("\n")
}

/**
 * Draws the comparison in an SVG picture: a bar for each declaration under each measure; rates reach to 100%.
 *
 * @category formatting
 * @since 0.2.0
 */
export const svg = ({ measures, title }: Comparison): string =>
  bars({
    title: titleOf({ measures, title }),
    series: measures.map(({ name }) => name),
    note: "The line on a share is the interval in which it lies with 95% confidence.",
    groups: rows.map(({ full, interval, label, text, value }) => {
      const most = full ?? Math.max(...measures.map(value), Number.MIN_VALUE)
      return {
        label,
        bars: measures.map((measured) => ({
          share: value(measured) / most,
          text: text(measured),
          interval: interval?.(measured)
        }))
      }
    })
  })
