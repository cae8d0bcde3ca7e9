import { assert, describe, it } from "@effect/vitest"
import { FaultPlan, FaultSuite, Simulation, Timeline } from "@recourse/testing"
import { Duration, Effect, Exit } from "effect"
import type { Approval } from "@recourse/core"
import { subject } from "../support/till.ts"

const simulate = (injections: ReadonlyArray<FaultPlan.Injection>, options?: Omit<Simulation.Options, "plan">) =>
  Simulation.run(subject, subject.scenarios["default"]!, { ...options, plan: FaultPlan.make(injections) })

const hour = Duration.toMillis("1 hour")

/** The result of the refund in the last request: its code, or the refund. */
const told = ({ requests }: Simulation.Observation): unknown => {
  const message = requests.at(-1)?.prompt.content.at(-1)
  const part = message?.role === "tool" ? message.content.find((part) => part.type === "tool-result") : undefined
  return part?.isFailure === true ? (part.result as { readonly code: string }).code : part?.result
}

describe("a person who is asked about a call", () => {
  const cases: ReadonlyArray<{
    readonly fault: FaultPlan.ApprovalFault
    readonly told: unknown
    readonly refunds: ReadonlyArray<number>
    readonly decided: ReadonlyArray<Approval.Decision["_tag"] | "nothing">
    readonly waited?: number
  }> = [
    { fault: { type: "approval_rejected" }, told: "permission_denied", refunds: [], decided: ["Reject"] },
    {
      fault: { type: "approval_edited", arguments: { order: "A", amount: 50 } },
      told: { refunded: 50 },
      refunds: [50],
      decided: ["Edit"]
    },
    {
      // An unfit argument is fixed, and a fixer's arguments wait too.
      fault: { type: "approval_edited", arguments: {} },
      told: { refunded: 300 },
      refunds: [300],
      decided: ["Edit", "Approve"]
    },
    {
      fault: { type: "approval_responded", result: { refunded: 7 } },
      told: { refunded: 7 },
      refunds: [],
      decided: ["Respond"]
    },
    { fault: { type: "approval_missing" }, told: { refunded: 500 }, refunds: [500], decided: ["nothing", "Approve"] },
    {
      fault: { type: "approval_late" },
      told: { refunded: 500 },
      refunds: [500],
      decided: ["Approve", "Approve"],
      waited: hour + 1
    }
  ]
  for (const { decided, fault, refunds, told: expected, waited = 0 } of cases) {
    it.effect(`answers as the plan says: ${JSON.stringify(fault)}`, () =>
      Effect.gen(function*() {
        for (const streaming of [false, true]) {
          const observed = yield* simulate([FaultPlan.onApproval("refund", fault)], { streaming })
          assert.deepStrictEqual(observed.exit, Exit.succeed("Refunded."))
          assert.deepStrictEqual(told(observed), expected)
          assert.deepStrictEqual(
            observed.sideEffects.map(({ details }) => (details as { readonly amount: number }).amount),
            refunds
          )
          assert.deepStrictEqual(
            observed.pauses.map(({ decisions }) => decisions[0]?._tag ?? "nothing"),
            decided
          )
          assert.deepStrictEqual([observed.waited, observed.elapsed, observed.stopped], [waited, waited, undefined])
          assert.deepStrictEqual(observed.injected.map(({ n, tool, type }) => [n, tool, type]), [
            [1, "refund", fault.type]
          ])
        }
      }))
  }

  it("has every answer tested", () => {
    assert.deepStrictEqual(new Set(cases.map(({ fault }) => fault.type as string)), new Set(FaultPlan.approvalFaults))
  })

  it.effect("approves without a fault: one streamed run, record and timeline", () =>
    Effect.gen(function*() {
      const observed = yield* simulate([], { streaming: true })
      assert.deepStrictEqual(observed.exit, Exit.succeed("Refunded."))
      assert.strictEqual(observed.requests.length, 2)
      assert.isTrue(observed.requests.every(({ streaming }) => streaming))
      assert.deepInclude(observed.record?.usage, { turns: 2, toolCalls: 1, retries: 0 })
      assert.deepStrictEqual([...Simulation.attempts(observed, "refund").values()], [1])
      const lines = Timeline.render(observed).split("\n").map((line) => line.slice(14))
      assert.deepStrictEqual(lines.slice(2, 9), [
        "refund call_1 {\"order\":\"A\",\"amount\":500}",
        "refund call_1 waits for a person (approval_required)",
        "till waits for a person: refund",
        "till continues",
        "refund call_1 approved by a person",
        "refund call_1 continues with {\"order\":\"A\",\"amount\":500}",
        "refund call_1 attempt 1"
      ])
      const failing = yield* simulate([FaultPlan.onTool("refund", { type: "failure" })])
      const shown = Timeline.render(failing).split("\n").map((line) => line.slice(12))
      assert.strictEqual(shown.indexOf("! refund 1: failure"), shown.lastIndexOf("  refund call_1 attempt 1") + 1)
    }))

  it.effect("who never decides leaves the run waiting", () =>
    Effect.gen(function*() {
      const observed = yield* simulate([FaultPlan.onApproval("refund", { type: "approval_missing" }, { times: 1000 })])
      assert.strictEqual(Simulation.outcome(observed), "ApprovalRequired")
      assert.strictEqual(observed.sideEffects.length, 0)
      assert.isTrue(observed.pauses.every(({ decisions }) => decisions.length === 0))
    }))

  it.effect("with an unfit answer ends the run without a call", () =>
    Effect.gen(function*() {
      const observed = yield* simulate([FaultPlan.onApproval("refund", { type: "approval_responded", result: "no" })])
      assert.strictEqual(Simulation.outcome(observed), "DecisionRefused")
      assert.strictEqual(observed.sideEffects.length, 0)
    }))
})

describe("answers in a suite", () => {
  it.effect("are cases like others, and an approval is no attempt", () =>
    Effect.gen(function*() {
      const report = yield* FaultSuite.run(subject, {
        suite: "approvals",
        cases: [
          {
            id: "rejected",
            tool: "refund",
            fault: { type: "approval_rejected", reason: "Too much" },
            expected: ["result_code:permission_denied", "run_succeeded"]
          },
          { id: "late", tool: "refund", fault: { type: "approval_late" }, expected: "retry_then_success" },
          { id: "never asked", tool: "look", fault: { type: "approval_missing" }, expected: "run_succeeded" }
        ]
      })
      const [rejected, late, never] = report.cases
      assert.deepStrictEqual([rejected?.passed, rejected?.attempts, rejected?.sideEffects], [true, 0, 0])
      assert.deepStrictEqual([late?.misses, late?.attempts], [["no call was attempted again"], 1])
      assert.include(never?.misses[0], "not injected")
    }))

  it("are printed", () => {
    const plan = FaultPlan.make([
      FaultPlan.onApproval("refund", { type: "approval_edited", arguments: { amount: 1 } }, { from: 2, times: 2 })
    ])
    assert.strictEqual(
      FaultPlan.print(plan).split("\n")[1],
      "refund: approval_edited {\"arguments\":{\"amount\":1}} at questions 2 to 3"
    )
  })
})
