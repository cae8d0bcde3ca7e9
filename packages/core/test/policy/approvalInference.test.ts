/**
 * The type of a run contains its waits: a run without a pause in its type needs no key, and denies calls that would
 * ask.
 */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, Policy, Quarantine, Recovery, Tool } from "@recourse/core"

const { call, text } = ScriptedModel
const key = Approval.layerKey(Redacted.make("k".repeat(32)))

const Fetch = Tool.make("fetch", {
  success: Schema.String,
  effects: "read",
  trust: "untrusted",
  execute: () => Effect.succeed("outside")
})

const sender = () => {
  const sent: Array<string> = []
  const tool = Tool.make("send", { effects: "write", execute: () => Effect.sync(() => void sent.push("sent")) })
  return { sent, tool }
}

const defaults = { onError: Recovery.standard }
const Question = Schema.Struct({ q: Schema.String })
const ask = { description: "", parameters: Question, success: Schema.String, effects: "read" } as const

/** Result of `run`, and whether it asked. */
const ended = (exit: Exit.Exit<unknown, unknown>): string =>
  Exit.isSuccess(exit)
    ? String(exit.value)
    : String((exit.cause.reasons[0] as { error?: { _tag: string } }).error?._tag)

describe("an agent that denies once it is tainted", () => {
  it.effect("runs without a key, and does not wait with one", () =>
    Effect.gen(function*() {
      const { sent, tool } = sender()
      const agent = Agent.make("a", { tools: [Fetch, tool], defaults, onTainted: "deny" })
      const model = () => ScriptedModel.layer([call("fetch", {}), call("send", {}), text("done")])
      // No cast: the compiler says that the model is all it needs.
      assert.strictEqual(yield* agent.run("go").pipe(Effect.provide(model())), "done")
      const started = yield* agent.start("go").pipe(Effect.provide(Layer.merge(model(), key)))
      assert.strictEqual(started._tag, "Completed")
      assert.deepStrictEqual(sent, [])
    }))

  for (const says of [undefined, "approve", { allow: ["note"] }] as const) {
    it.effect(`taints the outer agent, which ${says === undefined ? "denies" : "asks if configured"} (${JSON.stringify(says)})`, () =>
      Effect.gen(function*() {
        const { sent, tool } = sender()
        const Note = Tool.make("note", { execute: () => Effect.void })
        const Ask = Agent.make("within", { input: Question, tools: [Fetch], defaults, onTainted: "deny" }).pipe(
          Agent.asTool("ask", ask),
          Tool.onError((call) => Effect.orDie(call))
        )
        const agent = Agent.make("around", {
          tools: [Ask, tool, Note],
          defaults,
          ...(says === undefined ? {} : { onTainted: says })
        })
        const model = ScriptedModel.layer([
          call("ask", { q: "x" }),
          call("fetch", {}),
          text("read"),
          call("send", {}),
          text("done")
        ])
        const exit = yield* Effect.exit(agent.run("go").pipe(Effect.provide(Layer.merge(model, key))))
        assert.strictEqual(ended(exit), says === undefined ? "done" : "ApprovalRequired")
        assert.deepStrictEqual(sent, [])
      }))
  }
})

describe("an agent with a tainted conversation and no pause in its type", () => {
  const agentOf = (tool: ReturnType<typeof sender>["tool"]) =>
    Agent.make("a", {
      tools: [tool],
      defaults,
      prompt: (text: string) => Quarantine.taint(Prompt.make(text), ["fetch"])
    })
  const model = () => ScriptedModel.layer([call("send", {}), text("done")])

  it.effect("denies without a key, for any start", () =>
    Effect.gen(function*() {
      const { sent, tool } = sender()
      const agent = agentOf(tool)
      assert.strictEqual(yield* agent.run("go").pipe(Effect.provide(model())), "done")
      const started = yield* agent.start("go").pipe(Effect.provide(model()))
      assert.strictEqual(started._tag, "Completed")
      assert.deepStrictEqual(sent, [])
    }))

  it.effect.each(
    [
      ["denies also by", Policy.make("all", () => Policy.allow), "Completed"],
      ["denies also by", Policy.make("all", () => Policy.allow, { mayRequestApproval: false }), "Completed"],
      ["waits by", Policy.make("all", () => Policy.allow, { mayRequestApproval: true }), "Paused"]
    ] as const
  )("%s a policy that %o", ([, policy, expected]) =>
    Effect.gen(function*() {
      const { sent, tool } = sender()
      const agent = Agent.make("a", {
        tools: [tool],
        policies: [policy] as ReadonlyArray<Policy.Policy<Policy.Allow, never>>,
        defaults,
        prompt: (text: string) => Quarantine.taint(Prompt.make(text), ["fetch"])
      })
      const exit = yield* Effect.exit(agent.run("go").pipe(Effect.provide(Layer.merge(model(), key))))
      assert.strictEqual(ended(exit), expected === "Paused" ? "ApprovalRequired" : "done")
      assert.deepStrictEqual(sent, [])
    }))

  it.effect("waits with a key if a pause is an answer", () =>
    Effect.gen(function*() {
      const { sent, tool } = sender()
      const started = yield* agentOf(tool).start("go").pipe(Effect.provide(Layer.merge(model(), key)))
      assert.strictEqual(started._tag, "Paused")
      assert.deepStrictEqual(sent, [])
    }))
})

describe("a call within an executor that needs an approval", () => {
  const Inner = Tool.make("inner", {
    success: Schema.String,
    effects: "read",
    needsApproval: true,
    execute: () => Effect.succeed("done within")
  })
  const model = () => ScriptedModel.layer([call("outer", {}), text("done")])

  it.effect("makes the run wait, as its type declares", () =>
    Effect.gen(function*() {
      const Outer = Tool.make("outer", {
        success: Schema.String,
        effects: "read",
        mayRequestApproval: true,
        execute: () => Inner.call
      })
      const agent = Agent.make("a", { tools: [Outer], defaults })
      const waits: Effect.Effect<
        Approval.Snapshot,
        Exclude<Agent.Error<typeof agent>, Approval.ApprovalRequired>,
        Agent.Services<typeof agent>
      > = agent.run("go").pipe(
        Effect.flatMap(() => Effect.die("did not wait")),
        Effect.catchTag("ApprovalRequired", ({ snapshot }) => Effect.succeed(snapshot))
      )
      const snapshot = yield* waits.pipe(Effect.provide(Layer.merge(model(), key)))
      assert.deepStrictEqual(snapshot.round?.pending.map(({ tool }) => tool), ["inner"])
    }))

  for (const keys of [Layer.empty, key]) {
    it.effect(`is denied if the executor hides it, ${keys === key ? "with a key of others" : "without a key"}`, () =>
      Effect.gen(function*() {
        const Hides = Tool.make("outer", {
          success: Schema.String,
          effects: "read",
          execute: () => Effect.orElseSucceed(Inner.call, () => "hidden")
        })
        const agent = Agent.make("a", { tools: [Hides], defaults })
        // No cast: the compiler proves that no other error can end it.
        const run: Effect.Effect<string, Exclude<Agent.Error<typeof agent>, Approval.ApprovalRequired>, unknown> = agent
          .run("go")
        assert.strictEqual(
          ended(yield* Effect.exit(run.pipe(Effect.provide(Layer.merge(model(), keys))) as Effect.Effect<string>)),
          "done"
        )
        const report = yield* agent.report("go").pipe(Effect.provide(Layer.merge(model(), keys)))
        assert.strictEqual(ended(report.exit), "done")
        assert.include(JSON.stringify(report.transcript), "permission_denied")
      }))
  }

  it.effect("waits if the executor hides it and a pause is an answer", () =>
    Effect.gen(function*() {
      const Hides = Tool.make("outer", {
        success: Schema.String,
        effects: "read",
        execute: () => Effect.orElseSucceed(Inner.call, () => "hidden")
      })
      const agent = Agent.make("a", { tools: [Hides], defaults })
      const started = yield* agent.start("go").pipe(Effect.provide(Layer.merge(model(), key)))
      assert.strictEqual(started._tag, "Paused")
    }))
})

describe("a fallback that is a tool which asks", () => {
  const Asking = Tool.make("asking", {
    success: Schema.String,
    effects: "read",
    needsApproval: true,
    execute: () => Effect.succeed("x")
  })
  const model = () => ScriptedModel.layer([call("find", {}), text("done")])
  const find = (options: { readonly mayRequestApproval?: true }) =>
    Tool.make("find", {
      success: Schema.String,
      effects: "read",
      ...options,
      execute: () => Effect.fail("down" as const)
    })
  const fallback = Recovery.fallback("ExecutionError", Asking.call)

  it.effect("of an agent is denied in `run` without a pause, waits in `start`", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", { tools: [find({})], onToolError: { find: fallback }, defaults })
      const report = yield* agent.report("go").pipe(Effect.provide(Layer.merge(model(), key)))
      assert.strictEqual(ended(report.exit), "done")
      assert.include(JSON.stringify(report.transcript), "permission_denied")
      const started = yield* agent.start("go").pipe(Effect.provide(Layer.merge(model(), key)))
      assert.strictEqual(started._tag, "Paused")
    }))

  it.effect("waits if the tool declares that it asks", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        tools: [find({ mayRequestApproval: true })],
        onToolError: { find: fallback },
        defaults
      })
      const exit = yield* Effect.exit(agent.run("go")).pipe(Effect.provide(Layer.merge(model(), key)))
      assert.strictEqual(ended(exit), "ApprovalRequired")
    }))
})

describe("an agent that is given a tainted conversation asks in `run` if its type says that it may wait", () => {
  const asking = Tool.make("asking", { effects: "read", needsApproval: true, execute: () => Effect.void })
  const saying = Tool.make("saying", { effects: "read", mayRequestApproval: true, execute: () => Effect.void })
  const looking = Tool.make("looking", { effects: "read", execute: () => Effect.void })
  const says = Agent.fromFunction("says", (_: unknown) => Effect.succeed("x"))
  const within = (tool: Tool.Any) =>
    Agent.make("within", { input: Schema.Unknown, tools: [tool] as never, defaults }) as unknown as typeof says
  const all = (tool: Tool.Any) => Agent.all("all", [says, within(tool)]) as unknown as typeof says
  const asTool = (agent: typeof says): Tool.Any => agent.pipe(Agent.asTool("agent", ask as never)) as never
  const policy = (mayRequestApproval: boolean) => [Policy.make("all", () => Policy.allow, { mayRequestApproval })]
  const cases: Readonly<Record<string, readonly [options: object, mayRequestApproval: boolean]>> = {
    "nothing of it does": [{ tools: [looking] }, false],
    "a tool needs an approval": [{ tools: [looking, asking] }, true],
    "a tool says that it asks": [{ tools: [saying, looking] }, true],
    "a tool is an agent that asks": [{ tools: [asTool(within(asking)), looking] }, true],
    "a tool is an agent that does not": [{ tools: [asTool(within(looking))] }, false],
    "a tool is made of agents of which one asks": [{ tools: [asTool(all(asking))] }, true],
    "a tool is made of agents of which none asks": [{ tools: [asTool(all(looking))] }, false],
    "a tool is one that outsiders write, and it asks then": [{ tools: [looking, Fetch] }, true],
    "a tool is one that outsiders write, and it denies then": [{ tools: [looking, Fetch], onTainted: "deny" }, false],
    "its rule for tainted runs says so": [{ tools: [looking], onTainted: "approve" }, true],
    "one of its policies asks": [{ tools: [looking], policies: [...policy(false), ...policy(true)] }, true],
    "none of its policies does": [{ tools: [looking], policies: policy(false) }, false]
  }
  for (const [what, [options, asks]] of Object.entries(cases)) {
    it.effect(what, () =>
      Effect.gen(function*() {
        const { sent, tool } = sender()
        const agent = Agent.make("a", {
          defaults,
          prompt: (text: string) => Quarantine.taint(Prompt.make(text), ["fetch"]),
          ...options,
          tools: [tool, ...(options as { readonly tools: ReadonlyArray<Tool.Any> }).tools]
        } as never) as never as Agent.Agent<string, unknown, unknown>
        const exit = yield* Effect.exit(agent.run("go")).pipe(
          Effect.provide(Layer.merge(ScriptedModel.layer([call("send", {}), text("done")]), key))
        )
        assert.strictEqual(ended(exit), asks ? "ApprovalRequired" : "done")
        assert.deepStrictEqual(sent, [])
      }))
  }
})
