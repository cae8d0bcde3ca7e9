import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { program } from "../src/refunds.ts"

it.live(
  "a run whose workers are killed at the worst moments ends, and nothing is done twice",
  () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const { answer, run, world } = yield* program((line) => said.push(line))
      assert.strictEqual(said.filter((line) => line === "kill -9").length, 2)
      assert.match(answer, /^Both orders are refunded/)
      assert.strictEqual(run?.status, "completed")
      // The bank was asked twice for order 7, under one key; nobody wrote a second mail.
      assert.strictEqual(said.filter((line) => line.startsWith("the world: refunded 20 euros")).length, 2)
      assert.strictEqual(said.filter((line) => line.startsWith("the world: wrote a mail")).length, 1)
      assert.strictEqual(world.length, 3)
    }),
  120_000
)
