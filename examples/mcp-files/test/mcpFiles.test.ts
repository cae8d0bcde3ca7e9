import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { program } from "../src/program.ts"

describe("an agent on the filesystem server", () => {
  it.live("reads freely, and writes with a person's approval", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* program(true), [
        "waits for a person: files_write_file (in the folder: tasks.txt)",
        "approved (in the folder: summary.txt, tasks.txt)",
        "I have written summary.txt."
      ])
    }).pipe(Effect.provide(NodeServices.layer)), 30_000)

  it.live("writes no file that a person rejects", () =>
    Effect.gen(function*() {
      const [, after] = yield* program(false)
      assert.strictEqual(after, "refused (in the folder: tasks.txt)")
    }).pipe(Effect.provide(NodeServices.layer)), 30_000)
})
