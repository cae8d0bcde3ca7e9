/** Replays of drawn programs: over pauses, compensation, tools that call tools, and agents of agents. */
import { assert, describe, it } from "@effect/vitest"
import { Programs } from "@recourse/testing"
import { Effect } from "effect"

const runs = Number(process.env["RECOURSE_REPLAYS"] ?? 40)
const seed = Number(process.env["RECOURSE_REPLAY_SEED"] ?? 1)

describe("a replay of a drawn program", () => {
  it.effect("takes the same way to the same end, without effects", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* Programs.checkReplays({ runs, seed }), runs)
    }), 120_000)
})
