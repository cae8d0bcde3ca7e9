import { assert, describe, it } from "@effect/vitest"
import { FaultPlan, Faults, type ScriptedModel, Simulation } from "@recourse/testing"
import { Effect } from "effect"
import { subject } from "../support/shop.ts"

const simulate = (injections: ReadonlyArray<FaultPlan.Injection>, options?: Omit<Simulation.Options, "plan">) =>
  Simulation.run(subject, subject.scenarios.default!, { ...options, plan: FaultPlan.make(injections) })

interface Result {
  readonly id: string
  readonly isFailure: boolean
  readonly result: unknown
}

/** The model's result of the first call of a tool. */
const told = (requests: ReadonlyArray<ScriptedModel.Request>, tool: string): unknown => {
  for (const request of requests) {
    for (const message of request.prompt.content) {
      if (message.role !== "tool") continue
      const part = message.content.find((part) => part.type === "tool-result" && part.name === tool) as
        | Result
        | undefined
      if (part !== undefined) return part.isFailure ? (part.result as { readonly code: string }).code : part.result
    }
  }
  return undefined
}

const page = { page: "Results for teapot", hits: ["a", "b", "c"] }

describe("faults of tools", () => {
  const cases: ReadonlyArray<{
    readonly fault: FaultPlan.ToolFault
    readonly tool?: string
    readonly told: unknown
    readonly executed: number
    readonly elapsed: number
    readonly outcome?: string
    readonly orders?: number
  }> = [
    { fault: { type: "failure" }, told: page, executed: 2, elapsed: 1000 },
    { fault: { type: "timeout" }, told: page, executed: 2, elapsed: 2000 },
    { fault: { type: "timeout_after_commit" }, told: page, executed: 2, elapsed: 2000 },
    { fault: { type: "hang" }, told: page, executed: 2, elapsed: 2000 },
    { fault: { type: "delay", millis: 1500 }, told: page, executed: 1, elapsed: 1500 },
    { fault: { type: "network_error" }, told: page, executed: 2, elapsed: 1000 },
    { fault: { type: "network_error_after_commit" }, told: page, executed: 2, elapsed: 1000 },
    { fault: { type: "malformed_arguments" }, told: "invalid_arguments", executed: 0, elapsed: 0 },
    { fault: { type: "missing_arguments" }, told: "missing_required_field", executed: 0, elapsed: 0 },
    { fault: { type: "invalid_result" }, told: "invalid_result", executed: 1, elapsed: 0 },
    {
      fault: { type: "prompt_injection" },
      told: { ...page, page: `Results for teapot\n${Faults.promptInjection}` },
      executed: 1,
      elapsed: 0
    },
    { fault: { type: "partial_success" }, told: "partial_success", executed: 1, elapsed: 0 },
    { fault: { type: "defect" }, told: undefined, executed: 1, elapsed: 0, outcome: "defect", orders: 0 },
    { fault: { type: "interruption" }, told: undefined, executed: 1, elapsed: 0, outcome: "interrupted", orders: 0 },
    { tool: "order", fault: { type: "network_error" }, told: "outcome_unknown", executed: 1, elapsed: 0, orders: 0 },
    { tool: "order", fault: { type: "timeout" }, told: "outcome_unknown", executed: 1, elapsed: 5000, orders: 0 },
    { tool: "order", fault: { type: "timeout_after_commit" }, told: "outcome_unknown", executed: 1, elapsed: 5000 }
  ]
  for (const { elapsed, executed, fault, orders = 1, outcome = "success", told: expected, tool = "search" } of cases) {
    it.effect(`${fault.type} in ${tool}`, () =>
      Effect.gen(function*() {
        const observed = yield* simulate([FaultPlan.onTool(tool, fault)])
        assert.strictEqual(Simulation.outcome(observed), outcome)
        assert.deepStrictEqual(told(observed.requests, tool), expected)
        assert.strictEqual(observed.record?.executed.filter((call) => call.tool === tool).length, executed)
        assert.strictEqual(observed.elapsed, elapsed)
        assert.strictEqual(observed.sideEffects.length, orders)
        assert.deepStrictEqual(observed.injected.map(({ n, tool, type }) => [tool, type, n]), [[tool, fault.type, 1]])
        assert.strictEqual(observed.fibers, 0)
      }))
  }

  it("are all tested", () => {
    assert.deepStrictEqual(
      new Set(cases.map(({ fault }) => fault.type as string)),
      new Set(FaultPlan.toolFaults)
    )
  })

  it.effect("that are typed are made by the program's own constructors", () =>
    Effect.gen(function*() {
      const plan = [FaultPlan.onTool("order", { type: "failure", error: { _tag: "OutOfStock", sku: "a" } })]
      const observed = yield* simulate(plan)
      const failed = observed.events.find((event) => event._tag === "ToolAttemptFailed")
      assert.strictEqual(failed?._tag === "ToolAttemptFailed" ? failed.reason : "", "OutOfStock")
    }))

  it.effect("occur at the nth execution, repeatedly, with a seeded probability", () =>
    Effect.gen(function*() {
      const third = yield* simulate([
        FaultPlan.onTool("search", { type: "timeout" }, { times: 2 }),
        FaultPlan.onTool("search", { type: "network_error" }, { from: 3 })
      ])
      assert.deepStrictEqual(third.injected.map(({ n, type }) => [n, type]), [
        [1, "timeout"],
        [2, "timeout"],
        [3, "network_error"]
      ])
      const happened = (seed: number) =>
        Array.from({ length: 1000 }, (_, n) =>
          FaultPlan.happens(
            FaultPlan.make([FaultPlan.onTool("x", { type: "hang" }, { times: 1000, probability: 0.3 })], { seed }),
            0,
            n + 1
          ))
      const share = happened(5).filter(Boolean).length / 1000
      assert.isTrue(share > 0.25 && share < 0.35, String(share))
      assert.deepStrictEqual(happened(5), happened(5))
      assert.notDeepEqual(happened(5), happened(6))
    }))
})

describe("faults of models", () => {
  const cases: ReadonlyArray<{
    readonly fault: FaultPlan.ModelFault
    readonly requests: number
    readonly elapsed: number
    readonly outcome?: string
    readonly told?: unknown
  }> = [
    { fault: { type: "model_error", reason: "InternalProviderError" }, requests: 3, elapsed: 0 },
    { fault: { type: "model_error", reason: "AuthenticationError" }, requests: 0, elapsed: 0, outcome: "AiError" },
    { fault: { type: "rate_limit", retryAfter: 7000 }, requests: 3, elapsed: 7000 },
    { fault: { type: "model_hang" }, requests: 0, elapsed: 60_000, outcome: "BudgetExceeded" },
    { fault: { type: "model_delay", millis: 3000 }, requests: 3, elapsed: 3000 },
    { fault: { type: "stream_cut", after: 0 }, requests: 4, elapsed: 0 },
    { fault: { type: "malformed_tool_call" }, requests: 3, elapsed: 0, told: "invalid_arguments" },
    { fault: { type: "unknown_tool" }, requests: 3, elapsed: 0, told: undefined },
    { fault: { type: "duplicate_ids" }, requests: 3, elapsed: 0 },
    { fault: { type: "empty_answer" }, requests: 4, elapsed: 0 },
    { fault: { type: "truncated_answer" }, requests: 4, elapsed: 0 }
  ]
  for (const streaming of [false, true]) {
    for (const { elapsed, fault, outcome = "success", requests, ...expected } of cases) {
      const name = fault.type === "model_error" ? fault.reason : fault.type
      it.effect(`${name}${streaming ? ", streamed" : ""}`, () =>
        Effect.gen(function*() {
          const observed = yield* simulate([FaultPlan.onModel(fault)], { streaming })
          // Streamed answers are not retried once they have started.
          const begun = streaming && (fault.type === "empty_answer" || fault.type === "truncated_answer")
          assert.strictEqual(Simulation.outcome(observed), begun ? "AiError" : outcome)
          if (begun) return
          assert.strictEqual(observed.requests.length, fault.type === "stream_cut" && streaming ? 3 : requests)
          assert.strictEqual(observed.elapsed, elapsed)
          assert.deepStrictEqual(observed.injected.map(({ n, type }) => [type, n]), [[fault.type, 1]])
          if ("told" in expected) assert.deepStrictEqual(told(observed.requests, "search"), expected.told)
        }))
    }
  }

  it("are all tested", () => {
    assert.deepStrictEqual(
      new Set(cases.map(({ fault }) => fault.type as string)),
      new Set(FaultPlan.modelFaults)
    )
  })

  it.effect("fail with each reason of AiError", () =>
    Effect.forEach(FaultPlan.ModelErrorReason.literals, (reason) =>
      Effect.gen(function*() {
        const observed = yield* simulate([FaultPlan.onModel({ type: "model_error", reason }, { times: 9 })])
        assert.strictEqual(Simulation.outcome(observed), "AiError")
        const error = observed.exit._tag === "Failure" ? observed.exit.cause.reasons[0] : undefined
        assert.strictEqual(
          error?._tag === "Fail" ? (error.error as { readonly reason: { readonly _tag: string } }).reason._tag : "",
          reason
        )
      }), { discard: true }))
})

describe("a run", () => {
  it.effect("is the same for the same plan", () =>
    Effect.gen(function*() {
      const plan = [
        FaultPlan.onTool("search", { type: "timeout" }, { times: 3, probability: 0.5 }),
        FaultPlan.onModel({ type: "rate_limit", retryAfter: 500 }, { times: 5, probability: 0.5 })
      ]
      assert.strictEqual(JSON.stringify(yield* simulate(plan)), JSON.stringify(yield* simulate(plan)))
    }))

  it.effect("can be interrupted at any event, and leaves no fiber behind", () =>
    Effect.gen(function*() {
      const { events } = yield* simulate([])
      for (let interruptAt = 1; interruptAt < events.length; interruptAt++) {
        const observed = yield* simulate([], { interruptAt })
        assert.strictEqual(Simulation.outcome(observed), "interrupted", String(interruptAt))
        assert.strictEqual(observed.fibers, 0)
        assert.strictEqual(observed.stopped, undefined)
      }
    }))
})
