/** Journals of before each start of an attempt was recorded: runs that they hold are resumed. */
import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import stored from "../fixtures/journalsBeforeStarts.json" with { type: "json" }
import { execution, type Left } from "../fixtures/startsPrograms.ts"

interface Stored {
  readonly program: string
  readonly left: Left
  readonly today: { readonly codes: ReadonlyArray<string>; readonly paid: number }
}

describe("a run whose process stopped before each start was recorded", () => {
  for (const { left, program, today } of stored as ReadonlyArray<unknown> as ReadonlyArray<Stored>) {
    const steps = Object.keys(left.journal).length
    it.effect(`continues ${program}, ${steps} records and ${left.paid} payments in`, () =>
      Effect.gen(function*() {
        const { codes, left: { paid } } = yield* execution(program, left)
        assert.deepStrictEqual({ codes, paid }, today)
      }))
  }
})
