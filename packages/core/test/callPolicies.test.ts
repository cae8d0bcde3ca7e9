import { Drive, ScriptedModel } from "@recourse/testing"
import { assert, describe, it } from "@effect/vitest"
import { Effect, Redacted, Schema } from "effect"
import { Agent, AiToolkit, Approval, ConfigurationError, Policy, Recovery, Skill, Tool } from "@recourse/core"

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
  it.effect("maxCalls: at most n, also of calls that are made together and of policies that take their time", () =>
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

  it.effect("a call that is tried again is one call; one that was denied is none", () =>
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

  it.effect("onlyAfter: not beside, but behind a success", () =>
    Effect.gen(function*() {
      const { Look, Refund, done } = shop()
      const agent = Agent.make("m", { tools: [Refund, Look], policies: [Policy.onlyAfter("refund", "look")] })
      yield* Drive.drive(agent.run("x").pipe(script(calls("refund"), calls("look"), calls("refund"))))
      assert.deepStrictEqual(done, ["look0", "refund0"])
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
          description: "asks",
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
        Policy.make("ask", () => Policy.requireApproval("void"), { asks: true }).pipe(Policy.forTools("void"))
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

  it.effect("two that wait together: the second finds that the first has run", () =>
    Effect.gen(function*() {
      const { Refund, done } = shop()
      const agent = Agent.make("m", {
        tools: [Refund],
        policies: [Policy.maxCalls("refund", 1), Policy.make("ask", () => Policy.requireApproval(), { asks: true })]
      })
      const paused = yield* agent.start("x").pipe(script(calls("refund", "refund")))
      assert.strictEqual(paused._tag, "Paused")
      if (paused._tag !== "Paused") return
      yield* Drive.drive(
        agent.resume(paused.snapshot, paused.pending.map((call) => Approval.approve(call))).pipe(script())
      )
      assert.strictEqual(done.length, 1)
    }))
})

it.effect("all policies are consulted, whatever one of them says; the first denial is the audit's", () =>
  Effect.gen(function*() {
    const { Void } = shop()
    const asked: Array<string> = []
    const policy = <V extends Policy.Verdict>(name: string, verdict: V) =>
      Policy.make(name, () => {
        asked.push(name)
        return verdict
      }, { asks: true })
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

  it("of policies, of the rule for tainted runs, of a toolkit", () => {
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

  it("tools of skills are tools; a tool that only tools call is named by itself", () => {
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
