/** A real process that is stopped by SIGTERM releases its runs: no other process waits for its lease. */
import { assert, describe, it } from "@effect/vitest"
import { RunStore } from "@recourse/durable"
import { Effect } from "effect"
import { spawn } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { bundled } from "../support/bundled.ts"
import { sqlDatabases } from "../support/servers.ts"
import { stores } from "./chief.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

describe("a process that is stopped by SIGTERM", () => {
  for (const { name, open } of supported) {
    it(`releases its runs and ends: ${name}`, async () => {
      const directory = mkdtempSync(join(tmpdir(), "recourse-"))
      const effects = join(directory, "effects.log")
      writeFileSync(effects, "")
      const { address, close } = await open()
      const options = { prefix: "term", lease: 60_000, pause: 60_000, start: "run-1" }
      const started = spawn(
        process.execPath,
        [
          "--disable-warning=ExperimentalWarning",
          bundled(join(import.meta.dirname, "runner.ts")),
          JSON.stringify(address),
          effects,
          JSON.stringify(options)
        ],
        { stdio: ["ignore", "ignore", "inherit"] }
      )
      const ended = new Promise<void>((resolve) => started.once("exit", () => resolve()))
      try {
        await Effect.runPromise(
          Effect.gen(function*() {
            const store = yield* RunStore.RunStore
            const status = Effect.map(store.get("run-1"), (run) => run?.status)
            yield* Effect.repeat(Effect.delay(status, "40 millis"), { until: (is) => is === "running" })
            started.kill("SIGTERM")
            yield* Effect.promise(() => ended)
            assert.strictEqual(yield* status, "queued")
          }).pipe(Effect.provide(stores(address, "term", () => undefined)), Effect.timeout("40 seconds"), Effect.scoped)
        )
      } finally {
        started.kill("SIGKILL")
        await close()
        rmSync(directory, { recursive: true, force: true })
      }
    }, 60_000)
  }
})
