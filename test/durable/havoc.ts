/**
 * Havoc: runs with writes that several processes share, while they are killed (`kill -9`) and stopped (`SIGSTOP`) and
 * the database crashes, at random. Afterwards the external effects are compared with the runs' reports.
 *
 * `node test/durable/havoc.ts [--seconds 120] [--runs 200] [--runners 3] [--seed 1]` starts a PostgreSQL server of its own.
 */
import { Runs } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { Effect, Schedule } from "effect"
import { Layer } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { parseArgs } from "node:util"
import { seeded } from "../../packages/core/test/seeded.ts"
import { type Deed, notesOf, office, stores } from "./chief.ts"
import { laws } from "./laws.ts"
import { startPostgres } from "./postgres.ts"

const { values } = parseArgs({
  options: {
    seconds: { type: "string", default: "120" },
    runs: { type: "string", default: "200" },
    runners: { type: "string", default: "3" },
    seed: { type: "string", default: "1" }
  }
})
const seconds = Number(values.seconds)
const runs = Number(values.runs)

const integers = seeded(Number(values.seed))
/** A number between 0 and 1. */
const random = (): number => integers() / 2 ** 32

const say = (line: string): void => void process.stdout.write(`${line}\n`)

const directory = mkdtempSync(join(tmpdir(), "recourse-havoc-"))
const effects = join(directory, "effects.log")
writeFileSync(effects, "")
const postgres = await startPostgres()
const address = { kind: "postgres", url: postgres.url, schema: "public" } as const

const lease = 5000
let isOver = false
const counts = { kills: 0, stops: 0, crashes: 0, starts: 0 }

/** A runner, which is started again whenever it ends. */
class Runner {
  process: ChildProcess = this.start()

  private start(): ChildProcess {
    counts.starts++
    const started = spawn(
      process.execPath,
      [
        join(import.meta.dirname, "runner.ts"),
        JSON.stringify(address),
        effects,
        JSON.stringify({ prefix: "havoc", lease, pause: 60 })
      ],
      {
        stdio: ["ignore", "ignore", "ignore"],
        env: { ...process.env, NODE_OPTIONS: "--disable-warning=ExperimentalWarning" }
      }
    )
    started.on("exit", () => {
      if (!isOver) this.process = this.start()
    })
    return started
  }
}
const runners = Array.from({ length: Number(values.runners) }, () => new Runner())

const nothing = () => undefined
const { Chief } = office(effects, nothing, 1)
const layer = Durable.layerClient([Chief], { poll: 200 }).pipe(Layer.provideMerge(stores(address, "havoc", nothing)))
const ids = Array.from({ length: runs }, (_, n) => `run-${n}`)
/** A database that crashes answers again. */
const patiently = Schedule.spaced("500 millis")

const havoc = async (): Promise<void> => {
  const until = Date.now() + seconds * 1000
  while (Date.now() < until) {
    await setTimeout(1000 + random() * 2000)
    const { process } = runners[Math.floor(random() * runners.length)]!
    const what = random()
    if (what < 0.55) {
      counts.kills++
      process.kill("SIGKILL")
    } else if (what < 0.9) {
      counts.stops++
      process.kill("SIGSTOP")
      // Half of them wake after their lease.
      await setTimeout(1000 + random() * lease * 1.6)
      process.kill("SIGCONT")
    } else {
      counts.crashes++
      postgres.crash()
    }
  }
}

const close = (): void => {
  isOver = true
  for (const { process } of runners) process.kill("SIGKILL")
  postgres.close()
  rmSync(directory, { recursive: true, force: true })
}
process.once("SIGINT", () => {
  close()
  process.exit(130)
})

const begun = Date.now()
try {
  const program = Effect.gen(function*() {
    const spread = Math.max(1, (seconds * 900) / runs)
    const started = Effect.forEach(
      ids,
      (runId) => Effect.andThen(Effect.sleep(spread), Effect.retry(Chief.start(runId, `go ${runId}`), patiently)),
      { discard: true }
    )
    yield* Effect.all([started, Effect.promise(havoc)], { concurrency: "unbounded" })
    say(`havoc ends after ${Math.round((Date.now() - begun) / 1000)} s: ${JSON.stringify(counts)}`)
    const all = yield* Runs.Runs
    const store = yield* RunStore.RunStore
    for (const runId of ids) yield* Effect.timeout(Effect.retry(all.wait(runId), patiently), "2 minutes")
    const ended = Date.now()
    const deeds = readFileSync(effects, "utf8").split("\n").filter((line) => line !== "").map((line) =>
      JSON.parse(line) as Deed
    )
    let lives = 0
    const seen = { unknown: 0, repeated: 0, asked: 0 }
    for (const runId of ids) {
      const run = (yield* store.get(runId))!
      const { steps } = yield* store.load({ runId, segment: 0 })
      const one = laws(deeds.filter(({ run }) => run === runId), steps, run.status, yield* notesOf(runId), runId)
      seen.unknown += one.unknown
      seen.repeated += one.repeated
      seen.asked += one.asked
      lives += run.epoch
    }
    const writes = deeds.filter(({ deed }) => deed.startsWith("book")).length
    say(`${runs} runs ended, the last ${Math.round((ended - begun) / 1000)} s after the first began; ${lives} lives`)
    say(`writes without a key: ${writes} done, 0 done twice, ${seen.unknown} told as unknown`)
    say(`writes to the database of the runs: ${runs} done, 0 done twice, 0 told as unknown`)
    say(`writes with a key: ${seen.repeated} repeated under the same key; answers of models asked again: ${seen.asked}`)
  })
  await Effect.runPromise(program.pipe(Effect.provide(layer), Effect.scoped))
} finally {
  close()
}
