/** Suite reports: a table for people, JUnit XML for build servers, JSON for programs. */
import type { CaseReport, SuiteReport } from "./FaultSuite.ts"
import { placeOf } from "./internal/faults/injector.ts"
import { render } from "./internal/simulation/timeline.ts"
import { table as textTable } from "./internal/text/textTable.ts"
import { within, wrapped } from "./internal/text/width.ts"
import { escapeXml } from "./internal/text/xml.ts"

const status = ({ passed }: CaseReport): string => passed ? "pass" : "MISS"

const columns = ["", "case", "tool", "fault", "expected", "run", "attempts", "side effects", "virtual time"]

const row = (one: CaseReport): ReadonlyArray<string> => [
  status(one),
  one.id,
  placeOf(one),
  one.fault,
  one.expected.join(", "),
  one.outcome,
  String(one.attempts),
  String(one.sideEffects),
  `${one.elapsed} ms`
]

/** A case in lines below each other. */
const block = (one: CaseReport, width: number): ReadonlyArray<string> => [
  `${status(one)}  ${one.id}`,
  `      ${placeOf(one)}: ${one.fault}`,
  wrapped(`      expected: ${one.expected.join(", ")}`, width, "        "),
  wrapped(
    `      run: ${one.outcome}, attempts: ${one.attempts}, side effects: ${one.sideEffects}, virtual time: ${one.elapsed} ms`,
    width,
    "        "
  )
]

/**
 * Formats the report in a table; below it, the reasons of misses, and their timelines. `width` is the terminal's: a
 * table that is wider is a list, and lines of the timeline are cut. Default: its full width.
 *
 * @category formatting
 * @since 0.2.0
 */
export const table = (report: SuiteReport, options?: { readonly width?: number | undefined }): string => {
  const width = options?.width ?? Infinity
  const sideBySide = textTable(columns, report.cases.map(row))
  const fits = sideBySide.split("\n").every((line) => line.length <= width)
  const missed = report.cases.filter(({ passed }) => !passed)
  return within(
    [
      `${report.suite} on ${report.subject}`,
      "",
      fits ? sideBySide : report.cases.flatMap((one) => block(one, width)).join("\n"),
      "",
      ...missed.flatMap(({ id, misses, observation }) => [
        ...misses.map((why) => wrapped(`${id}: ${why}`, width, "  ")),
        ...render(observation).split("\n").map((line) => `  ${line}`),
        ""
      ]),
      `${report.cases.length - missed.length} of ${report.cases.length} passed`
    ].join("\n"),
    width
  )
}

/**
 * The report as JUnit XML, one test case for each case, with the timeline of a miss; times are virtual.
 *
 * @category formatting
 * @since 0.2.0
 */
export const junit = (report: SuiteReport): string => {
  const failures = report.cases.filter(({ passed }) => !passed).length
  const seconds = (millis: number) => (millis / 1000).toFixed(3)
  const time = seconds(report.cases.reduce((sum, { elapsed }) => sum + elapsed, 0))
  const attributes = `tests="${report.cases.length}" failures="${failures}" errors="0" time="${time}"`
  return [
    `<?xml version="1.0" encoding="UTF-8"?>`,
    `<testsuites ${attributes}>`,
    `  <testsuite name="${escapeXml(report.suite)}" ${attributes}>`,
    ...report.cases.flatMap((one) => {
      const head = `    <testcase classname="${escapeXml(`${report.subject}.${placeOf(one)}`)}" name="${
        escapeXml(one.id)
      }" time="${seconds(one.elapsed)}"`
      return one.passed ? [`${head}/>`] : [
        `${head}>`,
        `      <failure type="${escapeXml(one.expected.join(", "))}" message="${escapeXml(one.misses.join("; "))}">${
          escapeXml(render(one.observation))
        }</failure>`,
        "    </testcase>"
      ]
    }),
    "  </testsuite>",
    "</testsuites>",
    ""
  ].join("\n")
}

/**
 * The report as JSON, without the observations of the runs.
 *
 * @category formatting
 * @since 0.2.0
 */
export const json = (report: SuiteReport): string =>
  JSON.stringify(
    {
      ...report,
      cases: report.cases.map(({ observation: _, ...one }) => ({
        ...one,
        tool: one.tool ?? null,
        store: one.store ?? null,
        callback: one.callback ?? null
      }))
    },
    undefined,
    2
  )
