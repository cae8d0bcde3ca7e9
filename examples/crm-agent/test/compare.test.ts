/** The table of the guide is the one that the comparison prints. */
import { assert, it } from "@effect/vitest"
import { Evaluation } from "@recourse/testing"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { comparison } from "../src/compare.ts"

const guide = readFileSync(new URL("../../../docs/testing.md", import.meta.url), "utf8")

it.effect("the table of docs/testing.md shows the gain of a fixer", () =>
  Effect.gen(function*() {
    const shown = /```\n(What does a fixer buy[^`]*)```/.exec(guide)?.[1]
    assert.strictEqual(Evaluation.table(yield* comparison).trim(), shown?.trim())
  }), 60_000)
