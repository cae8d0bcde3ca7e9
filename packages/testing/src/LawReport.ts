/**
 * Law reports: a table for terminals, a heat map as SVG, JUnit XML for build servers, JSON for programs, and a page
 * with all of it.
 */
import { Result } from "effect"
import { sentences } from "./internal/laws/sentences.ts"
import { heatMap as picture } from "./internal/text/heatMap.ts"
import { table as textTable } from "./internal/text/textTable.ts"
import { within, wrapped } from "./internal/text/width.ts"
import { escapeXml } from "./internal/text/xml.ts"
import type { Counts, LawBroken, LawsReport } from "./Laws.ts"

/**
 * The outcome of a check: `Effect.result(Laws.check(subject))`.
 *
 * @category models
 * @since 0.2.0
 */
export type Checked = Result.Result<LawsReport, LawBroken>

/**
 * A law in one sentence; of one of your own, its name.
 *
 * @category formatting
 * @since 0.2.0
 */
export const sentence = (law: string): string => Object.hasOwn(sentences, law) ? sentences[law]! : law

const because = {
  not_called: "no scenario calls the tool",
  does_not_fit: "the answers had no text to alter",
  not_drawn: "not drawn"
} as const

const missedLines = ({ missed }: LawsReport): ReadonlyArray<string> =>
  [...Map.groupBy(missed, ({ because, tool }) => `${tool} ${because}`).values()].map((group) =>
    `${group[0]!.tool}: ${group.map(({ fault }) => fault).join(", ")} (${because[group[0]!.because]})`
  )

const kindsOf = ({ reached }: LawsReport): number =>
  Object.values(reached).reduce((sum, counts) => sum + Object.keys(counts).length, 0)

const columnsOf = (counts: Counts): ReadonlyArray<string> =>
  [...new Set(Object.values(counts).flatMap((here) => Object.keys(here)))].toSorted()

const plural = (count: number, what: string): string => `${count} ${what}${count === 1 ? "" : "s"}`

const unreachedLine = ({ unreached }: LawsReport): string => `Reached by no run: ${unreached.join(", ")}`

/**
 * Counts in columns if they fit, else in rows, in as many tables as the places need. A row has countable values, and
 * uncounted ones have no number.
 */
const countsTable = (what: string, counts: Counts, width: number): string => {
  const columns = columnsOf(counts)
  const places = Object.keys(counts)
  const shown = (at: string, column: string) => String(counts[at]?.[column] ?? "·")
  const fits = (text: string) => text.split("\n").every((line) => line.length <= width)
  const byColumn = (some: ReadonlyArray<string>) =>
    textTable(
      [what, ...some],
      columns.filter((column) => some.some((at) => counts[at]?.[column] !== undefined)).map((column) => [
        column,
        ...some.map((at) => shown(at, column))
      ])
    )
  const wide = textTable(["tool", ...columns], places.map((at) => [at, ...columns.map((column) => shown(at, column))]))
  if (fits(wide)) return wide
  const groups: Array<Array<string>> = []
  for (const at of places) {
    const last = groups.at(-1)
    if (last !== undefined && fits(byColumn([...last, at]))) last.push(at)
    else groups.push([at])
  }
  return within(groups.map(byColumn).join("\n\n"), width)
}

/**
 * Formats the report for a terminal: injected faults by place, missed ones with reasons, reached and unreached events,
 * or the broken law, its plan and its timeline. `width` is the terminal's (default: 100).
 *
 * **Example** (Proven and unproven parts)
 *
 * ```ts
 * import { Result } from "effect"
 * import { LawReport } from "@recourse/testing"
 *
 * const report = {
 *   plans: 100,
 *   laws: ["errors_are_redacted"],
 *   injected: { timeout: 3 },
 *   outcomes: { success: 100 },
 *   pauses: 0,
 *   met: { lookup: { timeout: 3 } },
 *   missed: [{ tool: "lookup", fault: "partial_success", because: "does_not_fit" }],
 *   reached: { lookup: { "ToolResult timeout": 2 }, run: { RunFinished: 100 } },
 *   unreached: ["ToolFallback"],
 *   interrupted: 300
 * } as const
 *
 * const lines = LawReport.table(Result.succeed(report)).split("\n")
 * lines[0] // => "1 law holds under 100 plans of faults; 2 kinds of events seen"
 * lines.slice(2, 5).join("|") // => "tool    timeout|──────  ───────|lookup        3"
 * lines[7] // => "lookup: partial_success (the answers had no text to alter)"
 * lines.at(-1) // => "Reached by no run: ToolFallback"
 * ```
 *
 * @category formatting
 * @since 0.2.0
 */
export const table = (checked: Checked, options?: { readonly width?: number | undefined }): string => {
  const width = options?.width ?? 100
  if (Result.isFailure(checked)) {
    const { failure } = checked
    const lines = failure.message.split("\n").filter((line) => line !== sentence(failure.law))
    return [
      wrapped(`${failure.law}: ${sentence(failure.law)}`, width),
      "",
      within(wrapped(lines[0]!, width), width),
      ...lines.slice(1, -1).map((line) => within(line, width)),
      // The replay code is for pasting: it is shown whole, at any length.
      ...lines.slice(-1)
    ].join("\n")
  }
  const { success } = checked
  const missed = missedLines(success)
  return [
    wrapped(
      `${plural(success.laws.length, "law")} ${success.laws.length === 1 ? "holds" : "hold"} under ${
        plural(success.plans, "plan")
      } of faults; ${plural(kindsOf(success), "kind")} of events seen`,
      width
    ),
    "",
    countsTable("fault", success.met, width),
    ...(missed.length === 0 ? [] : ["", "Not injected:", ...missed.map((line) => wrapped(line, width))]),
    "",
    countsTable("event", success.reached, width),
    ...(success.unreached.length === 0 ? [] : ["", wrapped(unreachedLine(success), width)])
  ].join("\n")
}

/**
 * Draws the injected faults by place in an SVG picture: the darker, the more often; crossed out if never.
 *
 * @category formatting
 * @since 0.2.0
 */
export const heatMap = ({ met, missed }: Pick<LawsReport, "met" | "missed">): string => {
  const rows = [...new Set([...Object.keys(met), ...missed.map(({ tool }) => tool)])]
  const columns = [
    ...new Set([
      ...Object.values(met).flatMap((counts) => Object.keys(counts)),
      ...missed.map(({ fault }) => fault)
    ])
  ].toSorted()
  return picture({
    title: "Faults that were injected",
    rows,
    columns,
    cell: (row, column) => {
      const count = met[row]?.[column]
      if (count !== undefined) return { count }
      const one = missed.find(({ fault, tool }) => tool === row && fault === column)
      return one === undefined ? undefined : { count: 0, title: because[one.because] }
    }
  })
}

/**
 * Draws the reached events in an SVG picture: each kind of event, of each tool and of the run.
 *
 * @category formatting
 * @since 0.2.0
 */
export const reachedMap = ({ reached }: Pick<LawsReport, "reached">): string =>
  picture({
    title: "Events that the runs have reached",
    rows: columnsOf(reached),
    columns: Object.keys(reached),
    cell: (row, column) => {
      const count = reached[column]?.[row]
      return count === undefined ? undefined : { count }
    }
  })

/**
 * The report as JUnit XML: one test case for each law.
 *
 * @category formatting
 * @since 0.2.0
 */
export const junit = (subject: string, checked: Checked): string => {
  const laws = Result.isSuccess(checked) ? checked.success.laws : [checked.failure.law]
  const failures = Result.isFailure(checked) ? 1 : 0
  const attributes = `tests="${laws.length}" failures="${failures}" errors="0"`
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites ${attributes}>`,
    `  <testsuite name="laws" ${attributes}>`,
    ...laws.map((law) => {
      const head = `    <testcase classname="${escapeXml(subject)}" name="${escapeXml(law)}"`
      return Result.isSuccess(checked) ? `${head}/>` : [
        `${head}>`,
        `      <failure type="${escapeXml(law)}" message="${escapeXml(checked.failure.problem)}">${
          escapeXml(checked.failure.message)
        }</failure>`,
        "    </testcase>"
      ].join("\n")
    }),
    "  </testsuite>",
    "</testsuites>",
    ""
  ].join("\n")
}

/**
 * Formats the report in JSON: the checks, or the broken law, with the plan and the replay code.
 *
 * @category formatting
 * @since 0.2.0
 */
export const json = (subject: string, checked: Checked): string =>
  JSON.stringify(
    Result.isSuccess(checked)
      ? { subject, holds: true, ...checked.success }
      : {
        subject,
        holds: false,
        law: checked.failure.law,
        sentence: sentence(checked.failure.law),
        problem: checked.failure.problem,
        plan: checked.failure.plan,
        scenario: checked.failure.scenario,
        timeline: checked.failure.timeline.split("\n"),
        replay: checked.failure.replay
      },
    undefined,
    2
  )

/**
 * The report as a page on its own.
 *
 * @category formatting
 * @since 0.2.0
 */
export const html = (subject: string, checked: Checked): string => {
  const laws = Result.isSuccess(checked) ? checked.success.laws : []
  const title = `${subject}: ${
    Result.isSuccess(checked)
      ? `${plural(laws.length, "law")} under ${plural(checked.success.plans, "plan")} of faults`
      : `${checked.failure.law} does not hold`
  }`
  return [
    "<!doctype html>",
    "<html lang=\"en\"><head><meta charset=\"utf-8\">",
    `<title>${escapeXml(title)}</title>`,
    "<style>body{font:15px system-ui,sans-serif;margin:2rem;max-width:80rem}pre{overflow:auto;background:#f6f6f6;padding:1rem}</style>",
    `</head><body><h1>${escapeXml(title)}</h1>`,
    ...(Result.isSuccess(checked)
      ? [
        heatMap(checked.success),
        `<ul>${missedLines(checked.success).map((line) => `<li>Not injected: ${escapeXml(line)}</li>`).join("")}</ul>`,
        reachedMap(checked.success),
        ...(checked.success.unreached.length === 0 ? [] : [`<p>${escapeXml(unreachedLine(checked.success))}</p>`]),
        `<h2>Laws</h2><ul>${laws.map((law) => `<li>${escapeXml(sentence(law))}</li>`).join("")}</ul>`
      ]
      : [
        `<p>${escapeXml(sentence(checked.failure.law))}</p>`,
        `<pre>${escapeXml(checked.failure.message)}</pre>`
      ]),
    "</body></html>",
    ""
  ].join("\n")
}
