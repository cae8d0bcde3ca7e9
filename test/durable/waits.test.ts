/** Waits over real processes that are killed in them: of recovery, for a circuit, for a person. */
import { assert, describe, it } from "@effect/vitest"
import { Approval } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { Effect, Layer } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundled } from "../support/bundled.ts"
import { sqlDatabases } from "../support/servers.ts"
import { clinic, deedsOf, stores, waited } from "./waiter.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

describe.concurrent("a run whose process is killed with SIGKILL while it waits", () => {
  for (const { name, open } of supported) {
    it(`continues elsewhere: waits do not restart, questions once, circuit open: ${name}`, async () => {
      const directory = mkdtempSync(join(tmpdir(), "recourse-"))
      const log = join(directory, "deeds.log")
      writeFileSync(log, "")
      const { address, close } = await open()
      const processes: Array<ChildProcess> = []
      const start = (): ChildProcess => {
        const started = spawn(
          process.execPath,
          [
            "--disable-warning=ExperimentalWarning",
            bundled(join(import.meta.dirname, "waiter.ts")),
            JSON.stringify(address),
            log
          ],
          { stdio: ["ignore", "ignore", "inherit"] }
        )
        processes.push(started)
        return started
      }
      const kill = (process: ChildProcess): Promise<void> =>
        new Promise((resolve) => {
          process.once("exit", () => resolve())
          process.kill("SIGKILL")
        })
      const { Clinic } = clinic(log)
      const client = Durable.layerClient([Clinic], { poll: 100 }).pipe(Layer.provideMerge(stores(address)))
      const times = (deed: string) => deedsOf(log).filter((one) => one.deed === deed).map(({ at }) => at)
      const until = <E, R>(test: Effect.Effect<boolean, E, R>) =>
        Effect.timeout(
          Effect.repeat(Effect.delay(test, 40), { until: (is) => is }),
          "30 seconds"
        )
      try {
        await Effect.runPromise(
          Effect.gen(function*() {
            const store = yield* RunStore.RunStore
            const first = start()
            yield* Clinic.start("r1", "go")
            // In the wait, and the circuit has opened.
            yield* until(
              Effect.map(
                store.load({ runId: "r1", segment: 0 }),
                ({ steps }) => ["wait", "call"].every((kind) => steps.some((step) => step.kind === kind))
              )
            )
            yield* Effect.promise(() => kill(first))
            const second = start()
            yield* until(Effect.map(Clinic.poll("r1"), ({ status }) => status === "waiting"))
            yield* until(Effect.sync(() => times("tell desk").length > 0))
            const [before, after, ...more] = times("look")
            assert.deepEqual(more, [])
            assert.isAtLeast(after! - before!, waited * 1000)
            // The rest, and not the whole of it again.
            assert.isBelow(after! - times("ready")[1]!, waited * 1000)
            yield* Effect.promise(() => kill(second))
            start()
            const { pending } = yield* Clinic.poll("r1")
            assert.deepEqual(pending.map(({ tool }) => tool), ["pay"])
            yield* Clinic.decide("r1", [Approval.approve(pending[0]!)])
            assert.strictEqual(yield* Clinic.await("r1"), "was open")
            assert.deepEqual(deedsOf(log).map(({ deed }) => deed).filter((deed) => deed !== "ready").toSorted(), [
              "ask 0",
              "ask 1",
              "ask 2",
              "look",
              "look",
              "pay",
              "ring",
              "tell desk"
            ])
          }).pipe(Effect.provide(client), Effect.scoped)
        )
      } finally {
        for (const process of processes) process.kill("SIGKILL")
        await close()
        rmSync(directory, { recursive: true, force: true })
      }
    }, 90_000)
  }
})
