/** The section on costs of `docs/sizing.md`, made of the results of a run. Its claims follow the results. */
import { table } from "../table.ts"
import { bestOf, type DurableResults, type Line, type Measured, stepOf } from "./Measured.ts"

const labels: Readonly<Record<string, string>> = {
  bare: "bare inserts",
  recourse: "Recourse",
  "recourse, writes": "Recourse, writes",
  "recourse, cluster": "Recourse, host cluster",
  dbos: "DBOS",
  langgraph: "LangGraph"
}

const digits = (value: number | undefined, places: number): string => value === undefined ? "–" : value.toFixed(places)

const whole = (value: number | undefined): string =>
  value === undefined ? "–" : Math.round(value).toLocaleString("en-US")

const seconds = (value: number | undefined): string => digits(value === undefined ? undefined : value / 1_000, 2)

const lineOf = ({ lines }: DurableResults, name: string, over: string): Line | undefined =>
  lines.find((line) => line.name === name && line.over === over)

/** A step relative to that of a bare insert; the aim is 1.5. */
const besideInsert = (results: DurableResults, over: string): string | undefined => {
  const [own, bare] = [lineOf(results, "recourse", over), lineOf(results, "bare", over)]
  const [step, insert] = [own && stepOf(bestOf(own)), bare && stepOf(bestOf(bare))]
  if (step === undefined || insert === undefined) return undefined
  const ratio = step / insert
  return `On ${over} a step takes ${ratio.toFixed(2)} times as long as a bare insert (aim: at most 1.5, ${
    ratio <= 1.5 ? "reached" : "missed"
  }).`
}

/** Ratio of steps a second to a peer's, in the worst round for Recourse. */
const inEachRound = (results: DurableResults, peer: string, over: string): string | undefined => {
  const [own, other] = [lineOf(results, "recourse", over), lineOf(results, peer, over)]
  const ratios = own?.rounds.flatMap(({ perSecond }, round) => {
    const its = other?.rounds[round]?.perSecond
    return perSecond === undefined || its === undefined ? [] : [perSecond / its]
  }) ?? []
  if (ratios.length === 0) return undefined
  return `In each of ${ratios.length} rounds on ${over} it recorded at least ${
    (Math.floor(Math.min(...ratios) * 10) / 10).toFixed(1)
  } times as many steps a second as ${labels[peer]!}.`
}

const rows = (
  { lines }: DurableResults,
  cells: (best: Measured) => ReadonlyArray<string>
): ReadonlyArray<ReadonlyArray<string>> =>
  lines.flatMap((line) => {
    const row = cells(bestOf(line))
    return row.every((cell) => cell === "–") ? [] : [[`${labels[line.name] ?? line.name}, ${line.over}`, ...row]]
  })

/** The section. */
export const section = (results: DurableResults): string => {
  const { commit, cpu, cpus, date, lines, load, long, network, node, waiting } = results
  const steps = rows(results, (best) => [
    digits(best.alone, 2),
    digits(stepOf(best), 2),
    whole(best.perSecond)
  ])
  const ends = rows(results, (best) => [
    seconds(best.long),
    seconds(best.resumed),
    seconds(best.waiting),
    whole(best.heap)
  ])
  const rounds = Math.max(...lines.map((line) => line.rounds.filter(({ perSecond }) => perSecond !== undefined).length))
  const claims = ["SQLite", "PostgreSQL"].flatMap((over) => [
    besideInsert(results, over),
    ...["dbos", "langgraph"].map((peer) => inEachRound(results, peer, over))
  ]).filter((claim) => claim !== undefined)
  return [
    `Measured on ${date}, of commit ${commit}, on ${cpus} × ${cpu} of a virtual machine with Node.js ${node}; load of the machine before: ${load}. The best of ${rounds} rounds.${
      network === undefined ? "" : ` ${network} ms each way lie between the contestants and PostgreSQL.`
    }`,
    "",
    table(["contestant", "ms a step, one run", "without start and end of the run", "steps a second, 50 runs"], steps),
    "",
    claims.join(" "),
    ...(ends.length === 0 ? [] : [
      "",
      table(
        [
          "contestant",
          `s for ${whole(long)} steps`,
          "resumed, s",
          `s for ${whole(waiting)} runs that wait`,
          "MiB they hold"
        ],
        ends
      )
    ])
  ].join("\n")
}

const [from, to] = ["<!-- made by bench:durable, do not edit -->", "<!-- end of generated part -->"] as const

/** The page with another section between its marks. */
export const withSection = (page: string, results: DurableResults): string => {
  const [start, end] = [page.indexOf(from), page.indexOf(to)]
  if (start < 0 || end < start) throw new Error("The page has no place for the section")
  return `${page.slice(0, start + from.length)}\n\n${section(results)}\n\n${page.slice(end)}`
}
