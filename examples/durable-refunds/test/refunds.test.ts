import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { join } from "node:path"
import { bundled } from "../../../test/support/bundled.ts"
import { program } from "../src/refunds.ts"

const worker = bundled(join(import.meta.dirname, "../src/worker.ts"))

for (const host of ["sql", "cluster"] as const) {
  it.live(
    `ends though its workers are killed at the worst moments, and nothing is done twice: ${host}`,
    () =>
      Effect.gen(function*() {
        const said: Array<string> = []
        const { answer, run, world } = yield* program((line) => said.push(line), host, worker)
        assert.strictEqual(said.filter((line) => line === "kill -9").length, 2)
        assert.match(answer, /^Both orders are refunded/)
        assert.strictEqual(run?.status, "completed")
        // The bank received order 7 twice, under one key; no second mail was written.
        assert.strictEqual(said.filter((line) => line.startsWith("the world: refunded 20 euros")).length, 2)
        assert.strictEqual(said.filter((line) => line.startsWith("the world: wrote a mail")).length, 1)
        assert.strictEqual(world.length, 3)
      }),
    { concurrent: true, timeout: 120_000 }
  )
}
