/**
 * A call of a client tool in a durable run whose process is killed: the next one waits for the page, and repeats no
 * call.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Recovery, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { Effect, Layer, Schema } from "effect"

/** A program whose processes share a store: it books, asks the page for a position, and pays. */
const worldOf = () => {
  const deeds: Array<string> = []
  const asked: Array<string> = []
  const write = (name: string) =>
    Tool.make(name, {
      success: Schema.String,
      effects: "write",
      execute: () => Effect.sync(() => (deeds.push(name), name))
    })
  const Position = Tool.client("position", {
    parameters: Schema.Struct({ precise: Schema.Boolean }),
    success: Schema.Struct({ city: Schema.String }),
    effects: "read",
    trust: "trusted"
  })
  const agent = Durable.make(
    Agent.make("guide", {
      tools: [write("book"), Position, write("pay")],
      defaults: { onError: Recovery.keepGoing }
    })
  )
  const turns = [
    ScriptedModel.call("book", {}),
    ScriptedModel.call("position", { precise: true }, { id: "where" }),
    ScriptedModel.call("pay", {})
  ]
  const model = ScriptedModel.layer(({ prompt }) => {
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    return turns[turn] ?? ScriptedModel.text(JSON.stringify(prompt.content).includes("Rome") ? "Rome" : "nowhere")
  })
  const store = Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory))))
  const runners = Durable.layer([agent], { poll: "1 second" }).pipe(
    Layer.provide([Layer.succeedContext(store), model])
  )
  /** The page: it answers the call when it sees it, until the run has ended. */
  const page = Effect.gen(function*() {
    yield* agent.start("r1", "go")
    let info = yield* agent.poll("r1")
    while (info.status !== "completed" && info.status !== "failed") {
      const [call] = info.pending
      if (call !== undefined) {
        asked.push(JSON.stringify([call.callId, call.tool, call.code, call.arguments]))
        yield* Effect.ignore(agent.decide("r1", [Approval.respond(call, { city: "Rome" })]))
      }
      yield* Effect.sleep("3 seconds")
      info = yield* agent.poll("r1")
    }
    return info.output
  })
  return { agent, asked, deeds, runners, page }
}

const waits = JSON.stringify(["where", "position", "client_tool", { precise: true }])

describe("a durable run that waits for a page", () => {
  it.live("waits in the next process, and takes the result there", () =>
    Effect.gen(function*() {
      const { agent, deeds, page, runners, asked } = worldOf()
      yield* VirtualTime.run(
        agent.start("r1", "go").pipe(
          Effect.andThen(Effect.never),
          Effect.timeoutOption("1 hour"),
          Effect.provide(runners)
        )
      )
      const startAt = 7_200_000
      const silent = yield* VirtualTime.run(
        Effect.delay(agent.poll("r1"), "1 hour").pipe(Effect.provide(runners)),
        { startAt, identity: 1 }
      )
      assert.strictEqual((yield* silent.exit).status, "waiting")
      assert.deepEqual(deeds, ["book"])
      const last = yield* VirtualTime.run(Effect.provide(page, runners), { startAt: 2 * startAt, identity: 2 })
      assert.strictEqual(yield* last.exit, "Rome")
      assert.deepEqual([deeds, asked], [["book", "pay"], [waits]])
    }))

  it.live("and is killed at random operations repeats no call", () =>
    Effect.gen(function*() {
      const whole = worldOf()
      const { operations } = yield* VirtualTime.run(Effect.provide(whole.page, whole.runners))
      let waited = 0
      for (let killAt = 1; killAt < operations; killAt += Math.ceil(operations / 60)) {
        const { asked, deeds, page, runners } = worldOf()
        yield* VirtualTime.run(Effect.provide(page, runners), { killAt })
        if (asked.length > 0 && !deeds.includes("pay")) waited++
        const { exit } = yield* VirtualTime.run(Effect.provide(page, runners), { startAt: 600_000, identity: 1 })
        assert.strictEqual(yield* exit, "Rome", `killed at ${killAt}`)
        assert.deepEqual(new Set(asked), new Set([waits]), `killed at ${killAt}`)
        assert.strictEqual(new Set(deeds).size, deeds.length, `killed at ${killAt}: ${deeds.join()}`)
      }
      assert.isAbove(waited, 2)
    }), 60_000)
})

describe("a call at the page of a run with people who approve", () => {
  it.live.each(["read", "write"] as const)("asks none of them, and times out: %s", (effects) =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const Sign = Tool.client("sign", { success: Schema.String, effects, timeout: "2 minutes" })
      const clerk = Durable.make(Agent.make("clerk", { tools: [Sign], defaults: { onError: Recovery.keepGoing } }), {
        approvals: {
          people: [{ to: "desk" }, { to: "head", after: "1 minute" }],
          notify: ({ to }) => Effect.sync(() => void asked.push(to)),
          onExpired: "reject"
        }
      })
      const read: Array<string> = []
      const model = ScriptedModel.layer(({ prompt }) => {
        const last = prompt.content.at(-1)
        if (last?.role !== "tool") return ScriptedModel.call("sign", {})
        read.push(/"code":"(\w+)"/.exec(JSON.stringify(last))?.[1] ?? "")
        return ScriptedModel.text("done")
      })
      const runners = Durable.layer([clerk], { poll: "1 second" }).pipe(Layer.provide([RunStore.layerMemory, model]))
      const { elapsed, exit } = yield* VirtualTime.run(Effect.provide(clerk.run("r1", "Sign it"), runners))
      assert.strictEqual(yield* exit, "done")
      assert.isAtLeast(elapsed, 120_000)
      assert.deepEqual(asked, [])
      assert.deepEqual(read, [effects === "write" ? "outcome_unknown" : "timeout"])
    }))

  it.live("asks them about the other calls of the answer", () =>
    Effect.gen(function*() {
      const asked: Array<string> = []
      const Sign = Tool.client("sign", { success: Schema.String, effects: "read" })
      const Pay = Tool.make("pay", {
        success: Schema.String,
        effects: "write",
        needsApproval: true,
        execute: () => Effect.succeed("paid")
      })
      const clerk = Durable.make(
        Agent.make("clerk", { tools: [Sign, Pay], defaults: { onError: Recovery.keepGoing } }),
        {
          approvals: {
            people: [{ to: "desk" }],
            notify: ({ pending, to }) => Effect.sync(() => void asked.push(`${to}: ${pending.map(({ tool }) => tool)}`))
          }
        }
      )
      const model = ScriptedModel.layer(() =>
        ScriptedModel.calls([{ name: "sign", params: {} }, { name: "pay", params: {} }])
      )
      const runners = Durable.layer([clerk], { poll: "1 second" }).pipe(Layer.provide([RunStore.layerMemory, model]))
      yield* VirtualTime.run(
        Effect.andThen(clerk.start("r1", "Sign it"), Effect.sleep("1 minute")).pipe(Effect.provide(runners))
      )
      assert.deepEqual(asked, ["desk: pay"])
    }))
})
