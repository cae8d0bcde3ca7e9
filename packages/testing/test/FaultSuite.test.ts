import { assert, describe, it } from "@effect/vitest"
import { Expectation, FaultSuite, ScriptedModel, SideEffects, Simulation, Subject } from "@recourse/testing"
import { Effect, Redacted, Result, Schema } from "effect"
import { Agent, Approval, ErrorProjection, Recovery, Tool, ToolCall } from "@recourse/core"
import { bank } from "./office.ts"
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

class Sold extends Schema.TaggedError<Sold>()(
  "Sold",
  { article: Schema.String, until: Schema.Date },
  ErrorProjection.declare<{ readonly article: string; readonly until: Date }>({
    code: "sold_out",
    model: ({ article, until }) => `${article} is sold out until ${until.getUTCFullYear()}.`
  })
) {}

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

describe("spellings", () => {
  const told = (tool: string | undefined, type: string, expected: string) =>
    Effect.map(
      FaultSuite.run(tool === undefined ? shop : sender(retrying), {
        suite: "s",
        cases: [{ id: "c", ...(tool === undefined ? {} : { tool }), fault: { type }, expected }]
      }),
      ({ cases: [one] }) => [one?.tool, one?.fault, one?.expected[0], one?.passed]
    )
  for (
    const [type, fault] of [
      ["tool.timeout", "timeout"],
      ["TIMED_OUT", "timeout"],
      ["network-error", "network_error"],
      ["networkError", "network_error"],
      ["NetworkErrorAfterCommit", "network_error_after_commit"],
      ["network_error_after_side_effect", "network_error_after_commit"],
      ["tool.network-error-after-side-effect", "network_error_after_commit"],
      ["timeout_after_side_effect", "timeout_after_commit"]
    ] as const
  ) {
    it.effect(`${type} of a tool is ${fault}`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(
          yield* told("Send", type, "retry-then-success"),
          ["send", fault, "retry_then_success", true]
        )
      }))
  }
  for (const type of ["prompt_injection_in_result", "tool.promptInjectionInResult"]) {
    it.effect(`${type} of a tool is prompt_injection`, () =>
      Effect.map(
        judge(sender(guarding), type, "unsafe_output_blocked"),
        ({ fault, passed }) => assert.deepStrictEqual([fault, passed], ["prompt_injection", true])
      ))
  }
  for (const type of ["rate.limit", "RATE_LIMITED", "model.rate_limited", "rateLimit"]) {
    it.effect(`${type} of the model is rate_limit`, () =>
      Effect.gen(function*() {
        assert.deepStrictEqual(
          yield* told(undefined, type, "modelRetried"),
          [undefined, "rate_limit", "model_retried", true]
        )
      }))
  }
  it.effect("keep an expectation's parameter, and refuse ambiguous names", () =>
    Effect.gen(function*() {
      const run = (expected: string) =>
        FaultSuite.run(sender(retrying), {
          suite: "s",
          cases: [{ id: "c", tool: "send", fault: { type: "timeout" }, expected }]
        }, { expectations: { isNice: () => Result.void, "is.nice": () => Result.fail("no") } })
      const report = yield* run("run.ended-with:Time.out")
      assert.deepStrictEqual(report.cases[0]?.expected, ["run_ended_with:Time.out"])
      assert.isTrue((yield* run("isNice")).passed)
      assert.strictEqual((yield* Effect.flip(run("is_nice"))).problem, "unknown expectation")
    }))
})

describe("a failure that the tool declares", () => {
  const Buy = Tool.make("buy", {
    success: Schema.String,
    failure: Schema.Union([Schema.instanceOf(URL), Sold]),
    effects: "read",
    execute: (): Effect.Effect<string, Sold> => Effect.succeed("bought")
  }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
  const subject = Subject.make({
    agent: Agent.make("shop", { tools: [Buy] }),
    scenarios: { default: { input: "x", model: [ScriptedModel.call("buy", {}), ScriptedModel.text("done")] } }
  })
  const resultOf = (error: FaultSuite.Case["fault"]["error"]) =>
    Effect.map(
      FaultSuite.run(subject, {
        suite: "s",
        cases: [{ id: "c", tool: "buy", fault: { type: "failure", error }, expected: "run_succeeded" }]
      }),
      ({ cases: [one] }) =>
        one?.observation.events.flatMap((event) =>
          event._tag === "ToolResult"
            ? [(event.result as { readonly message_for_model: string }).message_for_model]
            : []
        )
    )

  it.effect("is made by its schema, so that code and text are reported", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(
        yield* resultOf({ _tag: "Sold", article: "tea", until: "2031-05-01T00:00:00.000Z" }),
        ["tea is sold out until 2031."]
      )
    }))

  it.effect("is undeclared if its fields do not fit", () =>
    Effect.gen(function*() {
      assert.deepStrictEqual(yield* resultOf({ _tag: "Sold", article: 7 }), ["Tool execution failed."])
    }))
})

describe("a suite", () => {
  const good: FaultSuite.Case = { id: "c", tool: "send", fault: { type: "timeout" }, expected: "run_succeeded" }
  const storeCase: FaultSuite.Case = {
    id: "c",
    store: "ledger",
    fault: { type: "store_fails" },
    expected: "run_succeeded"
  }
  const problems: ReadonlyArray<readonly [FaultSuite.SuiteError["problem"], ReadonlyArray<FaultSuite.Case>]> = [
    ["unknown fault", [{ ...good, fault: { type: "earthquake" } }]],
    ["unknown fault", [{ ...good, fault: { type: "rate_limit" } }]],
    ["unknown fault", [{ id: "c", fault: { type: "timeout" }, expected: "run_succeeded" }]],
    ["invalid fault", [{ ...good, fault: { type: "timeout", times: 0 } }]],
    ["invalid fault", [{ ...good, fault: { type: "timeout", time: 1 } }]],
    ["invalid fault", [{ ...good, fault: { type: "delay", millis: "soon" } }]],
    ["unknown tool", [{ ...good, tool: "fax" }]],
    ["unknown store", [{ ...storeCase, store: "shop" }]],
    ["unknown fault", [{ ...storeCase, fault: { type: "timeout" } }]],
    ["unknown fault", [{ ...good, fault: { type: "store_fails" } }]],
    ["unknown fault", [{ id: "c", fault: { type: "store_fails" }, expected: "run_succeeded" }]],
    ["tool and store", [{ ...good, store: "ledger" }]],
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

  it.effect("has store faults: a write without a recorded key does not run", () =>
    Effect.gen(function*() {
      const { cases } = yield* FaultSuite.run(bank, {
        suite: "ledger",
        cases: [
          { id: "begin", store: "ledger", fault: { type: "store_fails", times: 2 }, expected: "run_succeeded" },
          { id: "lost", store: "ledger", fault: { type: "answer-lost" }, expected: "run_succeeded" },
          { id: "slow", store: "ledger", fault: { type: "hangs", from: 2, times: 9 }, expected: "run_succeeded" },
          { id: "twice", store: "ledger", fault: { type: "does_twice", times: 4 }, expected: "run_succeeded" },
          { id: "never", store: "Ledger", fault: { type: "store_fails", from: 90 }, expected: "run_succeeded" },
          { id: "resumed", store: "resumptions", fault: { type: "does_twice" }, expected: "run_succeeded" }
        ]
      })
      assert.deepStrictEqual(
        cases.map(({ attempts, fault, misses, observation, sideEffects, store }) => [
          store,
          fault,
          attempts,
          sideEffects,
          ...observation.events.flatMap((event) => event._tag === "ToolResult" ? [event.code ?? "done"] : []),
          ...misses
        ]),
        [
          ["ledger", "store_fails", 4, 1, "ledger_unavailable", "done"],
          ["ledger", "store_answer_lost", 4, 1, "ledger_unavailable", "done"],
          ["ledger", "store_hangs", 5, 1, "ledger_unavailable", "done"],
          ["ledger", "store_does_twice", 4, 2, "done", "done"],
          ["ledger", "store_fails", 4, 2, "done", "done", "the fault was not injected: ledger was not called as often"],
          [
            "resumptions",
            "store_does_twice",
            0,
            2,
            "done",
            "done",
            "the fault was not injected: resumptions was not called as often"
          ]
        ]
      )
    }))

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
      assert.include(nothing.misses[0], "no text to alter")
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
