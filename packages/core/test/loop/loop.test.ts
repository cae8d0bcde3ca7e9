import { Drive, ScriptedModel, TestTracer } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Schema } from "effect"
import { type LanguageModel, Prompt } from "effect/ai"
import { Agent, ConfigurationError, ModelError, Recovery, Tool } from "@recourse/core"
import { collect, flaky, lastResults } from "../support/kit.ts"
import { call, Echo } from "../support/echoes.ts"

const Wait = Tool.make("wait", {
  parameters: Schema.Struct({ millis: Schema.Number }),
  success: Schema.Number,
  effects: "read",
  execute: ({ millis }) => Effect.as(Effect.sleep(millis), millis)
})

const transcriptOf = <E>(
  agent: Agent.Agent<string, unknown, E, LanguageModel.LanguageModel>,
  turns: ReadonlyArray<ScriptedModel.Turn>
) => Effect.map(agent.report("x"), (report) => report.transcript).pipe(Effect.provide(ScriptedModel.layer(turns)))

const earlier = Prompt.make([
  { role: "user", content: "say a" },
  {
    role: "assistant",
    content: [{ type: "tool-call", id: "c1", name: "echo", params: { text: "a" }, providerExecuted: false }]
  },
  { role: "tool", content: [{ type: "tool-result", id: "c1", name: "echo", isFailure: false, result: "a" }] }
])

const resultsOf = <E>(
  agent: Agent.Agent<string, unknown, E, LanguageModel.LanguageModel>,
  turns: ReadonlyArray<ScriptedModel.Turn>
) =>
  Effect.map(
    transcriptOf(agent, turns),
    (transcript) =>
      transcript.content.filter((message) => message.role === "tool").flatMap((message) =>
        lastResults({ content: [message] })
      )
  )

describe("calls", () => {
  const idsAfterEarlier = (sent: ReadonlyArray<ScriptedModel.ScriptedCall>) =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { tools: [Echo], prompt: (text) => Prompt.concat(earlier, text) })
      const turns = [ScriptedModel.calls(sent), ScriptedModel.text("done")]
      const { transcript } = yield* agent.report("again").pipe(Effect.provide(ScriptedModel.layer(turns)))
      return transcript.content.flatMap((message) =>
        message.role === "tool" ? lastResults({ content: [message] }).map(({ id }) => id) : []
      )
    })

  it.effect("have ids that the conversation before has not", () =>
    Effect.gen(function*() {
      const ids = yield* idsAfterEarlier([call("echo", { text: "b" }, "c1")])
      assert.deepStrictEqual(ids, ["c1", "c1_2"])
    }))

  it.effect("that repeat each other run once, also with an earlier id", () =>
    Effect.gen(function*() {
      const again = call("echo", { text: "b" }, "c1")
      assert.deepStrictEqual(yield* idsAfterEarlier([again, again]), ["c1", "c1_2"])
    }))

  it.effect("run in parallel and are answered in the order of the calls", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { tools: [Wait] })
      const results = yield* Drive.drive(
        resultsOf(agent, [
          ScriptedModel.calls([300, 100, 200].map((millis) => call("wait", { millis }))),
          ScriptedModel.text("done")
        ])
      )
      assert.deepStrictEqual(results.map((result) => result.result), [300, 100, 200])
    }))

  it.effect("run at most `concurrency` at a time", () =>
    Effect.gen(function*() {
      let now = 0
      let most = 0
      const tool = Tool.make("t", {
        parameters: Schema.Struct({ n: Schema.Number }),
        execute: () =>
          Effect.gen(function*() {
            most = Math.max(most, ++now)
            yield* Effect.sleep("1 second")
            now--
          })
      })
      const agent = Agent.make("a", { tools: [tool], concurrency: 3 })
      yield* Drive.drive(
        resultsOf(agent, [
          ScriptedModel.calls([1, 2, 3, 4, 5, 6, 7].map((n) => call("t", { n }))),
          ScriptedModel.text("ok")
        ])
      )
      assert.strictEqual(most, 3)
    }))

  it.effect("of unknown tools are answered with the existing tools; siblings run", () =>
    Effect.gen(function*() {
      const results = yield* resultsOf(Agent.make("a", { tools: [Echo, Wait] }), [
        ScriptedModel.calls([call("nope", {}), call("echo", { text: "hi" })]),
        ScriptedModel.text("ok")
      ])
      const failure = results[0]?.result as { readonly code: string; readonly available_tools: ReadonlyArray<string> }
      assert.strictEqual(failure.code, "tool_not_found")
      assert.deepStrictEqual(failure.available_tools, ["echo", "wait"])
      assert.strictEqual(results[1]?.result, "hi")
    }))

  it.effect("that end the run leave one result per call", () =>
    Effect.gen(function*() {
      const boom = Tool.make("boom", {
        execute: () => Effect.andThen(Effect.sleep("1 second"), Effect.fail("x" as const))
      })
      const agent = Agent.make("a", { tools: [Echo, boom, Wait], concurrency: 3 })
      const results = yield* Drive.drive(
        resultsOf(agent, [
          ScriptedModel.calls([
            call("echo", { text: "hi" }),
            call("wait", { millis: 9000 }),
            call("boom", {}),
            call("echo", { text: "late" })
          ])
        ])
      )
      const codes = results.map((result) => result.isFailure ? (result.result as { code: string }).code : result.result)
      assert.deepStrictEqual(codes, ["hi", "not_run", "execution_error", "late"])
      assert.deepStrictEqual(results.map((result) => result.id), ["call_1", "call_2", "call_3", "call_4"])
    }))

  it.effect("with one id: equal ones run once, others get new ids", () =>
    Effect.gen(function*() {
      let runs = 0
      const pay = Tool.make("pay", {
        parameters: Schema.Struct({ n: Schema.Number }),
        success: Schema.Number,
        effects: "write",
        execute: ({ n }) => Effect.as(Effect.sync(() => runs++), n)
      })
      const agent = Agent.make("a", { tools: [pay] })
      const transcript = yield* transcriptOf(agent, [
        ScriptedModel.calls([call("pay", { n: 1 }, "x"), call("pay", { n: 1 }, "x"), call("pay", { n: 2 }, "x")]),
        ScriptedModel.calls([call("pay", { n: 3 }, "x"), call("pay", { n: 4 }, "")]),
        ScriptedModel.text("ok")
      ])
      const parts = (role: string, type: string) =>
        transcript.content.filter((message) => message.role === role)
          .flatMap((message) => message.content as ReadonlyArray<Prompt.Part>)
          .filter((part) => part.type === type)
          .map((part) => (part as Prompt.ToolCallPart).id)
      const ids = parts("assistant", "tool-call")
      assert.strictEqual(runs, 4)
      assert.strictEqual(new Set(ids).size, 4)
      assert.deepStrictEqual(parts("tool", "tool-result"), ids)
    }))

  it.effect("that repeatedly fail in the same way are refused, and charged", () =>
    Effect.gen(function*() {
      const { state, tool } = flaky(99, "read")
      const agent = Agent.make("a", {
        tools: [tool.pipe(Tool.onError(Recovery.escalate("ExecutionError")))],
        budget: { allFailureRounds: 5 }
      })
      const turns = Array.from({ length: 6 }, () => ScriptedModel.call("flaky", { n: 1 }))
      const results = yield* resultsOf(agent, turns)
      assert.deepStrictEqual(results.map((result) => (result.result as { code: string }).code), [
        "execution_error",
        "execution_error",
        "repeated_call",
        "repeated_call",
        "repeated_call"
      ])
      assert.strictEqual(state.runs, 3)
    }))

  it.effect("keep the provider's own calls, and run only the others", () =>
    Effect.gen(function*() {
      const results = yield* resultsOf(Agent.make("a", { tools: [Echo] }), [
        ScriptedModel.calls([call("echo", { text: "1" })], { finishReason: "pause" }),
        ScriptedModel.text("ok")
      ])
      assert.deepStrictEqual(results.map((result) => result.result), ["1"])
    }))
})

describe("output", () => {
  const agent = Agent.make("a", { output: Schema.Struct({ n: Schema.Int }) })

  it.effect("that fits costs no further call", () =>
    Effect.gen(function*() {
      const report = yield* agent.report("x").pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("{\"n\":3}")]))
      )
      assert.deepStrictEqual(report.exit, Exit.succeed({ n: 3 }))
    }))

  it.effect("that does not fit is corrected once, as an object", () =>
    Effect.gen(function*() {
      const program = Effect.gen(function*() {
        const answer = yield* agent.run("x")
        const request = yield* (yield* ScriptedModel.ScriptedModel).lastRequest
        return { answer, request }
      })
      const { answer, request } = yield* program.pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.text("n is 3"),
        ScriptedModel.object({ answer: { n: 3 } })
      ])))
      assert.deepStrictEqual(answer, { n: 3 })
      assert.strictEqual(request.format, "json")
      assert.include(JSON.stringify(request.prompt.content.at(-1)), "expected only JSON")
    }))

  it.effect("that does not fit after its correction is a typed error", () =>
    Effect.gen(function*() {
      const error = yield* Effect.flip(agent.run("x")).pipe(Effect.provide(ScriptedModel.layer([
        ScriptedModel.text("n is 3"),
        ScriptedModel.object({ answer: { n: "3" } })
      ])))
      assert.strictEqual(error._tag, "InvalidOutput")
    }))

  it.effect("an unfit input is a typed error without a model call", () =>
    Effect.gen(function*() {
      const strict = Agent.make("a", { input: Schema.Struct({ age: Schema.Int }) })
      const error = yield* Effect.flip(strict.run({ age: 0.5 })).pipe(Effect.provide(ScriptedModel.layer([])))
      assert.strictEqual(error._tag, "InvalidInput")
    }))
})

describe("skills", () => {
  const math = Agent.skill("math", { description: "Counts", instructions: "Be exact.", tools: [Wait] })
  const talk = Agent.skill("talk", { description: "Talks", tools: [Echo] })
  const agent = Agent.make("a", { instructions: "Help.", skills: [math, talk] })
  const play = <E>(
    agent: Agent.Agent<string, string, E, LanguageModel.LanguageModel>,
    turns: ReadonlyArray<ScriptedModel.Turn>
  ) =>
    Effect.gen(function*() {
      const exit = yield* Effect.exit(agent.run("x"))
      return { exit, requests: yield* (yield* ScriptedModel.ScriptedModel).requests }
    }).pipe(Effect.provide(ScriptedModel.layer(turns)))

  it.effect("are chosen by one model call, which limits instructions and tools", () =>
    Effect.gen(function*() {
      const { exit, requests } = yield* play(agent, [
        ScriptedModel.object({ skills: ["math"] }),
        ScriptedModel.text("ok")
      ])
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(requests.map((request) => request.tools), [[], ["wait"]])
      assert.strictEqual(requests[1]?.prompt.content[0]?.content, "Help.\n\nBe exact.")
    }))

  for (
    const [reason, skills] of [["none", []], ["ambiguous", ["math", "talk"]], ["unknown", ["poetry"]]] as const
  ) {
    it.effect(`that cannot be chosen are a typed error: ${reason}`, () =>
      Effect.gen(function*() {
        const { exit } = yield* play(agent, [ScriptedModel.object({ skills })])
        const error = Exit.isFailure(exit)
          ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error
          : undefined
        assert.isTrue(error?._tag === "SkillNotChosen" && error.reason === reason)
      }))
  }

  it.effect("are chosen without a call by a function, or if single", () =>
    Effect.gen(function*() {
      const named = yield* play(Agent.make("a", { skills: [math, talk], skill: () => "talk" }), [
        ScriptedModel.text("ok")
      ])
      assert.deepStrictEqual(named.requests.map((request) => request.tools), [["echo"]])
      const fixed = yield* play(Agent.make("a", { skills: [math, talk], skill: "math" }), [ScriptedModel.text("ok")])
      assert.deepStrictEqual(fixed.requests.map((request) => request.tools), [["wait"]])
      const only = yield* play(Agent.make("a", { skills: [math] }), [ScriptedModel.text("ok")])
      assert.deepStrictEqual(only.requests.map((request) => request.tools), [["wait"]])
    }))
})

describe("combinators", () => {
  it.effect("firstOf and speculative interrupt and await the losers", () =>
    Effect.gen(function*() {
      let cleaned = 0
      const slow = Agent.fromFunction("slow", (_: string) =>
        Effect.onInterrupt(Effect.never, () =>
          Effect.andThen(
            Effect.sleep("1 second"),
            Effect.sync(() => void cleaned++)
          )))
      const fast = Agent.fromFunction("fast", (_: string) => Effect.as(Effect.sleep("1 second"), "fast"))
      assert.strictEqual(yield* Drive.drive(Agent.firstOf("any", [slow, fast, slow]).run("x")), "fast")
      assert.strictEqual(cleaned, 2)
    }))

  it.effect("nested agents share one run: id, budget and trace", () =>
    Effect.gen(function*() {
      const { events, layer } = collect()
      const one = Agent.make("one", {})
      const two = Agent.make("two", {})
      const both = Agent.all("both", [one, two]).pipe(
        Agent.andThen(Agent.fromFunction("join", (all: ReadonlyArray<string>) => Effect.succeed(all.join(" "))))
      )
      const spans = yield* Effect.gen(function*() {
        assert.strictEqual(yield* both.run("x"), "a b")
        const tracer = yield* TestTracer.TestTracer
        return (yield* tracer.spans).filter((span) => span.name.startsWith("invoke_agent"))
      }).pipe(
        Effect.provide(TestTracer.layer),
        Effect.provide(layer),
        Effect.provide(ScriptedModel.layer([ScriptedModel.text("a"), ScriptedModel.text("b")]))
      )
      assert.strictEqual(new Set(events.map((event) => event.runId)).size, 1)
      assert.strictEqual(events.filter((event) => event._tag === "RunFinished").length, 1)
      assert.deepStrictEqual(spans.map((span) => [span.name, TestTracer.parentName(span)]), [
        ["invoke_agent both > join", undefined],
        ["invoke_agent both", "invoke_agent both > join"],
        ["invoke_agent one", "invoke_agent both"],
        ["invoke_agent two", "invoke_agent both"],
        ["invoke_agent join", "invoke_agent both > join"]
      ])
    }))
})

describe("bad input", () => {
  const refused = (make: () => unknown) => assert.throws(make, ConfigurationError.ConfigurationError)

  it("construction refuses bad input", () => {
    refused(() => Tool.make("", { execute: () => Effect.void }))
    refused(() => Tool.make("a b", { execute: () => Effect.void }))
    refused(() => Tool.make("t", { timeout: -5, execute: () => Effect.void }))
    refused(() => Agent.make("", {}))
    refused(() => Agent.make("a", { tools: [Echo, Echo] }))
    refused(() => Agent.make("a", { tools: [Echo], onToolError: { nope: (call: never) => call } as never }))
    refused(() => Agent.fromFunction("f", (_: string) => Effect.void).pipe(Agent.speculative(0)))
    refused(() =>
      Agent.make("a", { skills: [Agent.skill("s", { description: "" }), Agent.skill("s", { description: "" })] })
    )
  })

  it.effect("a handler of a wrong decision type does not compile", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { output: Schema.Int, onModelError: () => ModelError.respondWith(1) })
      assert.strictEqual(
        yield* agent.run("x").pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.failure("UnknownError")]))),
        1
      )
    }))
})
