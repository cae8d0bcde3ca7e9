/** Reports of experiments: a table for terminals, and a picture. */
import type { Estimate } from "./share.ts"
import { bars } from "../text/barChart.ts"
import { table as textTable } from "../text/textTable.ts"
import { within } from "../text/width.ts"

/**
 * Measurements of one agent that a report has: those of `Experiment.run`, or from elsewhere.
 *
 * @category models
 * @since 0.2.0
 */
export interface Measured {
  readonly name: string
  readonly succeeded: Estimate
  readonly scores: Readonly<Record<string, Estimate>>
  readonly unscored: number
  readonly turns: number
  readonly tokens: number
  readonly cost: number
  readonly elapsed: number
}

/**
 * Measurements of several agents that a report has.
 *
 * @category models
 * @since 0.2.0
 */
export interface Compared {
  readonly title: string
  readonly cases: number
  readonly seeds: number
  readonly candidates: ReadonlyArray<Measured>
}

interface Row {
  readonly label: string
  readonly value: (one: Measured) => number
  readonly text: (one: Measured) => string
  readonly interval?: (one: Measured) => Estimate
}

const percent = (rate: number): string => `${(rate * 100).toFixed(1)} %`
const number = (digits: number) => (n: number): string =>
  n.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })

const estimated = (label: string, of: (one: Measured) => Estimate): Row => ({
  label,
  value: (one) => of(one).rate,
  text: (one) => percent(of(one).rate),
  interval: of
})

const rowsOf = ({ candidates }: Compared): ReadonlyArray<Row> => [
  ...Object.keys(candidates[0]?.scores ?? {}).map((scorer) => estimated(scorer, (one) => one.scores[scorer]!)),
  estimated("runs that succeeded", (one) => one.succeeded),
  ...(candidates.some(({ unscored }) => unscored > 0)
    ? [{
      label: "not scored",
      value: (one: Measured) => one.unscored,
      text: (one: Measured) => number(0)(one.unscored)
    }]
    : []),
  { label: "model calls per run", value: (one) => one.turns, text: (one) => number(2)(one.turns) },
  { label: "tokens per run", value: (one) => one.tokens, text: (one) => number(0)(one.tokens) },
  ...(candidates.some(({ cost }) => cost > 0)
    ? [{ label: "cost per run", value: (one: Measured) => one.cost, text: (one: Measured) => number(5)(one.cost) }]
    : []),
  { label: "time per run, median", value: (one) => one.elapsed, text: (one) => `${number(0)(one.elapsed)} ms` }
]

const titleOf = ({ cases, seeds, title }: Compared): string =>
  `${title} (${cases} cases${seeds === 1 ? "" : `, ${seeds} seeds`})`

const confidence = ({ high, low }: Estimate): string => `${percent(low)} – ${percent(high)}`

/** An agent's results in lines below each other. */
const block = (results: Compared, one: Measured): ReadonlyArray<string> => [
  one.name,
  ...rowsOf(results).map(({ interval, label, text }) =>
    `  ${label}: ${text(one)}${interval === undefined ? "" : ` (${confidence(interval(one))})`}`
  )
]

/**
 * The results as a table, one column for each agent. `width` is the terminal's: a table that is wider is a list. Default: as wide as it is.
 *
 * @category formatting
 * @since 0.2.0
 */
export const table = (results: Compared, options?: { readonly width?: number | undefined }): string => {
  const width = options?.width ?? Infinity
  const sideBySide = textTable(
    ["", ...results.candidates.map(({ name }) => name)],
    rowsOf(results).flatMap(({ interval, label, text }) => [
      [label, ...results.candidates.map(text)],
      ...(interval === undefined
        ? []
        : [["  with 95% confidence", ...results.candidates.map((one) => confidence(interval(one)))]])
    ])
  )
  const fits = sideBySide.split("\n").every((line) => line.length <= width)
  const shown = fits ? sideBySide : [
    "In brackets: with 95% confidence.",
    ...results.candidates.flatMap((one) => ["", ...block(results, one)])
  ].join("\n")
  return within([titleOf(results), "", shown].join("\n"), width)
}

/**
 * The results as an SVG picture: a bar for each agent under each measure; scores and shares reach to 100%.
 *
 * @category formatting
 * @since 0.2.0
 */
export const svg = (results: Compared): string =>
  bars({
    title: titleOf(results),
    series: results.candidates.map(({ name }) => name),
    note: "The line on a score or a share is the interval in which it lies with 95% confidence.",
    groups: rowsOf(results).map(({ interval, label, text, value }) => {
      const most = interval === undefined ? Math.max(...results.candidates.map(value), Number.MIN_VALUE) : 1
      return {
        label,
        bars: results.candidates.map((one) => ({
          share: value(one) / most,
          text: text(one),
          interval: interval?.(one)
        }))
      }
    })
  })
