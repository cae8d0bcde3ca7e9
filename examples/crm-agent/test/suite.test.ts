import { assert, describe, it } from "@effect/vitest"
import { FaultPlan, FaultSuite, Simulation } from "@recourse/testing"
import { Effect } from "effect"
import { readFileSync } from "node:fs"
import { subject } from "../src/subject.ts"

const suite = Effect.runSync(
  FaultSuite.parse(readFileSync(new URL("../suite.json", import.meta.url), "utf8"))
)

FaultSuite.test({ describe, it }, subject, suite)

describe("the reference suite", () => {
  it.effect("is met by real effects, not only by reports", () =>
    Effect.gen(function*() {
      const { cases, passed } = yield* FaultSuite.run(subject, suite)
      assert.isTrue(passed)
      const [timeout, email, page] = cases
      assert.deepStrictEqual([timeout?.attempts, timeout?.elapsed], [2, 3200])
      assert.deepStrictEqual([email?.attempts, email?.sideEffects, email?.elapsed], [2, 1, 500])
      assert.deepStrictEqual(email?.observation.sideEffects.map(({ duplicate }) => duplicate), [false, true])
      // Each run of a tool has its key from the library, and asking again has the same one.
      assert.strictEqual(new Set(email?.observation.sideEffects.map(({ key }) => key)).size, 1)
      assert.notInclude(JSON.stringify(page?.observation.requests), "attacker@example.com")
    }))
})

const asked = (scenario: string, injections: ReadonlyArray<FaultPlan.Injection> = []) =>
  Effect.map(
    Simulation.run(subject, subject.scenarios[scenario]!, { plan: FaultPlan.make(injections) }),
    (observed) => ({
      observed,
      pending: observed.pauses.flatMap(({ pending }) =>
        pending.map(({ arguments: args, reasons, tool }) => ({ args, reasons, tool }))
      )
    })
  )

describe("a person is asked", () => {
  it.effect("before an e-mail after reading a page, unless it was blocked", () =>
    Effect.gen(function*() {
      const { observed, pending } = yield* asked("default")
      assert.strictEqual(Simulation.outcome(observed), "success")
      assert.deepStrictEqual(pending.map(({ reasons, tool }) => [tool, reasons]), [
        ["send_email", ["The run has read untrusted output of fetch_page"]]
      ])
      const read = JSON.stringify(observed.requests[1]?.prompt.content.at(-1))
      assert.include(read, "\"untrusted\":true")

      const blocked = yield* asked("default", [FaultPlan.onTool("fetch_page", { type: "prompt_injection" })])
      assert.deepStrictEqual(blocked.pending, [])
      assert.strictEqual(blocked.observed.sideEffects.length, 1)
    }))

  it.effect("about large refunds only, which do not happen if rejected", () =>
    Effect.gen(function*() {
      const { observed, pending } = yield* asked("refund")
      assert.deepStrictEqual(pending.map(({ args }) => args), [{ customer: "c-1815", euros: 480 }])
      assert.deepStrictEqual(observed.sideEffects.map(({ tool }) => tool), ["refund", "refund", "send_email"])

      const refused = yield* asked("refund", [FaultPlan.onApproval("refund", { type: "approval_rejected" })])
      assert.deepStrictEqual(
        refused.observed.sideEffects.map(({ details }) => details),
        [{ customer: "c-1815", euros: 20 }, {
          to: "ada@example.com",
          subject: "Your refund",
          body: "It is on its way."
        }]
      )
      const unread = yield* asked("default", [FaultPlan.onApproval("send_email", { type: "approval_rejected" })])
      assert.deepStrictEqual(unread.observed.sideEffects, [])
    }))
})
