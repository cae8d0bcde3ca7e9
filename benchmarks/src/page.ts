/** The page `docs/performance.md`, made of the results of a run. Its claims follow the results. */
import { type Aim, type PageRow, tables } from "./pageRows.ts"
import type { ContestantName } from "./Contestant.ts"
import { profileTable } from "./profile.ts"
import type { Results } from "./Results.ts"
import { table } from "./table.ts"

const digits = (value: number): string =>
  value >= 100
    ? Math.round(value).toLocaleString("en-US")
    : value >= 10
    ? value.toFixed(0)
    : value.toFixed(value >= 1 ? 1 : 2)

/** A quantity with its unit, in the unit's next size if it is large. */
const quantity = (value: number, unit: string): string => {
  const larger = new Map([["µs", "ms"], ["ms", "s"], ["KiB", "MiB"]]).get(unit)
  const factor = unit === "KiB" ? 1_024 : 1_000
  return larger !== undefined && value >= factor ? quantity(value / factor, larger) : `${digits(value)} ${unit}`.trim()
}

interface Judged {
  readonly text: string
  readonly is: number
  readonly reached: boolean
}

/** The values of a row by contestant, and the aim. */
class Measured {
  readonly row: PageRow
  private readonly results: Results

  constructor(row: PageRow, results: Results) {
    this.row = row
    this.results = results
  }

  /** The median of a contestant, if it was measured. */
  of(contestant: ContestantName, of: Pick<PageRow, "workload" | "metric" | "size"> = this.row): number | undefined {
    const rows = this.results.measured.find(({ workload }) => workload === of.workload)?.rows ?? []
    const found = rows.find((row) => row.contestant === contestant && (of.size === undefined || row.size === of.size))
    return found?.metrics?.[of.metric]?.median
  }

  get recourse(): number | undefined {
    return this.of(this.row.whose ?? "recourse")
  }

  /** Ratio of a peer's time to Recourse's. */
  ratio(contestant: ContestantName): number | undefined {
    const [own, other] = [this.recourse, this.of(contestant)]
    return own === undefined || other === undefined || own <= 0 || other <= 0 ? undefined : other / own
  }

  /** The aim, the present factor, and whether it reaches the aim. */
  judged(aim: Aim, peers: ReadonlyArray<ContestantName>): Judged | undefined {
    switch (aim.kind) {
      case "faster": {
        const ratios = (aim.than === undefined ? peers : [aim.than]).flatMap((peer) => this.ratio(peer) ?? [])
        if (ratios.length === 0) return undefined
        const is = Math.min(...ratios)
        return {
          text: `${aim.times}× that of ${aim.than === undefined ? "the best peer" : `the ${aim.than}`}`,
          is,
          reached: is >= aim.times
        }
      }
      case "atMost": {
        const [own, other] = [this.recourse, this.of(aim.of ?? "recourse", aim.row ?? this.row)]
        if (own === undefined || other === undefined) return undefined
        return { text: `at most ${aim.times} of ${aim.what}`, is: own / other, reached: own / other <= aim.times }
      }
    }
  }
}

const judgedOf = (measured: Measured, peers: ReadonlyArray<ContestantName>): Judged | undefined =>
  measured.row.aim === undefined ? undefined : measured.judged(measured.row.aim, peers)

const aimCell = (judged: Judged | undefined): string =>
  judged === undefined ? "" : `${judged.text}: ${judged.reached ? "reached" : "missed"}`

const section = (results: Results, { peers, rows, text, title }: (typeof tables)[number]): string => {
  const lines = rows.map((row) => new Measured(row, results)).filter(({ recourse }) => recourse !== undefined)
  return [
    `## ${title}`,
    "",
    text,
    "",
    table(
      ["workload", "Recourse", ...peers, "aim"],
      lines.map((measured) => [
        measured.row.label,
        quantity(measured.recourse!, measured.row.unit),
        ...peers.map((peer) => {
          const ratio = measured.ratio(peer)
          return ratio === undefined ? "–" : `${digits(ratio)}×`
        }),
        aimCell(judgedOf(measured, peers))
      ])
    )
  ].join("\n")
}

const missed = (results: Results): string => {
  const lines = tables.flatMap(({ peers, rows }) =>
    rows.flatMap((row) => {
      const judged = judgedOf(new Measured(row, results), peers)
      return judged?.reached === false ? [`- ${row.label}: ${judged.text}, and it is ${digits(judged.is)}.`] : []
    })
  )
  return lines.length === 0 ? "This run reaches all aims." : ["Aims that this run misses:", "", ...lines].join("\n")
}

/** The page for the results of a whole run. */
export const page = (results: Results): string => {
  const { commit, cpu, cpus, date, load, node } = results
  return [
    "# Performance",
    "",
    `What a run costs beside its model calls, next to other libraries that do the same work. \`pnpm bench\` measures it and writes this page
([how to read it](../benchmarks/README.md), [all numbers](benchmark-results.json)). Do not edit it.`,
    "",
    `Measured on ${date}, of commit ${commit}, on ${cpus} × ${cpu} of a virtual machine with Node.js ${node}. Load of the machine before the run: ${load}.
Contestants take turns, each in a process of its own. Compare ratios, not times: times depend on the machine.`,
    "",
    // Wall times of a busy machine include its other work.
    ...(load > cpus / 2 ? ["**The machine had other work during this run: its numbers are provisional.**", ""] : []),
    "`n×` is the ratio of a peer's time (amount, size) to Recourse's: above 1, Recourse is the better one. A dash: the peer has none, or was not measured.",
    "",
    ...tables.flatMap((one) => [section(results, one), ""]),
    "## Aims",
    "",
    missed(results),
    "",
    ...profileTable(results.profiles),
    ""
  ].join("\n")
}
