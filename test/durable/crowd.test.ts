/**
 * Queues, cron and children in two real runners of which one is killed repeatedly: limits apply to both, each time has
 * one run, each child exists once, and no row stays behind. On the database that several machines would share, if it
 * answers; `TEST_CROWD=long` tests each, with a thousand children, and more of the rest.
 */
import { assert, describe, it } from "@effect/vitest"
import { Runs } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { Effect, Layer } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { bundled } from "../support/bundled.ts"
import { sqlDatabases } from "../support/servers.ts"
import { agentsOf, atOnce, type Deed, deedsOf, note, perSecond, stores } from "./crowd.ts"

const isLong = process.env["TEST_CROWD"] === "long"
const children = isLong ? 1000 : 60
const narrow = isLong ? 120 : 14
const paced = isLong ? 200 : 20
/** If processes start in less time than a run needs, it would be killed forever. */
const mostKills = isLong ? 60 : 4

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M")).slice(
  0,
  isLong ? 2 : 1
)

/** Maximum of simultaneous runs; or the present number. Work of a killed process has ended then. */
const most = (deeds: ReadonlyArray<Deed>, isOne: (run: string) => boolean, when?: "now"): number => {
  const working = new Map<string, number>()
  let most = 0
  for (const { deed, pid, run } of deeds) {
    if (deed === "killed") { for (const [one, by] of working) if (by === pid) working.delete(one) }
    if (run === undefined || !isOne(run)) continue
    if (deed === "begin") working.set(run, pid)
    else if (working.get(run) === pid) working.delete(run)
    most = Math.max(most, working.size)
  }
  return when === "now" ? working.size : most
}

describe.concurrent("two processes of which one is killed", () => {
  for (const { name, open } of supported) {
    it(`keep queue limits, start each cron time and child once: ${name}`, async () => {
      const directory = mkdtempSync(join(tmpdir(), "recourse-"))
      const log = join(directory, "deeds.log")
      writeFileSync(log, "")
      const { address, close } = await open()
      const processes: Array<ChildProcess> = []
      const start = (): void => {
        const started = spawn(
          process.execPath,
          [
            "--disable-warning=ExperimentalWarning",
            bundled(join(import.meta.dirname, "crowd.ts")),
            JSON.stringify(address),
            log,
            String(children)
          ],
          { stdio: ["ignore", "ignore", "inherit"] }
        )
        processes.push(started)
      }
      const readies = () => deedsOf(log).filter(({ deed }) => deed === "ready").length
      const ready = async (count: number): Promise<void> => {
        while (readies() < count) await setTimeout(20)
      }
      /** The busy process: first of all the one with the run that has started the others. */
      const busy = async (): Promise<ChildProcess> => {
        for (let look = 0;; look++) {
          const deeds = deedsOf(log)
          const victim = processes.find(({ pid }) =>
            deeds.some(({ deed, pid: by, run }) => deed === "begin" && by === pid && run === "root 1") ||
            (look > 40 && most(deeds.filter((one) => one.pid === pid), () => true, "now") > 0) || look > 80
          )
          if (victim !== undefined && deeds.some(({ run }) => run?.startsWith("root 1/") === true)) return victim
          await setTimeout(20)
        }
      }
      const kill = async (): Promise<void> => {
        const victim = await busy()
        processes.splice(processes.indexOf(victim), 1)
        await new Promise((resolve) => {
          victim.once("exit", resolve)
          victim.kill("SIGKILL")
        })
        note(log, "killed", victim.pid!)
      }
      const { Narrow, Paced, Root, all } = agentsOf(log, children)
      const client = Durable.layerClient(all, { poll: 100 }).pipe(Layer.provideMerge(stores(address)))
      try {
        start()
        start()
        await ready(2)
        const over = { isOver: false }
        const havoc = async (): Promise<number> => {
          let kills = 0
          while (kills === 0 || (!over.isOver && kills < mostKills)) {
            await kill()
            kills++
            start()
            await ready(kills + 2)
            await setTimeout(300)
          }
          return kills
        }
        await Effect.runPromise(
          Effect.gen(function*() {
            const narrows = Array.from({ length: narrow }, (_, n) => `narrow ${n}`)
            const paceds = Array.from({ length: paced }, (_, n) => `paced ${n}`)
            yield* Effect.forEach(narrows, (id) => Narrow.start(id, id), { concurrency: 5, discard: true })
            yield* Effect.forEach(paceds, (id) => Paced.start(id, id), { concurrency: 5, discard: true })
            yield* Root.start("root 1", "go")
            const havocking = havoc()
            const runs = yield* Runs.Runs
            const store = yield* RunStore.RunStore
            // No row stays behind.
            for (const id of [...narrows, ...paceds, "root 1"]) {
              const { status } = yield* Effect.timeout(runs.wait(id), "3 minutes")
              assert.strictEqual(status, "completed", id)
            }
            over.isOver = true
            const kills = yield* Effect.promise(() => havocking)
            assert.isAtLeast(kills, 1)
            assert.strictEqual(yield* Root.await("root 1"), `${children} children`)
            const deeds = deedsOf(log)
            const lives = new Map<string, number>()
            for (const { runId } of yield* runs.list({ limit: 100_000 })) {
              lives.set(runId, (yield* store.get(runId))!.epoch)
            }
            // No run does its work again that was not taken over.
            for (const [id, epoch] of lives) {
              assert.isAtMost(deeds.filter(({ deed, run }) => deed === "begin" && run === id).length, epoch, id)
            }
            assert.isAtLeast(lives.get("root 1")!, 2)
            const leaves = [...lives.keys()].filter((id) => id.startsWith("root 1/"))
            assert.strictEqual(leaves.length, children)
            assert.isAtMost(most(deeds, (run) => run.startsWith("narrow")), atOnce)
            assert.isAtLeast(most(deeds, (run) => run.startsWith("narrow")), 2)
            // Taken-over runs had started before.
            const begun = deeds.filter(({ deed, run }) =>
              deed === "begin" && run?.startsWith("paced") === true && lives.get(run) === 1
            )
            for (const { at } of begun) {
              // A bucket and its refill; a claim and its log line are as far apart as a busy machine needs.
              assert.isAtMost(begun.filter((other) => other.at >= at && other.at < at + 900).length, 3 * perSecond)
            }
            const span = begun.at(-1)!.at - begun[0]!.at
            assert.isAtLeast(span, 1000 * (begun.length - 2 * perSecond) / perSecond)
            const ticks = [...lives.keys()].filter((id) => id.startsWith("tick ")).map((id) =>
              Date.parse(id.slice("tick ".length)) / 1000
            ).toSorted((a, b) => a - b)
            assert.deepEqual(ticks, ticks.map((_, n) => ticks[0]! + n))
            assert.isAtLeast(ticks.length, 2)
            process.stdout.write(
              `${name}: ${kills} kills, ${narrow} narrow, ${paced} paced, ${ticks.length} ticks, ${children} children in ${
                Math.round((Date.now() - deeds[0]!.at) / 100) / 10
              } s; ${[...lives.values()].reduce((sum, one) => sum + one - 1, 0)} taken over\n`
            )
          }).pipe(Effect.provide(client), Effect.scoped)
        )
      } finally {
        for (const process of processes) process.kill("SIGKILL")
        await close()
        rmSync(directory, { recursive: true, force: true })
      }
    }, isLong ? 400_000 : 120_000)
  }
})
