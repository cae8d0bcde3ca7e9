import { assert, describe, it } from "@effect/vitest"
import { Expectation, FaultSuite, ScriptedModel, SideEffects, Simulation, Subject } from "@recourse/testing"
import { Effect, Result, Schema } from "effect"
import { Agent, Recovery, Tool, ToolCall } from "@recourse/core"
import { subject as shop } from "./shop.ts"

type Recover = (
  call: Effect.Effect<string, unknown, ToolCall.ToolCall | SideEffects.SideEffects>
) => Effect.Effect<string, unknown, ToolCall.ToolCall | SideEffects.SideEffects>

/** An agent with one tool that sends, with a recovery of your choice, and a model that calls it once. */
const sender = (recover: Recover, options?: {
  readonly effects?: Tool.Effects
  readonly key?: boolean
  readonly calls?: number
  readonly to?: ReadonlyArray<string>
}) => {
  const Send = Tool.make("send", {
    parameters: Schema.Struct({ text: Schema.String, to: Schema.Array(Schema.String) }),
    success: Schema.String,
    effects: options?.effects ?? "idempotent",
    timeout: "1 second",
    execute: ({ text }) =>
      Effect.gen(function*() {
        const { id } = yield* ToolCall.ToolCall
        const world = yield* SideEffects.SideEffects
        yield* world.perform({ tool: "send", ...(options?.key === false ? {} : { key: id }) })
        return text
      })
  }).pipe(Tool.onError(recover as never)) as unknown as Tool.Tool<
    "send",
    Schema.Top,
    typeof Schema.String,
    never,
    SideEffects.SideEffects
  >
  const budget = { turns: 6 }
  const turn = ScriptedModel.call("send", { text: "hello", to: options?.to ?? ["ada", "bob", "cy"] })
  return Subject.make({
    agent: Agent.make("sender", { tools: [Send], budget }),
    tools: [Send],
    budget,
    scenarios: {
      default: {
        input: "x",
        model: options?.calls === undefined
          ? [turn, ScriptedModel.text("done")]
          : () => turn
      }
    }
  })
}

const retrying: Recover = (call) => Effect.retry(call, { times: 2 })
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
const guarding: Recover = (call) =>
  Effect.flatMap(
    call,
    (text) => text.length > 5 ? ToolCall.escalate({ reason: "Blocked", code: "unsafe_output" }) : Effect.succeed(text)
  )

const judge = (
  subject: Subject.Subject<string, string, unknown>,
  type: string,
  expected: string,
  more?: Partial<FaultSuite.Case>
) =>
  Effect.map(
    FaultSuite.run(subject, {
      suite: "s",
      cases: [{ id: "c", tool: "send", fault: { type }, expected, ...more }]
    }),
    ({ cases }) => cases[0]!
  )

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

  it.effect("partial_success_reported: the model reads which parts were done, and which were not and why", () =>
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

describe("a suite", () => {
  const good: FaultSuite.Case = { id: "c", tool: "send", fault: { type: "timeout" }, expected: "run_succeeded" }
  const problems: ReadonlyArray<readonly [FaultSuite.SuiteError["problem"], ReadonlyArray<FaultSuite.Case>]> = [
    ["unknown fault", [{ ...good, fault: { type: "earthquake" } }]],
    ["unknown fault", [{ ...good, fault: { type: "rate_limit" } }]],
    ["unknown fault", [{ id: "c", fault: { type: "timeout" }, expected: "run_succeeded" }]],
    ["invalid fault", [{ ...good, fault: { type: "timeout", times: 0 } }]],
    ["invalid fault", [{ ...good, fault: { type: "timeout", time: 1 } }]],
    ["invalid fault", [{ ...good, fault: { type: "delay", millis: "soon" } }]],
    ["unknown tool", [{ ...good, tool: "fax" }]],
    ["unknown expectation", [{ ...good, expected: "success" }]],
    ["unknown expectation", [{ ...good, expected: "toString" }]],
    ["unknown expectation", [good, { ...good, id: "d", expected: ["run_succeeded", "nice"] }]],
    ["unknown scenario", [{ ...good, scenario: "other" }]],
    ["duplicate id", [good, good]]
  ]
  for (const [problem, cases] of problems) {
    it.effect(`with ${problem} is an error before anything runs: ${JSON.stringify(cases.at(-1))}`, () =>
      Effect.gen(function*() {
        let ran = 0
        const failed = yield* Effect.flip(FaultSuite.run(sender(retrying), { suite: "s", cases }, {
          onCase: () => Effect.sync(() => void ran++)
        }))
        assert.instanceOf(failed, FaultSuite.SuiteError)
        assert.strictEqual(failed.problem, problem)
        assert.strictEqual(ran, 0)
        if (problem === "unknown tool") assert.deepStrictEqual([failed.subject, failed.known], ["fax", ["send"]])
      }))
  }

  it.effect("that is not one is an error", () =>
    Effect.gen(function*() {
      for (const text of ["", "{", "[]", "{\"suite\":\"s\"}", "{\"suite\":\"s\",\"cases\":[{\"id\":1}]}"]) {
        assert.strictEqual((yield* Effect.flip(FaultSuite.parse(text))).problem, "not a suite")
      }
    }))

  it.effect("whose fault does not come about is a miss", () =>
    Effect.gen(function*() {
      const never = yield* judge(sender(retrying), "timeout", "run_succeeded", { fault: { type: "timeout", from: 7 } })
      assert.isFalse(never.passed)
      assert.include(never.misses[0], "not injected")
      const nothing = yield* judge(sender(retrying, { to: [] }), "partial_success", "run_succeeded")
      assert.isFalse(nothing.passed)
      assert.include(nothing.misses[0], "nothing to spoil")
    }))

  it.effect("becomes tests, of which those fail that miss", () =>
    Effect.gen(function*() {
      const tests = new Map<string, () => Promise<void>>()
      const runner: FaultSuite.TestRunner = {
        describe: (_, define) => define(),
        it: (name, run) => tests.set(name, run)
      }
      FaultSuite.test(runner, sender(retrying), {
        suite: "s",
        cases: [good, { ...good, id: "miss", expected: "run_ended_with:Timeout" }]
      })
      assert.deepStrictEqual([...tests.keys()], ["c", "miss"])
      yield* Effect.promise(() => tests.get("c")!())
      const missed = yield* Effect.flip(Effect.tryPromise({ try: () => tests.get("miss")!(), catch: (error) => error }))
      assert.include(String(missed), "the run ended with success")
      assert.match(String(missed), /1000 ms {3}send call_1 attempt 1 failed: Timeout/)

      tests.clear()
      FaultSuite.test(runner, sender(retrying), { suite: "s", cases: [{ ...good, tool: "fax" }] })
      const invalid = yield* Effect.flip(
        Effect.tryPromise({ try: () => tests.get("can be run")!(), catch: (error) => error })
      )
      assert.include(String(invalid), "unknown tool")
    }))
})
