import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Cause, Context, Effect, Exit, Layer, Redacted, Schedule, Schema } from "effect"
import { Agent, Approval, Policy, Recovery, Tool } from "@recourse/core"
import { by, collect, lastResults } from "../support/kit.ts"

const key = Approval.layerKey(Redacted.make("k".repeat(32)))

const counted = () => {
  const state = { runs: 0 }
  const tool = Tool.make("pay", {
    parameters: Schema.Struct({ n: Schema.Number }),
    success: Schema.Number,
    effects: "write",
    execute: ({ n }) => Effect.sync(() => (state.runs++, n))
  })
  return { state, tool }
}

const codeOf = (result: { readonly result: unknown } | undefined) => (result?.result as { code?: string }).code

describe("policies", () => {
  const allow = Policy.make("allow", () => Policy.allow)
  const deny = Policy.make("deny", () => Policy.deny("account 4711 exists and is closed"))
  const ask = Policy.make("ask", () => Policy.requireApproval("because"), { mayRequestApproval: true })
  const replace = Policy.make("replace", () => Policy.substitute(42))

  const lastOf = (policies: ReadonlyArray<Policy.Any>, state: ReturnType<typeof counted>) =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        tools: [state.tool],
        policies: policies as ReadonlyArray<typeof ask | typeof deny>
      })
      const outcome = yield* agent.start("go")
      const script = yield* ScriptedModel.ScriptedModel
      return { outcome, request: yield* script.lastRequest }
    }).pipe(
      Effect.provide(
        Layer.merge(key, ScriptedModel.layer([ScriptedModel.call("pay", { n: 1 }), ScriptedModel.text("ok")]))
      )
    )

  for (
    const [name, policies, expected] of [
      ["deny absorbs, first", [deny, allow, ask, replace], "permission_denied"],
      ["deny absorbs, last", [allow, replace, ask, deny], "permission_denied"],
      ["approval before substitute", [replace, ask, allow], "Paused"],
      ["substitute before allow", [allow, replace], 42],
      ["allow", [allow, allow], 1]
    ] as const
  ) {
    it.effect(`${name}`, () =>
      Effect.gen(function*() {
        const state = counted()
        const { outcome, request } = yield* lastOf(policies, state)
        if (expected === "Paused") assert.strictEqual(outcome._tag, "Paused")
        else {
          const result = lastResults(request.prompt)[0]
          assert.strictEqual(result?.isFailure === true ? codeOf(result) : result?.result, expected)
        }
        assert.strictEqual(state.state.runs, expected === 1 ? 1 : 0)
      }))
  }

  it.effect("a denial stays over retries: each policy is evaluated once", () =>
    Effect.gen(function*() {
      const { state, tool } = counted()
      let asked = 0
      const again = tool.pipe(Tool.onError((call) => Effect.catchCause(call, () => call)))
      const once = Policy.make("once", () => asked++ === 0 ? Policy.deny("no") : Policy.allow)
      const agent = Agent.make("a", { tools: [again], policies: [once] })
      const request = yield* Effect.gen(function*() {
        yield* agent.run("go")
        return yield* (yield* ScriptedModel.ScriptedModel).lastRequest
      }).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", { n: 1 }), ScriptedModel.text("ok")]))
      )
      assert.strictEqual(codeOf(lastResults(request.prompt)[0]), "permission_denied")
      assert.deepStrictEqual([asked, state.runs], [1, 0])
    }))

  it.effect("a denial hides its reason from the model and the user", () =>
    Effect.gen(function*() {
      const state = counted()
      const { request } = yield* lastOf([deny], state)
      assert.notInclude(JSON.stringify(request.prompt), "4711")
      const result = lastResults(request.prompt)[0]?.result as { message_for_model: string; message_for_user: string }
      assert.strictEqual(result.message_for_model, "This call is not allowed.")
      assert.strictEqual(result.message_for_user, "This is not allowed.")
    }))

  it.effect("no recovery sees, repeats or swallows a denial", () =>
    Effect.gen(function*() {
      let seen = 0
      const state = counted()
      const tool = state.tool.pipe(Tool.onError((call) =>
        call.pipe(
          Effect.catch(() => Effect.sync(() => ++seen)),
          Effect.catchCause(() => Effect.succeed(99)),
          Effect.retry({ times: 3 })
        )
      ))
      const agent = Agent.make("a", { tools: [tool], policies: [deny], defaults: { onError: Recovery.standard } })
      const results = yield* Effect.gen(function*() {
        yield* agent.run("go")
        const script = yield* ScriptedModel.ScriptedModel
        return lastResults((yield* script.lastRequest).prompt)
      }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", { n: 1 }), ScriptedModel.text("ok")])))
      assert.strictEqual(codeOf(results[0]), "permission_denied")
      assert.deepStrictEqual([seen, state.state.runs], [0, 0])
    }))

  it.effect("a fixer's arguments are asked about like the model's own", () =>
    Effect.gen(function*() {
      const state = counted()
      const seen: Array<unknown> = []
      const small = Policy.make("small", ({ arguments: args }) => {
        seen.push(args)
        return (args as { n: number }).n > 10 ? Policy.deny("too much") : Policy.allow
      })
      const tool = state.tool.pipe(
        Tool.onError((call) =>
          call.pipe(Recovery.fix("InvalidArgs", Agent.fromFunction("more", () => Effect.succeed("{\"n\":1000}"))))
        )
      )
      const agent = Agent.make("a", { tools: [tool], policies: [small], defaults: { onError: Recovery.standard } })
      const results = yield* Effect.gen(function*() {
        yield* agent.run("go")
        const script = yield* ScriptedModel.ScriptedModel
        return lastResults((yield* script.lastRequest).prompt)
      }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", { n: "x" }), ScriptedModel.text("ok")])))
      assert.deepStrictEqual(seen, [{ n: 1000 }])
      assert.strictEqual(codeOf(results[0]), "permission_denied")
      assert.strictEqual(state.state.runs, 0)
    }))

  it.effect("are asked once for the same arguments, and may need services", () =>
    Effect.gen(function*() {
      class Rules extends Context.Service<Rules, { readonly open: boolean }>()("test/Rules") {}
      let asked = 0
      let runs = 0
      const policy = Policy.make("rules", () =>
        Effect.map(Rules, ({ open }) => (asked++, open ? Policy.allow : Policy.deny("closed")))).pipe(
          Policy.forTools("read")
        )
      const read = Tool.make("read", {
        success: Schema.Number,
        effects: "read",
        execute: () =>
          Effect.suspend(() => ++runs < 3 ? Effect.fail("down" as const) : Effect.succeed(runs))
      }).pipe(Tool.onError(Recovery.retry({ times: 2, schedule: Schedule.forever })))
      const agent = Agent.make("a", { tools: [read, counted().tool], policies: [policy] })
      yield* Effect.exit(agent.run("go")).pipe(
        Effect.provide(Layer.merge(
          Layer.succeed(Rules, { open: true }),
          ScriptedModel.layer([
            ScriptedModel.calls([{ name: "read", params: {} }, { name: "pay", params: { n: 1 } }]),
            ScriptedModel.text("ok")
          ])
        ))
      )
      assert.deepStrictEqual([asked, runs], [1, 3])
    }))

  it.effect("a policy that dies ends the run before anything was executed", () =>
    Effect.gen(function*() {
      const state = counted()
      const broken = Policy.make("broken", (): Policy.Allow => {
        throw new Error("no")
      })
      const agent = Agent.make("a", { tools: [state.tool], policies: [broken] })
      const exit = yield* Effect.exit(agent.run("go")).pipe(
        Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", { n: 1 })]))
      )
      assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
      assert.strictEqual(state.state.runs, 0)
    }))
})

describe("needsApproval", () => {
  it.effect("a call by hand that needs an approval fails without execution", () =>
    Effect.gen(function*() {
      let runs = 0
      const tool = Tool.make("pay", {
        parameters: Schema.Struct({ n: Schema.Number }),
        success: Schema.Number,
        needsApproval: ({ n }) => Effect.succeed(n > 10),
        execute: ({ n }) => Effect.sync(() => (runs++, n))
      }).pipe(Tool.onError((call) => call.pipe(Effect.catchCause(() => Effect.succeed(99)))))
      assert.strictEqual(yield* tool.call.pipe(by({ n: 5 })), 5)
      const failed = yield* Effect.exit(tool.call.pipe(by({ n: 50 })))
      assert.isTrue(Exit.isFailure(failed))
      assert.strictEqual(runs, 1)
    }))

  it.effect("an Effect decides, for all arguments", () =>
    Effect.gen(function*() {
      const tool = Tool.make("pay", { needsApproval: Effect.succeed(true), execute: () => Effect.void })
      const { layer, tags } = collect()
      const outcome = yield* Agent.make("a", { tools: [tool] }).start("go").pipe(
        Effect.provide(Layer.mergeAll(key, layer, ScriptedModel.layer([ScriptedModel.call("pay", {})])))
      )
      assert.strictEqual(outcome._tag, "Paused")
      assert.deepStrictEqual(tags().slice(-2), ["ApprovalRequested", "RunFinished"])
    }))
})
