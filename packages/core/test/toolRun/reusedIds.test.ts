/** Calls of one id, tool and arguments in different answers of a loop's model. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Schema } from "effect"
import { Approval, Recovery, Tool, ToolRun } from "@recourse/core"

class Down extends Schema.TaggedError<Down>()("Down", {}) {}

const counting = (effects: "read" | "idempotent" | "write", failures = 0) => {
  let executions = 0
  const counter = Tool.make("count", {
    success: Schema.Number,
    effects,
    failure: Down,
    execute: () => Effect.suspend(() => ++executions <= failures ? Effect.fail(new Down()) : Effect.succeed(executions))
  })
  return { counter, executions: () => executions }
}

const Charge = Tool.make("charge", {
  parameters: Schema.Struct({ order: Schema.String }),
  success: Schema.String,
  effects: "write",
  needsApproval: true,
  execute: ({ order }) => Effect.succeed(`charged ${order}`)
})

const charge = { id: "call_1", name: "charge" } as const

const call = { id: "call_0", name: "count", arguments: {} } as const

describe("calls of one id", () => {
  for (const [effects, expected] of [["read", 2], ["idempotent", 1], ["write", 1]] as const) {
    it.effect(`execute a successful ${effects} of unknown answers ${expected} times`, () =>
      Effect.gen(function*() {
        const { counter, executions } = counting(effects)
        const run = yield* ToolRun.make("loop", { tools: [counter] })
        yield* run.call(call)
        const second = yield* run.call(call)
        assert.deepInclude(second, { _tag: "Success", value: expected })
        assert.strictEqual(executions(), expected)
      }))

    it.effect(`execute a ${effects} of two answers twice, and its repetitions never`, () =>
      Effect.gen(function*() {
        const { counter, executions } = counting(effects)
        const run = yield* ToolRun.make("loop", { tools: [counter] })
        const values: Array<unknown> = []
        for (const answer of ["a1", "a1", "a2", "a2"]) {
          const outcome = yield* run.call({ ...call, answer })
          values.push(outcome._tag === "Success" && outcome.value)
        }
        assert.deepStrictEqual(values, [1, 1, 2, 2])
        assert.strictEqual(executions(), 2)
      }))
  }

  it.effect("execute a failed read of unknown answers once", () =>
    Effect.gen(function*() {
      const { counter, executions } = counting("read", 5)
      const escalating = counter.pipe(Tool.onError((attempt) => attempt.pipe(Recovery.escalate("ExecutionError"))))
      const run = yield* ToolRun.make("loop", { tools: [escalating] })
      const outcomes = [yield* run.call(call), yield* run.call(call)]
      assert.deepStrictEqual(outcomes.map(({ _tag }) => _tag), ["Failure", "Failure"])
      assert.strictEqual(executions(), 1)
    }))

  it.effect("return one outcome for parallel reads of one answer", () =>
    Effect.gen(function*() {
      const { counter, executions } = counting("read")
      const run = yield* ToolRun.make("loop", { tools: [counter] })
      const slow = { ...call, answer: {} }
      yield* Effect.all([run.call(slow), run.call(slow)], { concurrency: 2 })
      assert.strictEqual(executions(), 1)
    }))

  it.effect("wait side by side, and each is approved", () =>
    Effect.gen(function*() {
      const run = yield* ToolRun.make("loop", { tools: [Charge] })
      const orders = ["A-1", "A-2", "A-3"]
      const values: Array<unknown> = []
      const waiting = yield* Effect.forEach(orders, (order) => run.call({ ...charge, arguments: { order } }))
      for (const waits of waiting) {
        if (waits._tag !== "ApprovalRequired") return assert.fail(waits._tag)
        const charged = yield* run.decide(Approval.approve(waits.pending[0]!, { by: "Ada" }))
        values.push(charged._tag === "Success" && charged.value)
      }
      assert.deepStrictEqual(values, orders.map((order) => `charged ${order}`))
      const repeated = yield* run.call({ ...charge, arguments: { order: "A-3" } })
      assert.deepInclude(repeated, { _tag: "Success", value: "charged A-3" })
      assert.lengthOf((yield* run.end).executed, 3)
    }))
})
