import { ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import type { LanguageModel } from "effect/ai"
import { Agent, Approval, ConfigurationError, Policy, Recovery, Tool, ToolCall } from "@recourse/core"
import { collect, lastResults } from "../support/kit.ts"

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

/** An agent of tools whose types the test does not look at. */
interface Pausing {
  readonly start: (input: string) => Effect.Effect<any, never, LanguageModel.LanguageModel | Approval.SnapshotKey>
  readonly resume: (
    snapshot: unknown,
    decisions: ReadonlyArray<Approval.Decision>
  ) => Effect.Effect<any, never, LanguageModel.LanguageModel | Approval.SnapshotKey>
}

/** A read whose answers are listed: the last one stays. */
const reading = (
  name: string,
  answers: ReadonlyArray<unknown>,
  options: { allowIdenticalCalls?: boolean; trust?: "untrusted" } = {}
) => {
  const state = { runs: 0 }
  const tool = Tool.make(name, {
    parameters: Schema.Struct({ n: Schema.optionalKey(Schema.Number) }),
    success: Schema.Json,
    effects: "read",
    ...options,
    execute: () => Effect.sync(() => answers[Math.min(state.runs++, answers.length - 1)] as Schema.Json)
  }).pipe(Tool.onError(Recovery.escalate("InvalidArgs", "InvalidResult" as never))) as Tool.Any
  return { state, tool }
}

const play = (
  tools: ReadonlyArray<Tool.Any>,
  names: ReadonlyArray<string>,
  options: { readonly repeatedCalls?: number } = {}
) =>
  Effect.gen(function*() {
    const agent = Agent.make("m", { tools, ...options })
    const requests: Array<ReadonlyArray<unknown>> = []
    const turns = names.map((name) => ScriptedModel.call(name, {}))
    yield* agent.run("x").pipe(
      Effect.provide(ScriptedModel.layer(({ prompt }, index) => {
        requests.push(lastResults(prompt).map(({ result }) => result))
        return turns[index] ?? ScriptedModel.text("done")
      }))
    ) as Effect.Effect<unknown>
    return requests.slice(1).map((results) => results[0] as { code?: string })
  })

const refused = (results: ReadonlyArray<{ code?: string } | null>) =>
  results.map((result) => result?.code === "repeated_call")

describe("calls without new results", () => {
  it.effect("the fifth equal call is not made, and the model is informed", () =>
    Effect.gen(function*() {
      const { state, tool } = reading("look", [{ a: 1 }])
      const results = yield* play([tool], Array.from({ length: 6 }, () => "look"))
      assert.deepStrictEqual(refused(results), [false, false, false, false, true, true])
      assert.strictEqual(state.runs, 4)
      assert.include(JSON.stringify(results[4]), "gave the same result 4 times")
    }))

  it.effect("are equal if their arguments are, in whatever text a transport kept", () =>
    Effect.gen(function*() {
      const runsOf = (texts: ReadonlyArray<string>) => {
        const { state, tool } = reading("look", ["x"])
        const turns = texts.map((text) => ScriptedModel.call("look", text as never))
        const agent = Agent.make("m", { tools: [tool], repeatedCalls: 2 })
        const run = agent.run("x") as Effect.Effect<unknown, unknown, LanguageModel.LanguageModel>
        return run.pipe(
          Effect.provide(ScriptedModel.layer([...turns, ScriptedModel.text("done")])),
          Effect.map(() => state.runs)
        )
      }
      assert.strictEqual(yield* runsOf(["{\"n\":1}", "{ \"n\": 1.0 }", "{\"\\u006e\": 1}"]), 2)
      assert.strictEqual(yield* runsOf(["{\"n\":1}", "{ \"n\": 2 }", "{\"n\": 3}"]), 3)
    }))

  it.effect("two calls that take turns; a new result begins the count again", () =>
    Effect.gen(function*() {
      const a = reading("a", [1])
      const b = reading("b", [{ b: 1 }])
      const turns = yield* play([a.tool, b.tool], [..."ababababababab"])
      // The first answer of `a` is older than that of `b`.
      assert.deepStrictEqual(refused(turns).slice(-5), [true, true, true, true, true])
      assert.deepStrictEqual([a.state.runs, b.state.runs], [5, 4])

      const c = reading("c", [1])
      const fresh = reading("fresh", [1, 1, 2, 2, 3, 3, 4, 5])
      const progress = yield* play([c.tool, fresh.tool], [..."cfcfcfcfcfcfcfcf"].map((x) => x === "c" ? "c" : "fresh"))
      assert.isFalse(refused(progress).includes(true))
      assert.deepStrictEqual([c.state.runs, fresh.state.runs], [8, 8])
    }))

  it.effect("untrusted results are compared by content, not by call", () =>
    Effect.gen(function*() {
      const { state, tool } = reading("fetch", ["text"], { trust: "untrusted" })
      yield* play([tool], Array.from({ length: 6 }, () => "fetch")).pipe(Effect.provide(key))
      assert.strictEqual(state.runs, 4)
    }))

  it.effect("a polling tool is not counted; the limit can be changed", () =>
    Effect.gen(function*() {
      const nine = (name: string) => Array.from({ length: 9 }, () => name)
      const polled = reading("poll", ["waiting"], { allowIdenticalCalls: true })
      yield* play([polled.tool], nine("poll"))
      const two = reading("look", ["x"])
      yield* play([two.tool], nine("look"), { repeatedCalls: 2 })
      const free = reading("look", ["x"])
      yield* play([free.tool], nine("look"), { repeatedCalls: Infinity })
      assert.deepStrictEqual([polled.state.runs, two.state.runs, free.state.runs], [9, 2, 9])
      const asked: Array<string> = []
      const task = Tool.make("render", {
        success: Schema.String,
        execute: () => ToolCall.pending("job-1"),
        status: (id) => Effect.andThen(Effect.sync(() => asked.push(id)), Effect.succeed("still drawing"))
      })
      const agent = Agent.make("m", { tools: [task], defaults: { onError: Recovery.standard } })
      yield* agent.run("x").pipe(
        Effect.provide(ScriptedModel.layer([
          ScriptedModel.call("render", {}),
          ...nine("render_status").map((name) => ScriptedModel.call(name, { task_id: "job-1" })),
          ScriptedModel.text("done")
        ]))
      )
      assert.lengthOf(asked, 9)
      assert.throws(() => Agent.make("m", { repeatedCalls: 0 }), ConfigurationError.ConfigurationError)
      assert.throws(() => Agent.make("m", { repeatedFailures: 1.5 }), ConfigurationError.ConfigurationError)
    }))

  it.effect("the count continues behind a pause", () =>
    Effect.gen(function*() {
      const { state, tool } = reading("look", ["x"])
      const ask = Tool.make("ask", { needsApproval: true, execute: () => Effect.void })
      const agent = Agent.make("m", { tools: [tool, ask] }) as unknown as Pausing
      const turns = ["look", "look", "look", "ask", "look", "look", "look"].map((name) => ScriptedModel.call(name, {}))
      const paused = yield* agent.start("x").pipe(Effect.provide([ScriptedModel.layer(turns), key]))
      assert.strictEqual(paused._tag, "Paused")
      yield* agent.resume(paused.snapshot, paused.pending.map((call: Approval.PendingCall) => Approval.approve(call)))
        .pipe(
          Effect.provide([ScriptedModel.layer([...turns.slice(4), ScriptedModel.text("done")]), key])
        )
      // `ask` answers something new once, so that `look` has four times more.
      assert.strictEqual(state.runs, 6)
    }))

  it.effect("a polling tool's result does not count as new", () =>
    Effect.gen(function*() {
      const look = reading("look", [1])
      const poll = reading("poll", [1, 2, 3, 4, 5, 6], { allowIdenticalCalls: true })
      yield* play([look.tool, poll.tool], Array.from({ length: 12 }, (_, n) => n % 2 === 0 ? "look" : "poll"))
      assert.deepStrictEqual([look.state.runs, poll.state.runs], [4, 6])
    }))

  it.effect("a tool polling since a pause ignores earlier results", () =>
    Effect.gen(function*() {
      const agent = (options: { readonly allowIdenticalCalls?: boolean }) => {
        const { state, tool } = reading("look", [1], options)
        const ask = Tool.make("ask", { needsApproval: true, execute: () => Effect.void })
        return { agent: Agent.make("m", { tools: [tool, ask], repeatedCalls: 2 }) as unknown as Pausing, state }
      }
      const first = agent({})
      const ask = ScriptedModel.calls([{ name: "ask", params: {} }, { name: "look", params: {} }])
      const paused = yield* first.agent.start("x").pipe(
        Effect.provide([ScriptedModel.layer([ScriptedModel.call("look", {}), ask]), key])
      )
      const second = agent({ allowIdenticalCalls: true })
      const reject = paused.pending.map((call: Approval.PendingCall) => Approval.reject(call, "no"))
      yield* second.agent.resume(paused.snapshot, reject).pipe(
        Effect.provide([ScriptedModel.layer([ScriptedModel.call("look", {}), ScriptedModel.text("done")]), key])
      )
      assert.deepStrictEqual([first.state.runs, second.state.runs], [2, 1])
    }))

  it.effect("further failures of a call report their number and kind", () =>
    Effect.gen(function*() {
      let runs = 0
      const down = Tool.make("down", {
        effects: "read",
        execute: () => Effect.suspend(() => Effect.fail(`no ${++runs}`))
      }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
      const results = yield* play([down], Array.from({ length: 5 }, () => "down"))
      assert.deepStrictEqual(refused(results), [false, false, true, true, true])
      assert.strictEqual(runs, 3)
      for (const result of results.slice(2)) {
        assert.include(
          JSON.stringify(result),
          "failed 3 times with the same arguments and the same error (execution_error)"
        )
      }
    }))

  it.effect("the fourth call of a missing tool is reported as such", () =>
    Effect.gen(function*() {
      const results = yield* play([reading("look", [1]).tool], Array.from({ length: 4 }, () => "lock"))
      assert.deepStrictEqual(results.map((result) => result.code), [
        "tool_not_found",
        "tool_not_found",
        "tool_not_found",
        "repeated_call"
      ])
    }))

  it.effect("a possible write is always reported as unknown", () =>
    Effect.gen(function*() {
      let runs = 0
      const pay = Tool.make("pay", {
        effects: "write",
        execute: () => Effect.suspend(() => Effect.fail(`no ${++runs}`))
      }).pipe(Tool.onError(Recovery.standard)) as Tool.Any
      const results = yield* play([pay], Array.from({ length: 4 }, () => "pay"))
      assert.deepStrictEqual(results.map((result) => result.code), [
        "outcome_unknown",
        "outcome_unknown",
        "outcome_unknown",
        "repeated_call"
      ])
      assert.strictEqual(runs, 3)
    }))

  it.effect("a success of a call starts the count of its failures again", () =>
    Effect.gen(function*() {
      let runs = 0
      const flaky = Tool.make("flaky", {
        effects: "read",
        success: Schema.Int,
        execute: () => Effect.suspend(() => ++runs % 3 === 0 ? Effect.succeed(runs) : Effect.fail("down" as const))
      }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
      const results = yield* play([flaky], Array.from({ length: 9 }, () => "flaky"))
      assert.isFalse(refused(results).includes(true))
      assert.strictEqual(runs, 9)
    }))
})

describe("coalesce", () => {
  const twice = (name: string) => ScriptedModel.calls([1, 2, 1, 1].map((n) => ({ name, params: { n } })))
  const coalescing = (trust: "trusted" | "untrusted" = "trusted") => {
    const state = { runs: 0 }
    const tool = Tool.make("load", {
      parameters: Schema.Struct({ n: Schema.Number }),
      success: Schema.Number,
      effects: "read",
      coalesce: true,
      trust,
      execute: ({ n }) => Effect.andThen(Effect.yieldNow, Effect.sync(() => 100 * n + ++state.runs))
    }).pipe(Tool.onError(Recovery.escalate("InvalidArgs", "InvalidResult" as never))) as Tool.Any
    return { state, tool }
  }

  it.effect("identical reads of one answer run once, each with its events", () =>
    Effect.gen(function*() {
      for (const concurrency of [1, 2, 8]) {
        const { state, tool } = coalescing()
        const { events, layer } = collect()
        const agent = Agent.make("m", { tools: [tool], concurrency })
        const report = yield* agent.report("x").pipe(
          Effect.provide([ScriptedModel.layer([twice("load"), ScriptedModel.text("done")]), layer])
        ) as Effect.Effect<any>
        assert.strictEqual(state.runs, 2)
        assert.strictEqual(report.usage.toolCalls, 2)
        const results = report.transcript.content.filter((message: any) => message.role === "tool")
          .flatMap((message: any) => message.content.map(({ id, result }: any) => [id, result]))
        assert.deepStrictEqual(results, [["call_1", 101], ["call_2", 202], ["call_3", 101], ["call_4", 101]])
        const ended = events.flatMap((event) => event._tag === "ToolResult" ? [event.callId] : [])
        assert.deepStrictEqual(ended.toSorted(), ["call_1", "call_2", "call_3", "call_4"])
      }
    }))

  it.effect("shares one result, except envelopes, which name their call", () =>
    Effect.gen(function*() {
      const answers = [null, 1, "x", { untrusted: true }, { call_id: "call_9" }, { a: [1] }]
      for (const answer of answers) {
        const tool = Tool.make("load", {
          success: Schema.Json,
          effects: "read",
          coalesce: true,
          execute: () => Effect.succeed(answer)
        }).pipe(Tool.onError(Recovery.escalate("InvalidArgs", "InvalidResult" as never))) as Tool.Any
        const told: Array<unknown> = []
        const both = ScriptedModel.calls([{ name: "load", params: {} }, { name: "load", params: {} }])
        yield* Agent.make("m", { tools: [tool] }).run("x").pipe(
          Effect.provide(ScriptedModel.layer(({ prompt }, index) => {
            if (index > 0) told.push(...lastResults(prompt).map(({ result }) => result))
            return index === 0 ? both : ScriptedModel.text("done")
          }))
        ) as Effect.Effect<unknown>
        assert.deepStrictEqual(told, [answer, answer])
      }
    }))

  it.effect("a long envelope names its call to listeners, who read all", () =>
    Effect.gen(function*() {
      const tool = Tool.make("load", {
        success: Schema.String,
        effects: "read",
        coalesce: true,
        trust: "untrusted",
        resultLimit: 300,
        execute: () => Effect.succeed("x".repeat(2000))
      }).pipe(Tool.onError(Recovery.escalate("InvalidArgs", "InvalidResult" as never))) as Tool.Any
      const { events, layer } = collect()
      const both = ScriptedModel.calls([{ name: "load", params: {} }, { name: "load", params: {} }])
      yield* Agent.make("m", { tools: [tool] }).run("x").pipe(
        Effect.provide([ScriptedModel.layer([both, ScriptedModel.text("done")]), layer])
      ) as Effect.Effect<unknown>
      const heard = events.flatMap((event) => event._tag === "ToolResult" ? [event] : []) as ReadonlyArray<any>
      assert.deepStrictEqual(heard.map(({ callId }) => callId).toSorted(), ["call_1", "call_2"])
      for (const { callId, result } of heard) {
        assert.deepStrictEqual([result.call_id, result.content.length], [callId, 2000])
      }
    }))

  it.effect("calls of different answers differ; an envelope names its own call", () =>
    Effect.gen(function*() {
      const { state, tool } = coalescing("untrusted")
      const agent = Agent.make("m", { tools: [tool] })
      const report = yield* agent.report("x").pipe(
        Effect.provide([ScriptedModel.layer([twice("load"), twice("load"), ScriptedModel.text("done")]), key])
      ) as Effect.Effect<any>
      assert.strictEqual(state.runs, 4)
      for (const message of report.transcript.content) {
        for (const part of message.role === "tool" ? message.content : []) {
          assert.strictEqual(part.result.call_id, part.id)
        }
      }
    }))

  it.effect("if the first waits or is denied, others get own verdicts", () =>
    Effect.gen(function*() {
      const { state, tool } = coalescing()
      const agent = Agent.make("m", {
        tools: [tool],
        policies: [
          Policy.make("ask", ({ callId }) => callId === "call_1" ? Policy.requireApproval("look") : Policy.allow, {
            mayRequestApproval: true
          })
        ]
      }) as unknown as Pausing
      const paused = yield* agent.start("x").pipe(
        Effect.provide([ScriptedModel.layer([twice("load"), ScriptedModel.text("done")]), key])
      )
      assert.strictEqual(paused._tag, "Paused")
      assert.deepStrictEqual(paused.pending.map((call: any) => call.callId), ["call_1"])
      assert.isAbove(state.runs, 0)
    }))

  it("coalesce applies to reads", () => {
    assert.throws(
      () => Tool.make("w", { effects: "write", coalesce: true as never, execute: () => Effect.void }),
      /coalesce is for tools/
    )
  })
})
