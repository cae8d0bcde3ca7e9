/** Expectations of a case of faults. */

import { assert, describe, it } from "@effect/vitest"
import { Expectation, FaultSuite, ScriptedModel, Simulation, Subject } from "@recourse/testing"
import { Effect, Redacted, Result, Schema } from "effect"
import { Agent, Approval, Recovery, Tool, ToolCall } from "@recourse/core"
import { subject as shop } from "../support/shop.ts"
import { guarding, judge, type Recover, retrying, sender } from "../support/sendingClerk.ts"

const failing: Recover = (call) => call

const escalating: Recover = (call) =>
  Effect.catch(call, () => ToolCall.escalate({ reason: "It failed", code: "failed" })) as never

const standard = Recovery.policy({
  InvalidArgs: "escalate",
  Timeout: "escalate",
  OutcomeUnknown: "escalate"
}) as Recover

const escalatingByPolicy = Recovery.policy({ ExecutionError: "escalate" }) as Recover

const falling = Recovery.fallback("ExecutionError", Effect.succeed("instead")) as Recover

const fixing = Recovery.fix(
  "InvalidArgs",
  Agent.fromFunction("fixer", () => Effect.succeed("{\"text\":\"fixed\",\"to\":[]}"))
) as unknown as Recover

const telling = Recovery.policy({ PartialSuccess: "escalate" }) as Recover

/** An agent that asks its user, or invents unknown values, or waits for a person. */
const clerk = (answer: string, needsApproval: boolean) => {
  const Send = Tool.make("send", {
    parameters: Schema.Struct({ text: Schema.String }),
    success: Schema.String,
    effects: "idempotent",
    needsApproval,
    execute: ({ text }) => Effect.succeed(text)
  })
  return Subject.make({
    agent: Agent.make("clerk", { tools: [Send], defaults: { onError: Recovery.standard } }).pipe(
      Agent.provide(Approval.layerKey(Redacted.make("a key of thirty-two characters !!")))
    ),
    scenarios: {
      default: { input: "x", model: [ScriptedModel.call("send", { text: "hello" }), ScriptedModel.text(answer)] }
    }
  })
}

describe("expectations", () => {
  const cases: ReadonlyArray<
    readonly [
      expected: string,
      type: string,
      good: Subject.Subject<string, string, unknown>,
      bad: Subject.Subject<string, string, unknown>
    ]
  > = [
    ["retry_then_success", "timeout", sender(retrying), sender(escalating)],
    [
      "idempotency_key_prevents_duplicate_send",
      "network_error_after_commit",
      sender(retrying),
      sender(retrying, { key: false })
    ],
    ["idempotency_key_prevents_duplicate_send", "timeout_after_commit", sender(retrying), sender(escalating)],
    ["unsafe_output_blocked", "prompt_injection", sender(guarding), sender(failing)],
    ["fixed", "malformed_arguments", sender(fixing), sender(standard)],
    ["escalated", "network_error", sender(escalatingByPolicy), sender(failing)],
    ["asks_user", "missing_arguments", clerk("What shall I write?", false), clerk("It is sent.", false)],
    ["asks_user", "approval_rejected", clerk("It was not sent.", true), clerk("It is sent.", false)],
    ["fallback_used", "network_error", sender(falling), sender(failing)],
    ["outcome_unknown_reported", "timeout_after_commit", sender(standard, { effects: "write" }), sender(standard)],
    ["partial_success_reported", "partial_success", sender(telling), sender(failing)],
    ["no_duplicate_side_effects", "network_error_after_commit", sender(retrying), sender(retrying, { key: false })],
    [
      "budget_stopped",
      "defect",
      sender((call) => Effect.catchDefect(call, () => Effect.succeed("")), { calls: 9 }),
      sender(retrying)
    ],
    ["budget_stopped:turns", "timeout", sender(escalating, { calls: 9 }), sender(escalating)],
    ["run_succeeded", "timeout", sender(retrying), sender(failing)],
    ["run_ended_with:Timeout", "timeout", sender(failing), sender(retrying)],
    [
      "run_ended_with:defect",
      "defect",
      sender(failing),
      sender((call) => Effect.catchDefect(call, () => Effect.succeed("")))
    ],
    ["result_code:failed", "timeout", sender(escalating), sender(retrying)]
  ]
  for (const [expected, type, good, bad] of cases) {
    it.effect(`${expected} after ${type}`, () =>
      Effect.gen(function*() {
        const met = yield* judge(good, type, expected)
        assert.deepStrictEqual([met.passed, met.misses], [true, []])
        const missed = yield* judge(bad, type, expected)
        assert.strictEqual(missed.passed, false)
        assert.strictEqual(missed.misses.length, 1)
      }))
  }

  it.effect("model_retried after a fault of the model", () =>
    Effect.gen(function*() {
      const one = { id: "c", fault: { type: "rate_limit", retryAfter: 100 }, expected: "model_retried" } as const
      const met = yield* FaultSuite.run(shop, { suite: "s", cases: [one] })
      assert.isTrue(met.passed)
      const missed = yield* FaultSuite.run(sender(retrying), { suite: "s", cases: [one] })
      assert.isFalse(missed.passed)
    }))

  it("are all tested", () => {
    const tested = new Set([...cases.map(([expected]) => Expectation.nameOf(expected)), "model_retried"])
    assert.deepStrictEqual(tested, new Set(Object.keys(Expectation.all)))
  })

  it.effect("partial_success_reported: the model reads completed parts, others with reasons", () =>
    Effect.gen(function*() {
      const fault = { type: "partial_success", code: "quota", reason: "The day's mails are used up" }
      const { misses, observation, sideEffects } = yield* judge(
        sender(telling),
        "partial_success",
        "partial_success_reported",
        { fault }
      )
      assert.deepStrictEqual([misses, sideEffects, Simulation.outcome(observation)], [[], 1, "success"])
      const sent = observation.requests[1]?.prompt.content.at(-1)
      const result = sent?.role === "tool" ? sent.content.find((part) => part.type === "tool-result") : undefined
      const { code, failed, safe_to_retry, succeeded } = result?.result as Record<string, unknown>
      assert.deepStrictEqual([code, safe_to_retry, succeeded], ["partial_success", false, ["ada"]])
      assert.deepStrictEqual(
        failed,
        ["bob", "cy"].map((item) => ({ item, code: "quota", reason: "The day's mails are used up" }))
      )
    }))

  it.effect("can be several, and your own", () =>
    Effect.gen(function*() {
      const report = yield* FaultSuite.run(sender(retrying), {
        suite: "s",
        cases: [{ id: "c", tool: "send", fault: { type: "timeout" }, expected: ["retry_then_success", "never:x"] }]
      }, { expectations: { never: (_, parameter) => Result.fail(`never ${parameter}`) } })
      assert.deepStrictEqual(report.cases[0]?.misses, ["never:x: never x"])
    }))
})
