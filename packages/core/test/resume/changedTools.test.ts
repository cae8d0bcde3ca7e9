import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Agent, Approval, Recovery, Tool } from "@recourse/core"
import { Effect, Exit, Layer, Schema } from "effect"
import { readFileSync } from "node:fs"
import * as Shops from "../fixtures/pausedShops.ts"
import { seeded } from "../support/seeded.ts"
import {
  type Log,
  pausedOf,
  plainTool,
  schemas,
  shops,
  type Spec,
  spec,
  stored,
  systemOf
} from "../support/toolVersions.ts"

/**
 * The tools of a desk, by their role in a paused run. `outer` calls `done`, which has ended, and `inner`, which waits.
 */
const base = {
  waiting: spec("pay", "write"),
  waitingToo: spec("book", "write"),
  outer: spec("outer"),
  done: spec("done", "write"),
  inner: spec("inner", "write"),
  ended: spec("look"),
  other: spec("other"),
  more: spec("more", "write")
}

type Key = keyof typeof base | "agent" | "nested" | "nestedOther"

/** The roles that the guide promises: these alone keep a snapshot from being resumed. */
const concerning: ReadonlySet<Key> = new Set<Key>([
  "waiting",
  "waitingToo",
  "outer",
  "done",
  "inner",
  "agent",
  "nested"
])

interface Version {
  readonly own: ReadonlyArray<Spec>
  readonly nested: ReadonlyArray<Spec>
  readonly agentDescription: string
  readonly hasAgent: boolean
}

const today: Version = {
  own: Object.values(base),
  nested: [spec("refund", "write"), spec("peek")],
  agentDescription: "Asks the clerk",
  hasAgent: true
}

const changes = ["remove", "describe", "schema", "effects", "trust"] as const

/** A version in which one tool has changed in one way. */
const changed = (version: Version, key: Key, change: typeof changes[number]): Version => {
  const one = (tool: Spec): ReadonlyArray<Spec> => {
    switch (change) {
      case "remove":
        return []
      case "describe":
        return [{ ...tool, description: `${tool.description} otherwise` }]
      case "schema":
        return [{ ...tool, schema: "amount and note" }]
      case "effects":
        return [{ ...tool, effects: tool.effects === "read" ? "write" : "read" }]
      case "trust":
        return [{ ...tool, trust: "untrusted" }]
    }
  }
  if (key === "agent") {
    return change === "remove"
      ? { ...version, hasAgent: false }
      : { ...version, agentDescription: "Asks the clerk otherwise" }
  }
  if (key === "nested" || key === "nestedOther") {
    const name = key === "nested" ? "refund" : "peek"
    return { ...version, nested: version.nested.flatMap((tool) => tool.name === name ? one(tool) : [tool]) }
  }
  const { name } = base[key]
  return { ...version, own: version.own.flatMap((tool) => tool.name === name ? one(tool) : [tool]) }
}

const toolsOf = (log: Log, specs: ReadonlyArray<Spec>): ReadonlyArray<Tool.Any> => {
  // The calls of `outer` do not depend on the list of the agent.
  const done = plainTool(log, specs.find(({ name }) => name === "done") ?? base.done)
  const inner = plainTool(log, specs.find(({ name }) => name === "inner") ?? base.inner)
  return specs.map((one) =>
    one.name === "outer"
      ? Tool.make("outer", {
        description: one.description,
        parameters: schemas[one.schema],
        success: Schema.String,
        effects: one.effects,
        trust: one.trust,
        mayRequestApproval: true,
        execute: () => Effect.andThen(done.call, inner.call) as never
      } as never)
      : plainTool(log, one)
  )
}

const defaults = { onError: Recovery.standard }

const deskOf = (log: Log, { agentDescription, hasAgent, nested, own }: Version) => {
  const clerk = Agent.make("clerk", { instructions: "clerk", tools: toolsOf(log, nested) as never, defaults } as never)
  const asked = Agent.asTool("ask_clerk", { description: agentDescription } as never)(clerk as never)
  return Agent.make("desk", {
    instructions: "desk",
    tools: [...(hasAgent ? [asked] : []), ...toolsOf(log, own)] as never,
    defaults
  } as never) as unknown as Shops.Waits
}

/** The desk alone, and as one of the agents that another agent is made of. */
const shapes = {
  alone: (log: Log, version: Version) => deskOf(log, version),
  composed: (log: Log, version: Version) =>
    Agent.all("office", [
      deskOf(log, version) as never,
      Agent.make("porter", { instructions: "porter", tools: toolsOf(log, version.own.slice(-2)) as never } as never)
    ]) as unknown as Shops.Waits
}

const { call, calls, text } = ScriptedModel

/** Each agent makes its calls once, and then answers. */
const model = ScriptedModel.layer((request) => {
  const agent = systemOf(request)
  if (agent === "porter" || request.prompt.content.at(-1)?.role === "tool") return text(agent)
  return agent === "clerk"
    ? call("refund", { amount: 1 }, { id: "r" })
    : calls([
      { name: "pay", params: { amount: 1 }, id: "p" },
      { name: "look", params: { amount: 1 }, id: "l" },
      { name: "book", params: { amount: 1 }, id: "b" },
      { name: "outer", params: { amount: 1 }, id: "o" },
      { name: "ask_clerk", params: { input: "refund" }, id: "a" }
    ])
})

const services = Layer.merge(Shops.key, model)

const approveAll = ({ pending }: { readonly pending: ReadonlyArray<Approval.PendingCall> }) =>
  pending.map((one) => Approval.approve(one))

const errorOf = (exit: Exit.Exit<unknown, unknown>) =>
  Exit.isFailure(exit) ? exit.cause.reasons.find((reason) => reason._tag === "Fail")?.error : undefined

describe("a snapshot", () => {
  for (const [shape, make] of Object.entries(shapes)) {
    it.effect(`is refused for exactly the changes that concern it (${shape})`, () =>
      Effect.gen(function*() {
        const next = seeded(7)
        const keys = [...Object.keys(base), "agent", "nested", "nestedOther"] as ReadonlyArray<Key>
        const seen = { refused: 0, resumed: 0 }
        for (let round = 0; round < 60; round++) {
          const log: Log = []
          const paused = pausedOf(yield* make(log, today).start("go"))
          assert.deepStrictEqual(log, ["done"])
          const drawn = new Map<Key, typeof changes[number]>()
          // The same number of rounds with and without a concerning change.
          const among = round % 2 === 0 ? keys.filter((key) => !concerning.has(key)) : keys
          for (let n = next() % 3; n >= 0; n--) {
            drawn.set(among[next() % among.length]!, changes[next() % changes.length]!)
          }
          let version = today
          for (const [key, change] of drawn) {
            version = changed(version, key, change)
          }
          const own = [...version.own]
          if (next() % 2 === 0) own.reverse()
          if (next() % 2 === 0) own.splice(next() % own.length, 0, spec("added"))
          const agent = make(log, { ...version, own })
          const names = (agentKeys: ReadonlyArray<Key>) =>
            agentKeys.map((key) =>
              key === "agent" ? "ask_clerk" : key === "nested" ? "refund" : base[key as "done"].name
            )
          const concerned = [...drawn.keys()].filter((key) => concerning.has(key))
          const ofDesk = concerned.filter((key) => key !== "nested")
          const expected = names(ofDesk.length > 0 ? ofDesk : concerned)
          const what = JSON.stringify([...drawn])

          const explained = yield* agent.explain(stored(paused.snapshot))
          assert.strictEqual(explained.canResume, concerned.length === 0, what)
          const lost = explained.parts.filter(({ role, state }) => role !== "irrelevant" && state !== "equal").map((
            { name }
          ) => name)
          // The snapshot of an agent whose tool is gone is explained by no agent.
          const isExplained = drawn.get("agent") !== "remove"
          assert.sameMembers(
            lost.filter((name) => isExplained || name !== "refund"),
            names(concerned).filter((name) => isExplained || name !== "refund"),
            what
          )

          const exit = yield* Effect.exit(agent.resume(stored(paused.snapshot), approveAll(paused)))
          if (concerned.length > 0) {
            const refused = errorOf(exit) as Approval.SnapshotRefused
            assert.deepInclude(refused, { _tag: "SnapshotRefused", reason: "tools_changed" }, what)
            assert.sameMembers(refused.differences!.map(({ name }) => name), expected, what)
            for (const name of expected) assert.include(refused.message, `tool "${name}"`)
            assert.deepStrictEqual(log, ["done"])
            seen.refused++
          } else {
            assert(Exit.isSuccess(exit), what)
            assert.strictEqual(exit.value._tag, "Completed")
            assert.sameMembers(log, ["done", "pay", "book", "inner", "refund"], what)
            seen.resumed++
          }
        }
        assert.isAbove(seen.refused, 15)
        assert.isAbove(seen.resumed, 25)
      }).pipe(Effect.provide(services)))
  }
})

describe("a snapshot of agents together", () => {
  const porter = (name: string) => Agent.make(name, { instructions: "porter" })
  const clerkWith = (log: Log) => Shops.clerk([Shops.pay(log)]) as never
  const once = ScriptedModel.layer((request) =>
    systemOf(request) !== "clerk" || request.prompt.content.at(-1)?.role === "tool"
      ? text("done")
      : call("pay", { amount: 5 }, { id: "p" })
  )
  const together = (...agents: ReadonlyArray<unknown>) => Agent.all("office", agents as never) as unknown as Shops.Waits
  const cases: ReadonlyArray<readonly [string, (log: Log) => Shops.Waits, string | undefined]> = [
    ["an agent is added", (log) => together(porter("a"), porter("new"), clerkWith(log)), undefined],
    ["an agent that has answered is gone", (log) => together(clerkWith(log)), "agent \"a\" (started) is missing"],
    ["the agent that waits is gone", () => together(porter("a"), porter("b")), "agent \"clerk\" (nested) is missing"],
    [
      "their order is another",
      (log) => together(clerkWith(log), porter("a")),
      "agent \"a\" (started) has another place"
    ]
  ]
  for (const [what, next, refusal] of cases) {
    it.effect(`is ${refusal === undefined ? "resumed" : "refused"} if ${what}`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const paused = pausedOf(yield* together(porter("a"), clerkWith(log)).start("x"))
        const explained = yield* next(log).explain(stored(paused.snapshot))
        const exit = yield* Effect.exit(next(log).resume(stored(paused.snapshot), approveAll(paused)))
        assert.strictEqual(explained.canResume, refusal === undefined)
        if (refusal === undefined) assert.isTrue(Exit.isSuccess(exit))
        else assert.include((errorOf(exit) as Error).message, refusal)
        assert.deepStrictEqual(log, refusal === undefined ? ["pay 5"] : [])
      }).pipe(Effect.provide(Layer.merge(Shops.key, once))))
  }
})

const old = JSON.parse(
  readFileSync(new URL("../fixtures/snapshotsOfVersion1To3.json", import.meta.url), "utf8")
) as Record<"clerk" | "desk" | "office", Approval.Snapshot>

describe("a snapshot of an earlier version", () => {
  const done = Layer.merge(Shops.key, ScriptedModel.layer(() => text("done")))
  for (const name of ["clerk", "desk", "office"] as const) {
    it.effect(`is resumed by an agent with the same tools (${name})`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const agent = shops[name]([Shops.pay(log), Shops.look()])
        const snapshot = old[name]
        assert.isAtMost(snapshot.version, 3)
        assert.include(yield* agent.explain(snapshot), { canResume: true })
        const outcome = yield* agent.resume(snapshot, approveAll(snapshot.round!))
        assert.strictEqual(outcome._tag, "Completed")
        assert.deepStrictEqual(log, ["pay 5"])
      }).pipe(Effect.provide(done)))

    it.effect(`is refused for any change of a tool (${name})`, () =>
      Effect.gen(function*() {
        const log: Log = []
        const agent = shops[name]([Shops.pay(log), Shops.look("Looks otherwise")])
        const snapshot = old[name]
        const refused = (yield* Effect.flip(
          agent.resume(snapshot, approveAll(snapshot.round!))
        )) as Approval.SnapshotRefused
        assert.strictEqual(refused.reason, "tools_changed")
        assert.include(refused.message, "the agent's tools have changed since its pause")
        assert.isFalse((yield* agent.explain(snapshot)).canResume)
        assert.deepStrictEqual(log, [])
      }).pipe(Effect.provide(done)))
  }

  it.effect("is followed by versions that an earlier library refuses by name", () =>
    Effect.gen(function*() {
      const log: Log = []
      const agent = shops.clerk([Shops.pay(log), Shops.look()])
      const { pending, snapshot } = pausedOf(
        yield* agent.start("x").pipe(Effect.provide(ScriptedModel.layer([call("pay", { amount: 5 })])))
      )
      // Earlier libraries read the versions 1 to 3, and say this of any other number.
      assert.strictEqual(snapshot.version, 4)
      const refused = yield* Effect.flip(agent.resume({ ...snapshot, version: 5 }, approveAll({ pending })))
      assert.deepInclude(refused, { reason: "version" })
      assert.include((refused as Error).message, "another version of the library wrote it. Resume with that version")
      assert.deepInclude((yield* agent.explain({ ...snapshot, version: 5 })).refused, { reason: "version" })
    }).pipe(Effect.provide(done)))
})
