/** A short havoc on each host: `pnpm --filter @recourse/durable havoc` has more of it, and for longer. */
import { assert, describe, it } from "@effect/vitest"
import { canStartPostgres } from "../postgres.ts"
import { havoc } from "./havoc.ts"
import { hosts } from "./havocHost.ts"

/** The havoc of PostgreSQL has a server of its own, whose programs are not on each machine. */
const hasServer = canStartPostgres()

/** The cluster needs a minute and a half to settle on two cores: `RECOURSE_HAVOC=1` runs it too. */
const tested = hosts.filter((host) => host !== "cluster" || process.env["RECOURSE_HAVOC"] !== undefined)

describe("real processes, an external bank and people", () => {
  for (const host of tested) {
    it.runIf(hasServer || host === "sqlite")(`have the same books after a havoc: ${host}`, async () => {
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
