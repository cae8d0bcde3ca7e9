import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import { program } from "../src/fallback.ts"

it.live("the second server answers; after three failures the first is skipped", () =>
  Effect.gen(function*() {
    const { first, greetings, second } = yield* program
    assert.deepStrictEqual(new Set(greetings), new Set(["Hello from the second server"]))
    assert.deepStrictEqual([first, second], [3, 5])
  }))
