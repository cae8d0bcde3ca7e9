/** The idempotency ledger among real processes that die, or that are stopped for longer than their leases. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { setTimeout } from "node:timers/promises"
import { forProcessLeases } from "../support/forLeases.ts"
import { redis, sqlDatabases } from "../support/servers.ts"
import { at, linesOf, running } from "./storeProcesses.ts"

const run = running({})

const close = () => Promise.resolve()
const places = [
  {
    name: "files",
    open: (directory: string) =>
      Promise.resolve({ address: { kind: "files", directory: join(directory, "ledger") } as const, close })
  },
  ...[...sqlDatabases, redis].map(({ isShared, name, open }) => ({
    name,
    open: (directory: string) =>
      isShared
        ? open()
        : Promise.resolve({ address: { kind: "pglite", directory: join(directory, "ledger") } as const, close })
  }))
]

describe.concurrent("a process that dies between the payment and its record", () => {
  for (const { name, open } of places) {
    it(
      `leaves an unknown outcome, which the next one reports: ${name}`,
      () =>
        at(open, async (address, effects) => {
          const payer = (mode: "die" | "pay" | "reconcile") => run("payer.ts", JSON.stringify(address), effects, mode)
          const once = ["7 under order-7"]

          const first = await payer("die")
          assert.deepStrictEqual(first, { exit: 9, output: "" })
          assert.deepStrictEqual(linesOf(effects), once)

          const second = await payer("pay")
          assert.strictEqual(second.exit, 0)
          assert.strictEqual((JSON.parse(second.output) as { readonly code: string }).code, "outcome_unknown")
          assert.deepStrictEqual(linesOf(effects), once)

          // The rest is the same for each store of the entry, and processes are slow to start.
          if (address.kind !== "files" && address.kind !== "sqlite") return
          const asked = await payer("reconcile")
          assert.deepStrictEqual(asked, { exit: 0, output: `"7 under order-7"` })
          // The finding is recorded: no second reconciliation.
          assert.deepStrictEqual(await payer("pay"), asked)
          assert.deepStrictEqual(linesOf(effects), once)
        }),
      120_000
    )
  }
})

describe.concurrent("a process suspended beyond its lease during its first write", () => {
  for (const { isShared, name, open } of [...sqlDatabases, redis]) {
    it.skipIf(!isShared)(
      `is overtaken in that write alone, and says that it does not know: ${name}`,
      () =>
        forProcessLeases((lease) =>
          at(open, async (address, effects) => {
            const keys = 20
            const run = running({ TEST_LEASE: String(lease) })
            const file = `${effects}.stopped`
            const racer = (...more: ReadonlyArray<string>) =>
              run("racer.ts", JSON.stringify(address), effects, String(keys), ...more)
            const still = racer(file)
            while (!existsSync(file) || readFileSync(file, "utf8") === "") await setTimeout(20)
            // The other process waits until the leases are over, and does everything.
            const other = await racer()
            assert.deepStrictEqual(other, { exit: 0, output: String(keys) })
            assert.strictEqual(new Set(linesOf(effects)).size, keys)
            process.kill(Number(readFileSync(file, "utf8")), "SIGCONT")
            const { exit, output } = await still
            assert.strictEqual(exit, 0)
            assert.strictEqual(new Set(linesOf(effects)).size, keys)
            // Only the travelling write is done twice, and its call is no success.
            const twice = linesOf(effects).length - keys
            assert.strictEqual(twice, 1)
            assert.isAtMost(Number(/\d+$/.exec(output)?.[0]), keys - twice)
          })
        ),
      240_000
    )
  }
})
