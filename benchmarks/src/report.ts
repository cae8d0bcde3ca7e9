/** Results as a Markdown table. */
import type { ContestantName } from "./Contestant.ts"
import type { Summary } from "./stats.ts"
import type { Metric } from "./Workload.ts"

/** Measurements of one contestant's processes in one case. */
export interface Row {
  readonly contestant: ContestantName
  readonly size: number
  /** Absent if it could not be measured. */
  readonly metrics: Readonly<Record<string, Summary>> | undefined
  readonly error?: string
}

export interface WorkloadResult {
  readonly workload: string
  readonly title: string
  readonly metrics: ReadonlyArray<Metric>
  readonly rows: ReadonlyArray<Row>
}

const round = (value: number): string =>
  value >= 100 ? String(Math.round(value)) : value >= 10 ? value.toFixed(1) : value.toFixed(2)

const cell = (summary: Summary): string =>
  summary.min === summary.max
    ? round(summary.median)
    : `${round(summary.median)} (${round(summary.min)}–${round(summary.max)})`

const ratio = (row: Row, rows: ReadonlyArray<Row>, metric: string): string => {
  const recourse = rows.find((other) => other.contestant === "recourse" && other.size === row.size)
  const mine = row.metrics?.[metric]?.median
  const its = recourse?.metrics?.[metric]?.median
  // Memory near zero can be negative: it has no ratio.
  return mine === undefined || its === undefined || mine <= 0 || its <= 0 ? "–" : `${round(mine / its)}×`
}

const line = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

/** One section of the report. The ratios are to Recourse in the same case: above 1 is slower (or bigger) than Recourse. */
export const section = ({ metrics, rows, title, workload }: WorkloadResult): string => {
  const sizes = new Set(rows.map((row) => row.size))
  const head = [
    "",
    ...(sizes.size > 1 ? ["size"] : []),
    ...metrics.flatMap(({ name, unit }) => [unit === "" ? name : `${name}, ${unit}`, "÷ recourse"])
  ]
  return [
    `### ${workload}: ${title}`,
    "",
    line(head),
    line(head.map((_, index) => index === 0 ? ":--" : "--:")),
    ...rows.map((row) =>
      line([
        row.contestant,
        ...(sizes.size > 1 ? [String(row.size)] : []),
        ...metrics.flatMap(({ name }) => {
          const summary = row.metrics?.[name]
          return summary === undefined ? ["failed", "–"] : [cell(summary), ratio(row, rows, name)]
        })
      ])
    ),
    ""
  ].join("\n")
}
