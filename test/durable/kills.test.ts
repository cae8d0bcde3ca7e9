/**
 * Durable runs in real processes: some are killed at each step, others are killed and stopped at random. The external
 * effects are compared with the runs' reports.
 */
import { assert, describe, it } from "@effect/vitest"
import { Runs } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import * as Cluster from "@recourse/durable/Cluster"
import { Effect, Layer, Stream } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { bundled } from "../support/bundled.ts"
import type { SqlAddress } from "../support/connections.ts"
import { clusterDatabases, sqlDatabases } from "../support/servers.ts"
import { type Deed, notesOf, office, stores } from "./chief.ts"
import { clusterPlace } from "./clusterPlace.ts"
import { laws } from "./laws.ts"
import { spansOf, tracing } from "./spans.ts"

/** Number of moments at which processes are killed, of about 40. */
const kills = Number(process.env["TEST_KILLS"] ?? 2)
/** Number of runs that three processes share while they are killed and stopped. `havoc.ts` has more, and for longer. */
const runs = Number(process.env["TEST_RUNS"] ?? 6)

const child = (address: SqlAddress, effects: string, options: object): ChildProcess =>
  spawn(
    process.execPath,
    [bundled(join(import.meta.dirname, "runner.ts")), JSON.stringify(address), effects, JSON.stringify(options)],
    {
      stdio: ["ignore", "pipe", "inherit"],
      env: { ...process.env, NODE_OPTIONS: "--disable-warning=ExperimentalWarning" }
    }
  )

const ends = (process: ChildProcess): Promise<NodeJS.Signals | null> =>
  new Promise((resolve) => process.on("close", (_, signal) => resolve(signal)))

const deedsOf = (file: string): ReadonlyArray<Deed> =>
  readFileSync(file, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as Deed)

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

const within = async (
  open: (typeof supported)[number]["open"],
  test: (address: SqlAddress, effects: string) => Promise<void>
) => {
  const directory = mkdtempSync(join(tmpdir(), "recourse-"))
  const effects = join(directory, "effects.log")
  writeFileSync(effects, "")
  const { address, close } = await open()
  try {
    await test(address, effects)
  } finally {
    await close()
    rmSync(directory, { recursive: true, force: true })
  }
}

const nothing = () => undefined

describe("a durable run whose process is killed with SIGKILL", () => {
  for (const { name, open } of supported) {
    it(
      `continues in another process without repeating a call: ${name}`,
      () =>
        within(open, async (address, effects) => {
          const moments = Array.from({ length: kills }, (_, n) => 6 + Math.round((n * 33) / Math.max(1, kills - 1)))
          const queue = [...moments]
          const spans = `${effects}.spans`
          let killed = 0
          const worker = async (): Promise<void> => {
            for (let killAt = queue.shift(); killAt !== undefined; killAt = queue.shift()) {
              const options = { prefix: `k${killAt}`, lease: 60_000, pause: 5, killAt, start: `run-${killAt}`, spans }
              if (await ends(child(address, effects, options)) === "SIGKILL") killed++
            }
          }
          await Promise.all([worker(), worker()])
          assert.isAtLeast(killed, Math.min(kills - 1, 5))
          const { Chief, model } = office(effects, nothing, 1)
          for (const killAt of moments) {
            const runId = `run-${killAt}`
            const layer = Durable.layer([Chief], { lease: 2000, poll: 50 }).pipe(
              Layer.provide(model),
              Layer.provideMerge(stores(address, `k${killAt}`, nothing))
            )
            await Effect.runPromise(
              Effect.gen(function*() {
                const store = yield* RunStore.RunStore
                // The killed process holds the run for a minute, which need not be waited for.
                const there = yield* store.get(runId)
                if (there?.status === "running") yield* store.settle(there, { status: "queued" })
                yield* Chief.run(runId, `go ${runId}`)
                const { steps } = yield* store.load({ runId, segment: 0 })
                const { status } = yield* Chief.poll(runId)
                laws(
                  deedsOf(effects).filter(({ run }) => run === runId),
                  steps,
                  status,
                  yield* notesOf(runId),
                  `killed at ${killAt}`
                )
              }).pipe(Effect.provide(Layer.provideMerge(layer, tracing(spans))), Effect.scoped)
            )
          }
          // Both processes' spans of a run are one trace, below the request that started it.
          const ended = spansOf(spans).filter(({ name }) => !name.startsWith("sql"))
          const pids = moments.map((killAt) => {
            const { traceId } = ended.find(({ run }) => run === `run-${killAt}`)!
            for (const { name, run, ...of } of ended) {
              if (run === `run-${killAt}`) assert.strictEqual(of.traceId, traceId, name)
            }
            return new Set(ended.filter((span) => span.traceId === traceId).map(({ pid }) => pid)).size
          })
          assert.strictEqual(Math.max(...pids), 2)
          assert.strictEqual(
            new Set(ended.filter(({ run }) => run !== undefined).map(({ traceId }) => traceId)).size,
            kills
          )
        }),
      300_000
    )
  }
})

describe("durable runs shared by three processes", () => {
  const hosts = [
    ...supported.map(({ name, open }) => ({ name, open, isCluster: false })),
    ...clusterDatabases.map(({ name, open }) => ({
      name: `${name}, placed by a cluster`,
      open,
      isCluster: true
    }))
  ]
  for (const { isCluster, name, open } of hosts) {
    it(`all end, whichever process is killed or stopped: ${name}`, () =>
      within(open, async (address, effects) => {
        const options = { prefix: "shared", lease: 2500, pause: 60, isCluster }
        const start = (): ChildProcess => child(address, effects, options)
        /** Processes are slow to start: one is killed only when the others are at work. */
        const ready = (process: ChildProcess): Promise<void> =>
          new Promise((resolve) => process.stdout?.on("data", () => resolve()))
        const processes = [start(), start(), start()]
        await Promise.all(processes.map(ready))
        const { Chief } = office(effects, nothing, 1)
        const rows = stores(address, "shared", nothing)
        const placed = Cluster.layerClient.pipe(
          Layer.provideMerge(rows),
          Layer.provide(clusterPlace(address, "client"))
        )
        const client = Durable.layerClient([Chief], { poll: 200 }).pipe(
          Layer.provideMerge(isCluster ? placed : rows)
        )
        const ids = Array.from({ length: runs }, (_, n) => `run-${n}`)
        const over = { isOver: false }
        const havoc = async (): Promise<void> => {
          for (let round = 0; !over.isOver; round++) {
            await setTimeout(700)
            const at = round % processes.length
            const process = processes[at]!
            if (round % 2 === 0) {
              process.kill("SIGKILL")
              await ready(processes[at] = start())
            } else {
              process.kill("SIGSTOP")
              await setTimeout(2800)
              process.kill("SIGCONT")
            }
          }
        }
        const havocked = havoc()
        try {
          await Effect.runPromise(
            Effect.gen(function*() {
              yield* Effect.forEach(
                ids,
                (runId) => Effect.andThen(Effect.sleep(150), Chief.start(runId, `go ${runId}`))
              )
              const all = yield* Runs.Runs
              const store = yield* RunStore.RunStore
              for (const runId of ids) {
                const { status } = yield* Effect.timeout(all.wait(runId), "2 minutes")
                const { steps } = yield* store.load({ runId, segment: 0 })
                laws(deedsOf(effects).filter(({ run }) => run === runId), steps, status, yield* notesOf(runId), runId)
                const events = yield* Stream.runCollect(all.events(runId))
                assert.strictEqual(events.filter(({ event }) => event._tag === "RunFinished").length, 1)
              }
            }).pipe(Effect.provide(client), Effect.scoped)
          )
        } finally {
          over.isOver = true
          await havocked
          for (const process of processes) process.kill("SIGKILL")
          await Promise.all(processes.map((process) => process.exitCode === null ? ends(process) : undefined))
        }
      }), 300_000)
  }
})
