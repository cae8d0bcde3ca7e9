import { assert, describe, it } from "@effect/vitest"
import { FaultSuite, ScriptedModel, Subject } from "@recourse/testing"
import { Effect, Result, Schema } from "effect"
import { Agent, ErrorProjection, Recovery, Tool } from "@recourse/core"
import { bank } from "../support/office.ts"
import { subject as shop } from "../support/shop.ts"
import { guarding, judge, retrying, sender } from "../support/sendingClerk.ts"

class Sold extends Schema.TaggedError<Sold>()(
  "Sold",
  { article: Schema.String, until: Schema.Date },
  ErrorProjection.declare<{ readonly article: string; readonly until: Date }>({
    code: "sold_out",
    model: ({ article, until }) => `${article} is sold out until ${until.getUTCFullYear()}.`
  })
) {}

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
