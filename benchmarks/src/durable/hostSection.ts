/** The section on hosts of `docs/hosts-measured.md`, made of the results of a run. */
import type { Origin } from "../Results.ts"
import { median } from "../stats.ts"
import { table } from "../table.ts"

/** Steps a second of 50 runs at once, and microseconds of processor time of one run. */
export interface Cost {
  readonly perSecond: number
  readonly cpuOfRun: number
}

interface Named {
  readonly name: string
}

/** Costs of runs of 20 and of 200 steps, and of one step if the runners are measured apart. */
export interface Costs extends Named {
  readonly short: Cost
  readonly long: Cost
  readonly single?: Cost
}

/** The measured values. */
export interface HostResults extends Origin {
  readonly rounds: number
  readonly waiters: number
  readonly steps: { readonly near: Array<Costs>; readonly far: Array<Costs> }
  readonly served: Array<Costs>
  readonly latencies: Array<
    Named & { readonly start: number; readonly started: number; readonly decided: number; readonly cancelled: number }
  >
  readonly takeovers: Array<
    Named & {
      readonly signal: string
      readonly runs: number
      readonly taken: number
      readonly median: number
      readonly most: number
    }
  >
  readonly waiting: Array<
    Named & { readonly called: number; readonly all: number; readonly heap: number; readonly woken: number }
  >
}

const labels: Readonly<Record<string, string>> = {
  bare: "bare inserts",
  recourse: "Recourse, host sql",
  "recourse, cluster": "Recourse, host cluster",
  sql: "host sql",
  cluster: "host cluster",
  dbos: "DBOS 5.3",
  langgraph: "LangGraph 1.7"
}

const labelOf = (name: string): string => labels[name] ?? name
const whole = (value: number): string => Math.round(value).toLocaleString("en-US")

const namesOf = (all: ReadonlyArray<Named>): ReadonlyArray<string> => [...new Set(all.map(({ name }) => name))]

const medianOf = <A extends Named>(all: ReadonlyArray<A>, name: string, value: (one: A) => number): number =>
  median(all.filter((one) => one.name === name).map(value))

/** Processor time of a step, and of the fixed part of a run, in microseconds. */
const partsOf = (all: ReadonlyArray<Costs>, name: string) => {
  const [short, long] = [
    medianOf(all, name, ({ short }) => short.cpuOfRun),
    medianOf(all, name, ({ long }) => long.cpuOfRun)
  ]
  const step = (long - short) / 180
  const isSingle = all.every(({ single }) => single !== undefined)
  // What is left of 20 steps varies with each of them.
  const segment = isSingle ? medianOf(all, name, ({ single }) => single!.cpuOfRun) - step : short - 20 * step
  return { short: short / 20, long: long / 200, segment }
}

const costs = (all: ReadonlyArray<Costs>): string =>
  table(
    ["50 runs at once", "steps a second, 20", "200", "CPU µs a step, 20", "200", "CPU ms of a run without its steps"],
    namesOf(all).map((name) => {
      const { long, segment, short } = partsOf(all, name)
      return [
        labelOf(name),
        whole(medianOf(all, name, ({ short }) => short.perSecond)),
        whole(medianOf(all, name, ({ long }) => long.perSecond)),
        whole(short),
        whole(long),
        (Math.max(0, segment) / 1000).toFixed(1)
      ]
    })
  )

/** The bars that the hosts are held to. */
const bars = ({ served, steps }: HostResults): string => {
  const ratio = (all: ReadonlyArray<Costs>, sql: string, cluster: string) =>
    partsOf(all, cluster).long / partsOf(all, sql).long
  const one = ratio(steps.near, "recourse", "recourse, cluster")
  const many = ratio(served, "sql", "cluster")
  const segment = partsOf(served, "cluster").segment / 1000
  const worst = Math.max(one, many)
  return `In runs of 200 steps a step on host cluster takes ${
    one.toFixed(2)
  } times the CPU of one on host sql in one process, and ${
    many.toFixed(2)
  } times if another process starts it (aim: at most 1.2, ${worst <= 1.2 ? "reached" : "missed"}). A segment takes ${
    segment.toFixed(1)
  } ms of CPU on host cluster (aim: at most 5, ${segment <= 5 ? "reached" : "missed"}).`
}

/** The section. */
export const hostSection = (results: HostResults): string => {
  const { commit, cpu, cpus, date, latencies, load, node, rounds, served, steps, takeovers, waiters, waiting } = results
  return [
    `Measured on ${date}, of commit ${commit}, on ${cpus} × ${cpu} of a virtual machine with Node.js ${node}; load of the machine before: ${load}. Medians of ${rounds} rounds.`,
    "",
    "Runs that their own process executes:",
    "",
    costs(steps.near),
    ...(steps.far.length === 0
      ? []
      : ["", "The same with a millisecond each way to PostgreSQL, one round:", "", costs(steps.far)]),
    "",
    "Runs that another process starts, executed by two runners. The processor time is that of the runners:",
    "",
    costs(served),
    "",
    bars(results),
    "",
    table(
      ["ms, from another process", "start call", "start to wait", "decision to end", "cancellation to end"],
      namesOf(latencies).map((name) => [
        labelOf(name),
        medianOf(latencies, name, ({ start }) => start).toFixed(1),
        ...(["started", "decided", "cancelled"] as const).map((key) =>
          whole(medianOf(latencies, name, (one) => one[key]))
        )
      ])
    ),
    "",
    table(
      ["s until another process continues, lease 5 s", "SIGKILL", "SIGTERM, grace 1 s", "SIGSTOP"],
      namesOf(takeovers).map((name) => [
        labelOf(name),
        ...["SIGKILL", "SIGTERM", "SIGSTOP"].map((signal) => {
          const one = takeovers.find((other) => other.name === name && other.signal === signal)
          return one === undefined
            ? "–"
            : `${one.median.toFixed(1)} (${one.most.toFixed(1)})${
              one.taken < one.runs ? `, ${one.runs - one.taken} not` : ""
            }`
        })
      ])
    ),
    "",
    table(
      [`${whole(waiters)} runs that wait`, "start calls, s", "all wait, s", "MiB in two runners", "to wake one, ms"],
      waiting.map(({ all, called, heap, name, woken }) => [
        labelOf(name),
        called.toFixed(1),
        all.toFixed(1),
        // Less than the code and caches that the collector drops meanwhile.
        heap < 1 ? "< 1" : whole(heap),
        whole(woken)
      ])
    )
  ].join("\n")
}
