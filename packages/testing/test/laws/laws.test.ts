import { assert, describe, it } from "@effect/vitest"
import { FaultPlan, Laws, Simulation } from "@recourse/testing"
import { Effect } from "effect"
import * as office from "../support/office.ts"
import { subject } from "../support/shop.ts"
import * as till from "../support/till.ts"

/** Plans for each subject: `RECOURSE_PLANS=1000` for more. */
const runs = Number(process.env["RECOURSE_PLANS"] ?? 25)

const seed = Number(process.env["RECOURSE_SEED"] ?? 1)

/** No laws: each plan runs once, and the report shows the faults that it reached. */
const coverage = { laws: [], interruptions: 0 } as const

// A limit for a machine that does much else.
const timeout = 600_000

Laws.test({ it }, office.subject, { runs, seed, interruptions: 15, timeout })

Laws.test({ it }, office.race, { runs, seed, interruptions: 15, timeout })

Laws.test({ it }, office.bank, { runs, seed, interruptions: 10, timeout })

Laws.test({ it }, till.desk, { runs, seed, interruptions: 10, timeout })

Laws.test({ it }, till.subject, { runs, seed, interruptions: 10, timeout })

Laws.test({ it }, subject, { runs, seed, interruptions: 10, timeout })

// Without the laws that separate calls by their ids, which each of its agents' runs has for itself.
Laws.test({ it }, till.busy, {
  timeout,
  interruptions: 10,
  runs: Math.ceil(runs / 2),
  seed,
  laws: [
    "attempts_within_budget",
    "history_is_well_formed",
    "streaming_agrees",
    "same_seed_same_run",
    "deadlines_are_respected",
    "no_fibers_leak",
    "one_terminal_event",
    "budgets_survive_pauses",
    "snapshots_cover_all_calls"
  ]
})

describe("a check", () => {
  it.effect("has runs with results: a keyed write succeeds, once for each", () =>
    Effect.gen(function*() {
      const plan = FaultPlan.make([FaultPlan.onTool("pay", { type: "timeout_after_commit" })])
      const observed = yield* Simulation.run(office.bank, office.bank.scenarios["default"]!, { plan })
      assert.strictEqual(Simulation.outcome(observed), "success")
      assert.deepStrictEqual(observed.sideEffects.map(({ duplicate }) => duplicate), [false, false, true])
    }))

  it.effect(
    "injects every fault, and sees every end",
    () =>
      Effect.gen(function*() {
        const report = yield* Laws.check(subject, { ...coverage, runs: 110, seed })
        assert.deepStrictEqual(
          Object.keys(report.injected).toSorted(),
          [
            ...FaultPlan.toolFaults,
            ...FaultPlan.modelFaults,
            // An audit has no error to fail with.
            ...FaultPlan.callbackFaults.filter((type) => type !== "callback_fails")
          ].toSorted()
        )
        assert.deepStrictEqual(
          Object.keys(report.outcomes).toSorted(),
          ["AiError", "BudgetExceeded", "defect", "interrupted", "success"]
        )
        assert.strictEqual(report.pauses, 0)
      }),
    timeout
  )

  it.effect(
    "has each ledger fault",
    () =>
      Effect.gen(function*() {
        const report = yield* Laws.check(office.bank, coverage)
        assert.deepStrictEqual(
          Object.keys(report.met["ledger"] ?? {}).toSorted(),
          [...FaultPlan.storeFaults].toSorted()
        )
        assert.include(Object.keys(report.reached["pay"] ?? {}), "ToolAttemptFailed LedgerUnavailable")
        assert.deepStrictEqual(report.missed.filter(({ tool }) => tool === "ledger"), [])
        // A subject without keys and pauses has no stores.
        const other = yield* Laws.check(subject, { ...coverage, runs: 1 })
        assert.deepStrictEqual(other.missed.filter(({ tool }) => ["ledger", "resumptions"].includes(tool)), [])
      }),
    timeout
  )

  it.effect("accepts a claim released in the background, within a store's time", () =>
    Effect.gen(function*() {
      const injections = [FaultPlan.onStore("ledger", { type: "store_hangs" }, { times: 2 })]
      const replay = JSON.stringify({ plan: { seed: 1, injections }, scenario: "default", interruptAt: 1 })
      const report = yield* Laws.check(till.desk, { replay })
      assert.deepStrictEqual(report.injected, { store_hangs: 2 })
    }))

  it.effect("selects basic plans by its seed if there are too many", () =>
    Effect.gen(function*() {
      const chosen = (seed: number) =>
        Effect.gen(function*() {
          const plans = new Set<string>()
          const noted: Laws.Law = ({ plain }) => {
            plans.add(JSON.stringify(plain.plan.injections))
            return []
          }
          yield* Laws.check(subject, { runs: 9, seed, laws: [], more: { noted }, interruptions: 0 })
          return plans
        })
      const [one, same, other] = [yield* chosen(1), yield* chosen(1), yield* chosen(2)]
      assert.deepStrictEqual(one, same)
      assert.isBelow([...other].filter((plan) => one.has(plan)).length, 5)
    }))

  it.effect(
    "has all decisions of people, and waits",
    () =>
      Effect.gen(function*() {
        const report = yield* Laws.check(till.subject, { ...coverage, runs: 110, seed })
        for (const tool of ["refund", "pay"]) {
          assert.deepStrictEqual(
            FaultPlan.approvalFaults.filter((fault) => report.met[tool]?.[fault] === undefined),
            []
          )
        }
        assert.deepStrictEqual(report.missed.filter(({ tool }) => ["ledger", "resumptions"].includes(tool)), [])
        assert.isAbove(report.pauses, 120)
      }),
    timeout
  )

  it.effect(
    "ignores the waiting time of a run interrupted while it waits",
    () =>
      Effect.gen(function*() {
        const plan = FaultPlan.make([FaultPlan.onApproval("refund", { type: "approval_late" })])
        const interruptedAt = (interruptAtOperation: number) =>
          Simulation.run(till.subject, till.subject.scenarios["default"]!, { plan, interruptAtOperation })
        let [before, behind] = [1, 2_000]
        while (behind - before > 1) {
          const middle = Math.floor((before + behind) / 2)
          if ((yield* interruptedAt(middle)).elapsed < 3_600_000) before = middle
          else behind = middle
        }
        // The hour passes in one operation: that and those behind it.
        const ran = yield* Effect.forEach(
          Array.from({ length: 12 }, (_, nth) => behind + nth),
          (at) =>
            Effect.map(interruptedAt(at), ({ elapsed, pauses, waited }) => [pauses.length, elapsed - waited < 60_000])
        )
        assert.deepStrictEqual(ran[0], [0, true])
        assert.deepStrictEqual(ran.filter(([, isInTime]) => isInTime !== true), [])
      }),
    60_000
  )

  it.effect("sees runs wait within runs, and all of it done once", () =>
    Effect.gen(function*() {
      const observed = yield* Simulation.run(till.busy, till.busy.scenarios["default"]!)
      assert.strictEqual(Simulation.outcome(observed), "success")
      assert.deepStrictEqual(
        observed.pauses.map(({ pending }) => pending.filter(({ callId }) => callId.includes("/")).length),
        [4, 2, 2, 1]
      )
      const refunds = observed.sideEffects.filter(({ tool }) => tool === "refund")
      assert.deepStrictEqual(
        refunds.map(({ details }) => (details as { readonly amount: number }).amount).toSorted((a, b) => a - b),
        [200, 200, 200, 300, 300, 300, 500]
      )
      assert.isTrue(observed.sideEffects.every(({ duplicate }) => !duplicate))
    }))
})
