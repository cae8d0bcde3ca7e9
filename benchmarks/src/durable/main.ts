/**
 * Costs of durable runs, compared with DBOS, LangGraph and bare inserts, in turns: `node src/durable/main.ts
 * [--postgres <url>] [--network <ms>] [--rounds 3] [--runs 200] [--long 2000] [--waiting 10000] [--only <name,name>]
 * [--publish]`. `--network` puts so many milliseconds each way between the contestants and PostgreSQL: on one machine
 * it answers faster than any service's database.
 *
 * A step is an answer of the model or a call of a tool. Both take no time here, so that only the recording remains.
 * Each contestant has a process and a database of its own, and the best of its rounds is reported. `--publish` writes
 * the section of `docs/sizing.md`.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { fork, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { origin, publishDurable } from "../publish.ts"
import { contestants } from "./contestants.ts"
import type { Place } from "./engine.ts"
import type { DurableResults, Measured } from "./Measured.ts"
import { section } from "./section.ts"

if (process.argv.includes("--hosts")) await import("./hosts.ts")

const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    network: { type: "string" },
    rounds: { type: "string", default: "3" },
    runs: { type: "string", default: "200" },
    long: { type: "string", default: "2000" },
    waiting: { type: "string", default: "10000" },
    only: { type: "string" },
    publish: { type: "boolean", default: false }
  }
})
const { network, postgres } = values

/** The database as the contestants reach it. */
const reached = await new Promise<{ readonly url: string | undefined; readonly close: () => void }>((resolve) => {
  if (postgres === undefined || network === undefined) return resolve({ url: postgres, close: () => undefined })
  const url = new URL(postgres)
  const way = fork(join(import.meta.dirname, "network.ts"), [url.hostname, url.port || "5432", network])
  way.once("message", (port) => {
    url.host = `127.0.0.1:${String(port)}`
    resolve({ url: url.href, close: () => way.disconnect() })
  })
})

/** The line with the measurements. A contestant may log other lines before it. */
const measuredLine = (output: string): string | undefined =>
  output.split("\n").slice(0, -1).find((line) => line.startsWith("{"))

const child = (name: string, place: Place, task: string, n: string, kills: boolean): Promise<Measured> =>
  new Promise((resolve, reject) => {
    const started = spawn(
      process.execPath,
      [
        "--expose-gc",
        "--disable-warning=ExperimentalWarning",
        join(import.meta.dirname, "child.ts"),
        name,
        JSON.stringify(place),
        task,
        n
      ],
      { stdio: ["ignore", "pipe", "inherit"] }
    )
    let output = ""
    started.stdout.on("data", (chunk: Buffer) => {
      output += chunk.toString()
      if (kills && measuredLine(output) !== undefined) started.kill("SIGKILL")
    })
    started.on("close", (code) => {
      const line = measuredLine(output)
      if (line === undefined) reject(new Error(`${name} (${task}) ended with ${code}`))
      else resolve(JSON.parse(line) as Measured)
    })
  })

const sql = (url: string, text: string): Promise<unknown> =>
  Effect.runPromise(
    Effect.flatMap(SqlClient.SqlClient, (sql) => sql.unsafe(text).unprepared).pipe(
      Effect.provide(PgClient.layer({ url: Redacted.make(url), maxConnections: 1 })),
      Effect.scoped
    )
  )

let places = 0
/** Does something with a place of its own. */
const within = async <A>(over: string, use: (place: Place) => Promise<A>): Promise<A> => {
  const name = `bench_${process.pid}_${places++}`
  if (over === "SQLite") {
    const directory = mkdtempSync(join(tmpdir(), "recourse-bench-"))
    try {
      return await use({ file: join(directory, "bench.db") })
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  }
  const url = new URL(reached.url!)
  url.pathname = `/${name}`
  await sql(postgres!, `CREATE DATABASE ${name}`)
  try {
    return await use({ postgres: url.href })
  } finally {
    await sql(postgres!, `DROP DATABASE ${name} WITH (FORCE)`)
  }
}

const names = values.only?.split(",") ?? Object.keys(contestants)
const lines = ["SQLite", ...(postgres === undefined ? [] : ["PostgreSQL"])].flatMap((over) =>
  names.flatMap((name) =>
    over === "SQLite" && (name === "dbos" || name === "recourse, cluster")
      ? []
      : [{ over, name, rounds: [] as Array<Measured> }]
  )
)
const say = (line: string): void => void process.stdout.write(`${line}\n`)
const from = origin()

for (let round = 1; round <= Number(values.rounds); round++) {
  for (const { name, over, rounds } of lines) {
    const now = await within(over, (place) => child(name, place, "steps", values.runs, false))
    say(`round ${round}: ${name} on ${over}: ${now.alone?.toFixed(2)} ms a step, ${now.perSecond?.toFixed(0)} a second`)
    rounds.push(now)
  }
}
for (const { name, over, rounds } of lines.filter(({ name }) => name !== "bare" && name !== "recourse, writes")) {
  if (Number(values.long) > 0) {
    await within(over, async (place) => {
      rounds.push(await child(name, place, "cut", values.long, true))
      // The lease of a process that was killed is over: how long that takes is a setting.
      await new Promise((resolve) => setTimeout(resolve, 2500))
      rounds.push(await child(name, place, "resume", values.long, false))
    })
  }
  if (Number(values.waiting) > 0) {
    rounds.push(await within(over, (place) => child(name, place, "wait", values.waiting, false)))
  }
}
reached.close()

const results: DurableResults = {
  ...from,
  network,
  runs: Number(values.runs),
  long: Number(values.long),
  waiting: Number(values.waiting),
  lines
}
say(`\n${section(results)}`)
if (values.publish) publishDurable(results)
