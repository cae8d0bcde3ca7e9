import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import {
  Agent,
  AiToolkit,
  Approval,
  ConfigurationError,
  IdempotencyLedger,
  Policy,
  Recovery,
  Skill,
  Tool,
  ToolCall
} from "@recourse/core"

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

const shop = () => {
  const done: Array<string> = []
  const tool = <N extends string>(name: N, effects: Tool.Effects, slow = false) =>
    Tool.make(name, {
      parameters: Schema.Struct({ n: Schema.optionalKey(Schema.Number) }),
      effects,
      execute: ({ n }) =>
        Effect.andThen(slow ? Effect.sleep(1000) : Effect.void, Effect.sync(() => void done.push(`${name}${n ?? ""}`)))
    }).pipe(Tool.onError(Recovery.escalate("InvalidArgs")))
  return { done, Refund: tool("refund", "write", true), Look: tool("look", "read"), Void: tool("void", "write") }
}

const calls = (...names: ReadonlyArray<string>) =>
  ScriptedModel.calls(names.map((name, n) => ({ name, params: { n } })))

const script = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.provide([ScriptedModel.layer([...turns, ScriptedModel.text("done")]), key])

describe("policies see the calls of the run", () => {
  it.effect("maxCalls: limits parallel calls, also with slow policies", () =>
    Effect.gen(function*() {
      for (const concurrency of [1, 3, 8]) {
        const { Refund, done } = shop()
        const slow = Policy.make(
          "slow",
          ({ callId, calls }) =>
            Effect.as(
              Effect.sleep(callId === "call_1" ? 500 : 100),
              calls.length > 99 ? Policy.deny("no") : Policy.allow
            )
        )
        yield* Drive.drive(
          Agent.make("m", { tools: [Refund], policies: [Policy.maxCalls("refund", 2), slow], concurrency }).run("x")
            .pipe(
              script(calls("refund", "refund", "refund", "refund"), calls("refund"))
            )
        )
        assert.strictEqual(done.length, 2)
      }
    }))

  it.effect("a policy that reads calls decides again after another admission", () =>
    Effect.gen(function*() {
      const { Refund, done } = shop()
      const asked: Array<string> = []
      const slow = Policy.make(
        "slow",
        ({ callId }) => (asked.push(callId), Effect.as(Effect.sleep(100), Policy.allow))
      )
      yield* Drive.drive(
        Agent.make("m", { tools: [Refund], policies: [Policy.maxCalls("refund", 1), slow], concurrency: 2 }).run("x")
          .pipe(script(calls("refund", "refund")))
      )
      assert.strictEqual(done.length, 1)
      assert.deepStrictEqual(asked, ["call_1", "call_2"])
    }))

  it.effect("maxCalls counts its own tool's calls, and allows none at zero", () =>
    Effect.gen(function*() {
      const { Look, Refund, Void, done } = shop()
      const policies = [Policy.maxCalls("refund", 1), Policy.maxCalls("void", 0)]
      yield* Drive.drive(
        Agent.make("m", { tools: [Look, Refund, Void], policies }).run("x").pipe(
          script(calls("look"), calls("look"), calls("refund"), calls("void"), calls("refund"))
        )
      )
      assert.deepStrictEqual(done, ["look0", "look0", "refund0"])
      for (const times of [-1, 0.5, NaN]) {
        assert.throws(() => Policy.maxCalls("refund", times), ConfigurationError.ConfigurationError)
      }
    }))

  it.effect("a retried call counts once, a denied call does not count", () =>
    Effect.gen(function*() {
      let runs = 0
      const flaky = Tool.make("flaky", {
        parameters: Schema.Struct({ n: Schema.Number }),
        effects: "read",
        execute: () => Effect.suspend(() => ++runs < 3 ? Effect.fail("down" as const) : Effect.void)
      }).pipe(
        Tool.onError((call) =>
          call.pipe(Effect.retry({ times: 5 }), Recovery.escalate("ExecutionError", "InvalidArgs"))
        )
      )
      const odd = Policy.make(
        "odd",
        ({ arguments: args }) => (args as { n: number }).n === 0 ? Policy.deny("odd") : Policy.allow
      )
      yield* Agent.make("m", { tools: [flaky], policies: [Policy.maxCalls("flaky", 1), odd] }).run("x").pipe(
        script(calls("flaky"), ScriptedModel.call("flaky", { n: 1 }), ScriptedModel.call("flaky", { n: 2 }))
      )
      assert.strictEqual(runs, 3)
    }))

  it.effect("onlyAfter: refuses parallel calls and allows them behind a success", () =>
    Effect.gen(function*() {
      const { Look, Refund, done } = shop()
      const agent = Agent.make("m", { tools: [Refund, Look], policies: [Policy.onlyAfter("refund", "look")] })
      yield* Drive.drive(agent.run("x").pipe(script(calls("refund"), calls("look"), calls("refund"))))
      assert.deepStrictEqual(done, ["look0", "refund0"])
    }))

  it.effect("onlyAfter: requires a success of each named tool", () =>
    Effect.gen(function*() {
      const { Look, Refund, Void, done } = shop()
      const Fails = Tool.make("fails", {
        parameters: Schema.Struct({ n: Schema.optionalKey(Schema.Number) }),
        effects: "read",
        execute: () => Effect.fail("down" as const)
      }).pipe(Tool.onError(Recovery.escalate("ExecutionError", "InvalidArgs")))
      const policies = [Policy.onlyAfter("refund", "look", "void"), Policy.onlyAfter("void", "fails")]
      yield* Drive.drive(
        Agent.make("m", { tools: [Look, Refund, Void, Fails], policies }).run("x").pipe(
          script(calls("look"), calls("refund"), calls("fails"), calls("void"), calls("refund"))
        )
      )
      assert.deepStrictEqual(done, ["look0"])
    }))

  it.effect("never together: one line", () =>
    Effect.gen(function*() {
      const { Refund, Void, done } = shop()
      const apart = Policy.make("apart", ({ calls, tool }) =>
        calls.some((call) => call.tool !== tool) ? Policy.deny("never together") : Policy.allow)
      yield* Drive.drive(
        Agent.make("m", { tools: [Refund, Void], policies: [apart.pipe(Policy.forTools("refund", "void"))] }).run("x")
          .pipe(
            script(calls("void", "refund"), calls("refund"))
          )
      )
      assert.deepStrictEqual(done, ["void0"])
    }))

  it.effect("calls of nested agents and calls that tools make are among them", () =>
    Effect.gen(function*() {
      const { Look, Refund, done } = shop()
      const inner = Agent.make("inner", { input: Schema.Struct({ q: Schema.String }), tools: [Look] })
      const Ask = inner.pipe(
        Agent.asTool("ask", {
          description: "mayRequestApproval",
          parameters: Schema.Struct({ q: Schema.String }),
          success: Schema.String
        })
      )
      const agent = Agent.make("m", { tools: [Ask, Refund], policies: [Policy.onlyAfter("refund", Look)] })
      yield* Drive.drive(
        (agent.run("x") as Effect.Effect<unknown>).pipe(
          script(
            calls("refund"),
            ScriptedModel.call("ask", { q: "?" }),
            calls("look"),
            ScriptedModel.text("looked"),
            calls("refund")
          )
        )
      )
      assert.deepStrictEqual(done, ["look0", "refund0"])
    }))

  it.effect("and those from before a pause", () =>
    Effect.gen(function*() {
      const { Refund, Void, done } = shop()
      const policies = [
        Policy.maxCalls("refund", 1),
        Policy.make("ask", () => Policy.requireApproval("void"), { mayRequestApproval: true }).pipe(
          Policy.forTools("void")
        )
      ] as const
      const agent = () => Agent.make("m", { tools: [Refund, Void], policies })
      const paused = yield* Drive.drive(agent().start("x").pipe(script(calls("refund"), calls("void"))))
      assert.strictEqual(paused._tag, "Paused")
      if (paused._tag !== "Paused") return
      yield* Drive.drive(
        agent().resume(
          JSON.parse(JSON.stringify(paused.snapshot)),
          paused.pending.map((call) => Approval.approve(call))
        ).pipe(
          script(calls("refund"))
        )
      )
      assert.deepStrictEqual(done, ["refund0", "void0"])
    }))

  /** Allows all, and notes which calls each call sees when it is let on: after as many milliseconds as its argument says. */
  const watching = () => {
    const seen: Record<string, ReadonlyArray<string>> = {}
    const policy = Policy.make("watch", (request) => {
      const { n = 0 } = request.arguments as { readonly n?: number }
      return Effect.map(Effect.sleep(n), () => {
        seen[`${request.path.length}/${request.callId}`] = request.calls.map((call) =>
          `${call.tool} ${call.callId} ${JSON.stringify(call.arguments)} ${call.outcome}`
        )
        return Policy.allow
      })
    })
    return { policy, seen }
  }

  it.effect("lists each admitted call once, also waiting ones, without the call itself", () =>
    Effect.gen(function*() {
      const parameters = Schema.Struct({ n: Schema.optionalKey(Schema.Number) })
      const Pay = Tool.make("pay", {
        parameters,
        effects: "write",
        idempotency: { key: () => "same" },
        execute: () => Effect.sleep(3000)
      })
      const Look = Tool.make("look", { parameters, effects: "read", execute: () => Effect.void })
      const { policy, seen } = watching()
      const agent = Agent.make("m", {
        tools: [Pay, Look],
        policies: [policy.pipe(Policy.forTools("look"))],
        concurrency: 8
      })
      const look = (n: number) => ({ name: "look", params: { n } })
      const pay = { name: "pay", params: {} }
      yield* Drive.drive(
        (agent.run("x") as Effect.Effect<unknown>).pipe(
          script(ScriptedModel.calls([pay, pay, look(300), look(600)]), ScriptedModel.calls([look(0)])),
          Effect.provide(IdempotencyLedger.layerMemory)
        )
      )
      const paying = ["pay call_1 {} running", "pay call_2 {} running"]
      assert.deepStrictEqual(seen, {
        "1/call_3": paying,
        "1/call_4": ["pay call_1 {} running", "look call_3 {\"n\":300} success", "pay call_2 {} running"],
        // A call answered under the other's key has not run.
        "1/call_5": ["pay call_1 {} success", "look call_3 {\"n\":300} success", "look call_4 {\"n\":600} success"]
      })
    }))

  it.effect("calls of agents within it apart from its own, whatever their ids", () =>
    Effect.gen(function*() {
      const Look = Tool.make("look", {
        parameters: Schema.Struct({ n: Schema.Number }),
        effects: "read",
        execute: () => Effect.void
      })
      const { policy, seen } = watching()
      const Q = Schema.Struct({ q: Schema.String })
      const inner = Agent.make("inner", { input: Q, tools: [Look], policies: [policy] })
      const Ask = inner.pipe(
        Agent.asTool("ask", { description: "mayRequestApproval", parameters: Q, success: Schema.String })
      )
      const agent = Agent.make("m", { tools: [Ask, Look], policies: [policy] })
      const look = (n: number, id: string) => ScriptedModel.call("look", { n }, { id })
      yield* Drive.drive(
        (agent.run("x") as Effect.Effect<unknown>).pipe(
          script(
            look(1, "a"),
            ScriptedModel.call("ask", { q: "?" }, { id: "b" }),
            look(2, "a"),
            look(3, "b"),
            ScriptedModel.text("looked"),
            look(4, "c")
          )
        )
      )
      const [first, ask] = ["look a {\"n\":1} success", "ask b {\"q\":\"?\"} running"]
      const [second, third] = ["look a {\"n\":2} success", "look b {\"n\":3} success"]
      assert.deepStrictEqual(seen, {
        "1/a": [],
        "1/b": [first],
        "2/a": [first, ask],
        "2/b": [first, ask, second],
        "1/c": [first, "ask b {\"q\":\"?\"} success", second, third]
      })
    }))

  it.effect("lists invalid JSON arguments as text; calls by hand have no run", () =>
    Effect.gen(function*() {
      const args = Object.assign(Object.create({ toJSON: () => assert.fail("not JSON") }), { n: 1 }) as object
      const parameters = Schema.Struct({ n: Schema.Number })
      const Inner = Tool.make("inner", { parameters, effects: "read", execute: () => Effect.void })
      const { policy, seen } = watching()
      const Outer = Tool.make("outer", {
        effects: "read",
        execute: () =>
          Effect.provideService(Inner.call, ToolCall.ToolCall, ToolCall.make({ id: "by hand", arguments: args }))
      })
      const Look = Tool.make("look", { parameters, effects: "read", execute: () => Effect.void })
      const agent = Agent.make("m", { tools: [Outer, Look], policies: [policy.pipe(Policy.forTools("look"))] })
      yield* Drive.drive(
        (agent.run("x") as Effect.Effect<unknown>).pipe(
          script(ScriptedModel.call("outer", {}, { id: "a" }), ScriptedModel.call("look", { n: 0 }, { id: "b" }))
        )
      )
      assert.deepStrictEqual(seen, {
        "1/b": ["outer a {} success", "inner a/by hand \"[object Object]\" success"]
      })
    }))

  it.effect("two that wait together: the second finds that the first has run", () =>
    Effect.gen(function*() {
      const { Refund, done } = shop()
      const agent = Agent.make("m", {
        tools: [Refund],
        policies: [
          Policy.maxCalls("refund", 1),
          Policy.make("ask", () => Policy.requireApproval(), { mayRequestApproval: true })
        ]
      })
      const paused = yield* agent.start("x").pipe(script(calls("refund", "refund")))
      assert.strictEqual(paused._tag, "Paused")
      if (paused._tag !== "Paused") return
      assert.deepStrictEqual(paused.pending.map(({ reasons }) => reasons), [[], []])
      yield* Drive.drive(
        agent.resume(paused.snapshot, paused.pending.map((call) => Approval.approve(call))).pipe(script())
      )
      assert.strictEqual(done.length, 1)
    }))
})

it.effect("evaluates all policies; the first denial is audited", () =>
  Effect.gen(function*() {
    const { Void } = shop()
    const asked: Array<string> = []
    const policy = <V extends Policy.Verdict>(name: string, verdict: V) =>
      Policy.make(name, () => {
        asked.push(name)
        return verdict
      }, { mayRequestApproval: true })
    yield* Agent.make("m", {
      tools: [Void],
      policies: [policy("a", Policy.deny("a")), policy("b", Policy.requireApproval()), policy("c", Policy.deny("c"))]
    }).run("x").pipe(script(calls("void")))
    assert.deepStrictEqual(asked, ["a", "b", "c"])
  }))

describe("a typo switches no gate off", () => {
  const { Look, Refund } = shop()
  const typo = "refnd" as string
  const Given = Policy.make("p", () => Policy.deny("no"))

  it("refuses typos in policies, the tainted rule and toolkits", () => {
    for (
      const options of [
        { policies: [Given.pipe(Policy.forTools(typo))] },
        { policies: [Given.pipe(Policy.forTools("refund"), Policy.forTools(typo))] },
        { policies: [Policy.maxCalls(typo, 1)] },
        { policies: [Policy.onlyAfter("refund", typo)] },
        { policies: [Policy.onlyAfter(typo, "refund")] },
        { policies: [], onTainted: { allow: ["refund", typo] } }
      ]
    ) {
      assert.throws(
        () => Agent.make("m", { tools: [Look, Refund], ...options }),
        /names "refnd", which is none of its tools/
      )
    }
    assert.throws(() => AiToolkit.toToolkit([Look], { onTainted: { allow: [typo] } }), /refnd/)
  })

  it("includes tools of skills; tools called by tools are named themselves", () => {
    const skill = Skill.make("s", { description: "s", instructions: "s", tools: [Refund] })
    const agent = Agent.make("m", {
      tools: [Look],
      skills: [skill],
      policies: [Given.pipe(Policy.forTools("refund", "look"))],
      onTainted: { allow: ["refund"] }
    })
    assert.strictEqual(agent.name, "m")
    assert.strictEqual(Agent.make("m", { tools: [Look], policies: [Given.pipe(Policy.forTools(Refund))] }).name, "m")
    assert.throws(() => Policy.maxCalls("refund", -1), ConfigurationError.ConfigurationError)
  })
})
