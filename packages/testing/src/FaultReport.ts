/** Suite reports: a table for people, JUnit XML for build servers, JSON for programs. */
import type { SuiteReport } from "./FaultSuite.ts"
import { render } from "./internal/simulation/timeline.ts"
import { table as textTable } from "./internal/text/textTable.ts"
import { escapeXml } from "./internal/text/xml.ts"

/** The report as a table; below it, why cases missed, and what happened in them. */
export const table = (report: SuiteReport): string => {
  const rows = report.cases.map((one) => [
    one.passed ? "pass" : "MISS",
    one.id,
    one.tool ?? "model",
    one.fault,
    one.expected.join(", "),
    one.outcome,
    String(one.attempts),
    String(one.sideEffects),
    `${one.elapsed} ms`
  ])
  const missed = report.cases.filter(({ passed }) => !passed)
  return [
    `${report.suite} on ${report.subject}`,
    "",
    textTable(["", "case", "tool", "fault", "expected", "run", "attempts", "side effects", "virtual time"], rows),
    "",
    ...missed.flatMap(({ id, misses, observation }) => [
      ...misses.map((why) => `${id}: ${why}`),
      ...render(observation).split("\n").map((line) => `  ${line}`),
      ""
    ]),
    `${report.cases.length - missed.length} of ${report.cases.length} passed`
  ].join("\n")
}

/** The report as JUnit XML, one test case for each case; times are virtual. */
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
      const head = `    <testcase classname="${escapeXml(`${report.subject}.${one.tool ?? "model"}`)}" name="${
        escapeXml(one.id)
      }" time="${seconds(one.elapsed)}"`
      return one.passed ? [`${head}/>`] : [
        `${head}>`,
        `      <failure type="${escapeXml(one.expected.join(", "))}" message="${escapeXml(one.misses.join("; "))}"/>`,
        "    </testcase>"
      ]
    }),
    "  </testsuite>",
    "</testsuites>",
    ""
  ].join("\n")
}

/** The report as JSON, without the observations of the runs. */
export const json = (report: SuiteReport): string =>
  JSON.stringify(
    { ...report, cases: report.cases.map(({ observation: _, ...one }) => ({ ...one, tool: one.tool ?? null })) },
    undefined,
    2
  )
