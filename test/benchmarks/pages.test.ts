/** Pages made of measurements: their claims follow the results. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"

const sources = new URL("../../benchmarks/src/", import.meta.url)
const docs = new URL("../../docs/", import.meta.url)
const { page }: { readonly page: (results: object) => string } = await import(new URL("page.ts", sources).href) as never
const { section, withSection }: {
  readonly section: (results: object) => string
  readonly withSection: (page: string, results: object) => string
} = await import(new URL("durable/section.ts", sources).href) as never

const origin = { date: "2026-01-02", commit: "0123abcd", node: "24.0.0", cpu: "CPU", cpus: 2, load: 0.1 }

const row = (contestant: string, metrics: Readonly<Record<string, number>>, size = 1) => ({
  contestant,
  size,
  metrics: Object.fromEntries(
    Object.entries(metrics).map(([name, median]) => [name, { median, min: median, max: median }])
  )
})

const results = (aiSdk: number, turn: number) => ({
  ...origin,
  profiles: [{ workload: "W1", size: 1, shares: { "`@recourse/core`": 0.25, "garbage collection": 0.75 } }],
  measured: [
    {
      workload: "W1",
      rows: [
        row("recourse", { run: 20 }),
        row("effect/ai", { run: 200 }),
        row("AI SDK", { run: aiSdk }),
        { contestant: "LangChain", size: 1, metrics: undefined, error: "failed" }
      ]
    },
    { workload: "W2", rows: [row("recourse", { turn: 10, heap: 0 }, 10), row("recourse", { turn, heap: 2_048 }, 500)] }
  ]
})

/** The cells of the line that begins with a label. */
const lineOf = (text: string, label: string): ReadonlyArray<string> | undefined =>
  text.split("\n").find((line) => line.startsWith(`| ${label}`))?.split("|").map((cell) => cell.trim()).slice(1, -1)

describe("the page on performance", () => {
  it("says of which commit, date and machine it is", () => {
    assert.include(page(results(80, 12)), "Measured on 2026-01-02, of commit 0123abcd, on 2 × CPU")
  })

  it("compares with each peer, with a dash for missing measurements", () => {
    assert.deepStrictEqual(lineOf(page(results(80, 12)), "W1"), [
      "W1 one tool call, then text",
      "20 µs",
      "10×",
      "4.0×",
      "–",
      "–",
      "3× that of the best peer: reached"
    ])
    assert.strictEqual(lineOf(page(results(80, 12)), "W2 heap")?.[1], "2.0 MiB")
  })

  it("lists the aims that the results miss, and no others", () => {
    const reached = page(results(80, 12))
    assert.include(reached, "This run reaches all aims.")
    assert.notInclude(reached, "missed")
    const missed = page(results(50, 20))
    assert.strictEqual(lineOf(missed, "W1")?.at(-1), "3× that of the best peer: missed")
    assert.include(missed, "- W1 one tool call, then text: 3× that of the best peer, and it is 2.5.")
    assert.include(missed, "- W2 a turn, in a run of 500 turns: at most 1.5 of one of 10, and it is 2.0.")
  })

  it("omits missing measurements", () => {
    assert.isUndefined(lineOf(page(results(80, 12)), "W3"))
  })

  it("says that numbers of a busy machine are provisional", () => {
    assert.notInclude(page(results(80, 12)), "provisional")
    assert.include(page({ ...results(80, 12), load: 4 }), "its numbers are provisional")
  })

  it("the page on performance has the published results", () => {
    const published = readFileSync(new URL("benchmark-results.json", docs), "utf8")
    assert.strictEqual(readFileSync(new URL("performance.md", docs), "utf8"), page(JSON.parse(published)))
  })

  it("breaks down the time", () => {
    assert.deepStrictEqual(lineOf(page(results(80, 12)), "`@recourse/core`"), ["`@recourse/core`", "25 %"])
  })
})

describe("the section on costs of durable runs", () => {
  const steps = (
    name: string,
    over: string,
    ...rounds: ReadonlyArray<{ readonly longer: number; readonly perSecond: number }>
  ) => ({
    name,
    over,
    rounds: rounds.map((round) => ({ alone: 1, ...round }))
  })
  const measured = (own: number) => ({
    ...origin,
    network: undefined,
    runs: 1,
    long: 0,
    waiting: 0,
    lines: [
      steps("bare", "PostgreSQL", { longer: 200, perSecond: 9_000 }),
      steps("recourse", "PostgreSQL", { longer: 290, perSecond: 3_100 }, { longer: 400, perSecond: own }),
      steps("dbos", "PostgreSQL", { longer: 400, perSecond: 1_000 }, { longer: 400, perSecond: 1_000 })
    ]
  })

  it("claims about a peer only the result of each round", () => {
    assert.include(
      section(measured(3_290)),
      "In each of 2 rounds on PostgreSQL it recorded at least 3.1 times as many steps a second as DBOS."
    )
    assert.include(section(measured(1_990)), "at least 1.9 times as many steps a second as DBOS")
  })

  it("compares the best step with a bare insert", () => {
    assert.include(
      section(measured(3_290)),
      "On PostgreSQL a step takes 1.50 times as long as a bare insert (aim: at most 1.5, reached)."
    )
  })

  it("replaces the text between its marks only", () => {
    const text = readFileSync(new URL("sizing.md", docs), "utf8")
    const [before, after] = [text.indexOf("<!-- made by"), text.indexOf("<!-- end of")]
    const changed = withSection(text, measured(3_290))
    assert.isTrue(changed.startsWith(text.slice(0, before)) && changed.endsWith(text.slice(after)))
    assert.include(changed, section(measured(3_290)))
    assert.strictEqual(withSection(changed, measured(3_290)), changed)
  })
})
