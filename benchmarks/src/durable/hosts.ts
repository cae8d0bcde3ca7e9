/**
 * Hosts of durable runs side by side, with DBOS, LangGraph and bare inserts, in turns on PostgreSQL:
 * `pnpm --filter @recourse/benchmarks run bench:durable --hosts --postgres <url> [--quick] [--rounds 3] [--waiting 10000] [--publish]`.
 *
 * Each contestant has processes and a database of its own. Numbers are medians of rounds; processor time says more than time if the machine has other work.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { execFile, fork } from "node:child_process"
import { join } from "node:path"
import { parseArgs, promisify } from "node:util"
import { origin, publishHosts } from "../publish.ts"
import type { HostName } from "./hostAgents.ts"
import { latencies, served, startFleet, takeover, waiting } from "./hostMeasures.ts"
import { type Cost, type HostResults, hostSection } from "./hostSection.ts"

const { values } = parseArgs({
  options: {
    hosts: { type: "boolean" },
    postgres: { type: "string", default: "postgresql://postgres@127.0.0.1:5432/postgres" },
    rounds: { type: "string" },
    waiting: { type: "string" },
    quick: { type: "boolean", default: false },
    publish: { type: "boolean", default: false }
  }
})
const { postgres, quick } = values
const rounds = Number(values.rounds ?? (quick ? "1" : "3"))
const waiters = Number(values.waiting ?? (quick ? "500" : "10000"))
const runs = quick ? 100 : 200
const say = (line: string): void => void process.stdout.write(`${line}\n`)

const sql = (text: string): Promise<unknown> =>
  Effect.runPromise(
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text).unprepared).pipe(
      Effect.provide(PgClient.layer({ url: Redacted.make(postgres), maxConnections: 1 })),
      Effect.scoped
    )
  )

/** A database of its own, reached at a host and port. */
let databases = 0
const within = async <A>(at: string, use: (url: string) => Promise<A>): Promise<A> => {
  const name = `hosts_${process.pid}_${databases++}`
  const url = new URL(postgres)
  url.host = at
  url.pathname = `/${name}`
  await sql(`CREATE DATABASE ${name}`)
  try {
    return await use(url.href)
  } finally {
    await sql(`DROP DATABASE ${name} WITH (FORCE)`)
  }
}

const near = new URL(postgres).host
/** The database with a millisecond each way before it. */
const far = await new Promise<{ readonly at: string; readonly close: () => void }>((resolve) => {
  const { hostname, port } = new URL(postgres)
  const way = fork(join(import.meta.dirname, "network.ts"), [hostname, port || "5432", "1"])
  way.once("message", (port) => resolve({ at: `127.0.0.1:${String(port)}`, close: () => way.disconnect() }))
})

const inOneProcess = async (name: string, at: string): Promise<{ readonly short: Cost; readonly long: Cost }> =>
  within(at, async (url) => {
    const args = [
      "--disable-warning=ExperimentalWarning",
      join(import.meta.dirname, "child.ts"),
      name,
      JSON.stringify({ postgres: url }),
      "both",
      String(runs)
    ]
    const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 26 })
    return JSON.parse(stdout.split("\n").find((line) => line.startsWith(`{"short"`))!) as {
      readonly short: Cost
      readonly long: Cost
    }
  })

const hosts: ReadonlyArray<HostName> = ["sql", "cluster"]
const results: HostResults = {
  ...origin(),
  rounds,
  waiters,
  steps: { near: [], far: [] },
  served: [],
  latencies: [],
  takeovers: [],
  waiting: []
}

const contestants = ["bare", "recourse", "recourse, cluster", "dbos", "langgraph"]
for (let round = 1; round <= rounds; round++) {
  for (const name of contestants) {
    results.steps.near.push({ name, ...await inOneProcess(name, near) })
    if (round === 1 && !quick) results.steps.far.push({ name, ...await inOneProcess(name, far.at) })
    say(`round ${round}: ${name}: ${Math.round(results.steps.near.at(-1)!.short.perSecond)} steps a second`)
  }
  for (const host of hosts) {
    await within(near, async (url) => {
      const fleet = await startFleet(host, url, 2)
      results.latencies.push({ name: host, ...await latencies(fleet, quick ? 5 : 20) })
      results.served.push({
        name: host,
        short: await served(fleet, runs, 20),
        long: await served(fleet, runs / 4, 200),
        single: await served(fleet, 2 * runs, 1)
      })
      await fleet.close()
    })
    say(`round ${round}: ${host}: runs of another process, and wake-ups`)
  }
}
for (const signal of ["SIGKILL", "SIGTERM", "SIGSTOP"] as const) {
  for (const host of hosts) {
    const taken = await within(near, (url) => takeover(host, url, signal))
    results.takeovers.push({ name: host, signal, ...taken })
    say(`${signal}: ${host}: ${taken.taken} of ${taken.runs} runs after ${taken.median.toFixed(1)} s`)
  }
}
for (const host of hosts) {
  await within(near, async (url) => {
    const fleet = await startFleet(host, url, 2)
    results.waiting.push({ name: host, ...await waiting(fleet, waiters) })
    await fleet.close()
  })
  say(`${waiters} runs that wait: ${host}`)
}
far.close()

say(`\n${hostSection(results)}`)
if (values.publish) publishHosts(results)
process.exit(0)
