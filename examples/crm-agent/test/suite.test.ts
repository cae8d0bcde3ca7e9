import { assert, describe, it } from "@effect/vitest"
import { FaultSuite } from "@recourse/testing"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { subject } from "../src/subject.ts"

const suite = Effect.runSync(
  FaultSuite.parse(readFileSync(new URL("../suite.json", import.meta.url), "utf8"))
)

FaultSuite.test({ describe, it }, subject, suite)

describe("the reference suite", () => {
  it.effect("is met by what happened, not only by what is reported", () =>
    Effect.gen(function*() {
      const { cases, passed } = yield* FaultSuite.run(subject, suite)
      assert.isTrue(passed)
      const [timeout, email, page] = cases
      assert.deepStrictEqual([timeout?.attempts, timeout?.elapsed], [2, 3200])
      assert.deepStrictEqual([email?.attempts, email?.sideEffects, email?.elapsed], [2, 1, 500])
      assert.deepStrictEqual(email?.observation.sideEffects.map(({ duplicate }) => duplicate), [false, true])
      assert.notInclude(JSON.stringify(page?.observation.requests), "attacker@example.com")
    }))
})
