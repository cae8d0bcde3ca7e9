/**
 * What durable runs cost, beside DBOS, LangGraph and bare inserts, in turns:
 * `node src/durable/main.ts [--postgres <url>] [--network <ms>] [--rounds 3] [--runs 200] [--long 2000] [--waiting 10000] [--only <name,name>]`.
 * `--network` puts so many milliseconds each way between the contestants and PostgreSQL: on one machine it answers as no service's database does.
 *
 * A step is an answer of the model or a call of a tool. Both take no time here, so that what is left is the recording. Each contestant has a process
 * and a database of its own, and the best of its rounds is told: other work on the machine makes a round slower, and none faster.
 */
import { PgClient } from "@effect/sql-pg"
import { Effect, Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { fork, spawn } from "node:child_process"
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { parseArgs } from "node:util"
import { contestants } from "./contestants.ts"
import type { Place } from "./engine.ts"

const { values } = parseArgs({
  options: {
    postgres: { type: "string" },
    network: { type: "string" },
    rounds: { type: "string", default: "3" },
    runs: { type: "string", default: "200" },
    long: { type: "string", default: "2000" },
    waiting: { type: "string", default: "10000" },
    only: { type: "string" }
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

interface Measured {
  alone?: number
  longer?: number
  perSecond?: number
  long?: number
  resumed?: number
  waiting?: number
  heap?: number
}

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
      if (kills && output.includes("\n")) started.kill("SIGKILL")
    })
    started.on("close", (code) => {
      const line = output.split("\n").find((line) => line.startsWith("{"))
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
  names.flatMap((name) => over === "SQLite" && name === "dbos" ? [] : [{ over, name, best: {} as Measured }])
)
const better = (best: Measured, now: Measured): void => {
  for (const [key, value] of Object.entries(now) as Array<[keyof Measured, number]>) {
    const before = best[key]
    best[key] = before === undefined ? value : key === "perSecond" ? Math.max(before, value) : Math.min(before, value)
  }
}
const say = (line: string): void => void process.stdout.write(`${line}\n`)

for (let round = 1; round <= Number(values.rounds); round++) {
  for (const { best, name, over } of lines) {
    const now = await within(over, (place) => child(name, place, "steps", values.runs, false))
    say(`round ${round}: ${name} on ${over}: ${now.alone?.toFixed(2)} ms a step, ${now.perSecond?.toFixed(0)} a second`)
    better(best, now)
  }
}
for (const { best, name, over } of lines.filter(({ name }) => name !== "bare" && name !== "recourse, writes")) {
  if (Number(values.long) > 0) {
    await within(over, async (place) => {
      better(best, await child(name, place, "cut", values.long, true))
      // The lease of a process that was killed is over: how long that takes is a setting.
      await new Promise((resolve) => setTimeout(resolve, 2500))
      better(best, await child(name, place, "resume", values.long, false))
    })
  }
  if (Number(values.waiting) > 0) {
    better(best, await within(over, (place) => child(name, place, "wait", values.waiting, false)))
  }
}

const digits = (value: number | undefined, places: number): string => value === undefined ? "–" : value.toFixed(places)
say("")
say(
  "| | ms a step, one run | ms a step without start and end | steps a second, 50 runs | a run of long steps, s | resumed, s | runs that wait, s | heap, MB |"
)
say("|-|-|-|-|-|-|-|-|")
for (const { best, name, over } of lines) {
  const { alone, heap, long, longer, perSecond, resumed, waiting } = best
  // What 180 more steps take: a run starts and ends once.
  const step = alone === undefined || longer === undefined ? undefined : (longer - 20 * alone) / 180
  const seconds = (value: number | undefined): string => digits(value === undefined ? undefined : value / 1000, 2)
  say(
    `| ${name}, ${over} | ${digits(alone, 2)} | ${digits(step, 2)} | ${digits(perSecond, 0)} | ${seconds(long)} | ${
      seconds(resumed)
    } | ${seconds(waiting)} | ${digits(heap, 0)} |`
  )
}
reached.close()
