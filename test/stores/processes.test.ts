/** The idempotency ledger among real processes that make the same writes at once. */
import { assert, describe, it } from "@effect/vitest"
import { forProcessLeases } from "../support/forLeases.ts"
import { redis, sqlDatabases } from "../support/servers.ts"
import { at, linesOf, running } from "./storeProcesses.ts"

/** Number of racing processes, and of keys. */
const processes = Number(process.env["TEST_PROCESSES"] ?? 3)
const keys = Number(process.env["TEST_KEYS"] ?? 20)

describe("processes that make the same writes at once", () => {
  for (const { isShared, name, open } of [...sqlDatabases, redis]) {
    it.skipIf(!isShared)(
      `do each once, and all have its result, though \`reconcile\` does not see what is on its way: ${name}`,
      () =>
        forProcessLeases((lease) =>
          at(open, async (address, effects) => {
            const run = running({ TEST_LEASE: String(lease) })
            const racers = await Promise.all(
              Array.from({ length: processes }, () => run("racer.ts", JSON.stringify(address), effects, String(keys)))
            )
            assert.deepStrictEqual(racers, racers.map(() => ({ exit: 0, output: String(keys) })))
            const done = linesOf(effects)
            assert.strictEqual(done.length, keys)
            assert.strictEqual(new Set(done).size, keys)
          })
        ),
      240_000
    )
  }
})
