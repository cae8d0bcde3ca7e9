/** A short havoc on each host: `pnpm --filter @recourse/durable havoc` has more of it, and for longer. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync } from "node:fs"
import { havoc } from "./havoc.ts"

/** The havoc has a PostgreSQL server of its own, whose programs are not on each machine. */
const hasServer = existsSync("/usr/lib/postgresql")

describe("real processes, an external bank and people", () => {
  for (const host of ["sql", "cluster"] as const) {
    it.runIf(hasServer)(`have the same books after a havoc: ${host}`, async () => {
      const { kill, runs, wrong } = await havoc({
        host,
        seconds: 12,
        runners: 3,
        seed: 5,
        every: 300,
        say: () => undefined
      })
      assert.deepEqual(wrong, [])
      assert.isAtLeast(kill, 1)
      assert.isAtLeast(runs, 10)
    }, 150_000)
  }
})
