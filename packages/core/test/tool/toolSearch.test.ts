/** Agents with more tools than one request may offer: each request holds as many as it may, and the model finds the others. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Redacted, Schema } from "effect"
import { Agent, AiToolkit, Approval, Conversation, Recovery, Tool } from "@recourse/core"
import { Prompt, Tool as AiTool } from "effect/ai"
import { lastResults } from "../support/kit.ts"

const defaults = { onError: Recovery.standard }

/** Tools with names by number, and those that were executed. */
const toolsOf = (count: number) => {
  const ran: Array<string> = []
  const tools = Array.from({ length: count }, (_, index) =>
    Tool.make(`tool_${index}`, {
      description: index === 200 ? "Waters the tulips" : `Does thing ${index}`,
      parameters: Schema.Struct({}),
      success: Schema.String,
      effects: "read",
      execute: () => Effect.sync(() => (ran.push(`tool_${index}`), "done"))
    }))
  return { ran, tools }
}

const offers = Effect.map(
  Effect.flatMap(ScriptedModel.ScriptedModel, (model) => model.requests),
  (requests) => requests.map(({ tools }) => tools)
)

const lastResult = Effect.map(
  Effect.flatMap(ScriptedModel.ScriptedModel, (model) => model.lastRequest),
  ({ prompt }) => lastResults(prompt as never)[0]
)

const { call, text } = ScriptedModel

describe("an agent with 300 tools", () => {
  it.effect("offers 128 at a time, and found ones from then on", () =>
    Effect.gen(function*() {
      const { ran, tools } = toolsOf(300)
      const agent = Agent.make("a", { tools, defaults })
      assert.strictEqual(yield* agent.run("Water the tulips"), "watered")
      const [first, second, third] = yield* offers
      for (const offered of yield* offers) assert.strictEqual(offered.length, 128)
      assert.deepStrictEqual(first, [...tools.slice(0, 127).map(({ name }) => name), "find_tools"])
      assert.deepStrictEqual(second, [...tools.slice(0, 126).map(({ name }) => name), "tool_200", "find_tools"])
      assert.deepStrictEqual(third, second)
      assert.deepStrictEqual(ran, ["tool_200"])
    }).pipe(Effect.provide(ScriptedModel.layer([
      call("find_tools", { query: "tulips, please" }),
      call("tool_200", {}),
      text("watered")
    ]))))

  it.effect("executes a call of a tool that was not offered", () =>
    Effect.gen(function*() {
      const { ran, tools } = toolsOf(300)
      yield* Agent.make("a", { tools, defaults }).run("x")
      const [first, second] = yield* offers
      assert.notInclude(first!, "tool_299")
      assert.include(second!, "tool_299")
      assert.deepStrictEqual(ran, ["tool_299"])
    }).pipe(Effect.provide(ScriptedModel.layer([call("tool_299", {}), text("done")]))))

  it.effect("finds by words of names and descriptions, the best first", () =>
    Effect.gen(function*() {
      const named = (name: string, description?: string) =>
        Tool.make(name, {
          ...(description === undefined ? {} : { description }),
          effects: "read",
          execute: () => Effect.void
        })
      const tools = [
        named("other"),
        named("mail_list", "Lists letters"),
        named("sendLetter"),
        named("letter_send", "Sends a letter"),
        named("resize", "Ändert die Größe")
      ]
      const agent = Agent.make("a", { tools, defaults, maxTools: 4 })
      yield* agent.run("x")
      const requests = yield* (yield* ScriptedModel.ScriptedModel).requests
      const found = requests.slice(1).map(({ prompt }) => lastResults(prompt as never)[0]!.result)
      assert.deepStrictEqual(found, [
        { found: ["letter_send", "sendLetter"] },
        { found: ["resize"] },
        { found: [] }
      ])
      assert.deepStrictEqual(requests.map(({ tools }) => tools), [
        ["other", "mail_list", "sendLetter", "find_tools"],
        ["other", "sendLetter", "letter_send", "find_tools"],
        ["sendLetter", "letter_send", "resize", "find_tools"],
        ["sendLetter", "letter_send", "resize", "find_tools"]
      ])
    }).pipe(Effect.provide(ScriptedModel.layer([
      call("find_tools", { query: "send LETTER" }),
      call("find_tools", { query: "Größe" }),
      call("find_tools", { query: "… !" }),
      text("done")
    ]))))

  it.effect("gives the model the issues of a search that does not fit", () =>
    Effect.gen(function*() {
      yield* Agent.make("a", { tools: toolsOf(300).tools }).run("x")
      assert.include(JSON.stringify(yield* lastResult), "missing_required_field")
      assert.strictEqual((yield* offers)[1]!.length, 128)
    }).pipe(Effect.provide(ScriptedModel.layer([call("find_tools", {}), text("done")]))))

  it.effect("offers all without a limit, and has no search below it", () =>
    Effect.gen(function*() {
      yield* Agent.make("a", { tools: toolsOf(300).tools, defaults, maxTools: Infinity }).run("x")
      yield* Agent.make("b", { tools: toolsOf(128).tools, defaults }).run("x")
      assert.deepStrictEqual((yield* offers).map(({ length }) => length), [300, 128])
      assert.notInclude((yield* offers).flat(), "find_tools")
    }).pipe(Effect.provide(ScriptedModel.layer([text("a"), text("b")]))))

  it.effect("offers found tools after a pause, in another process", () =>
    Effect.gen(function*() {
      const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
      const agentOf = () => Agent.make("a", { tools: [...toolsOf(300).tools, Pay], defaults })
      const paused = yield* agentOf().start("x")
      if (paused._tag !== "Paused") return assert.fail("it does not pause")
      const snapshot = JSON.parse(JSON.stringify(paused.snapshot)) as Approval.Snapshot
      yield* agentOf().resume(snapshot, paused.pending.map((pending) => Approval.approve(pending)))
      const [, second, third] = yield* offers
      assert.deepStrictEqual(second!.slice(-2), ["tool_200", "find_tools"])
      assert.deepStrictEqual(third!.slice(-3), ["tool_200", "pay", "find_tools"])
    }).pipe(
      Effect.provide([
        ScriptedModel.layer([call("find_tools", { query: "tulips" }), call("pay", {}), text("done")]),
        Approval.layerKey(Redacted.make("k".repeat(32)))
      ])
    ))

  it.effect("offers tools that earlier messages of a chat have found", () =>
    Effect.gen(function*() {
      const agent = Agent.make("a", {
        input: Prompt.Prompt,
        prompt: (conversation) => conversation,
        tools: toolsOf(300).tools,
        defaults
      })
      yield* Conversation.send(agent, { thread: "c", owner: "ada", message: "Find" })
      yield* Conversation.send(agent, { thread: "c", owner: "ada", message: "Use" })
      const all = yield* offers
      assert.strictEqual(all.length, 3)
      assert.include(all[2]!, "tool_200")
    }).pipe(Effect.provide([
      ScriptedModel.layer([call("find_tools", { query: "tulips" }), text("found"), text("done")]),
      Conversation.layerMemory,
      Approval.layerKey(Redacted.make("k".repeat(32)))
    ])))

  for (const maxTools of [3, 4, 7, 12, 128]) {
    for (const output of [Schema.String, Schema.Struct({ n: Schema.Int })]) {
      const form = output === Schema.String ? "text" : "a form"
      it.effect(`has room for all that a search finds: ${maxTools}, answered by ${form}`, () =>
        Effect.gen(function*() {
          const agent = Agent.make("a", {
            tools: toolsOf(300).tools,
            defaults,
            maxTools,
            output: output as unknown as Schema.Codec<unknown>
          })
          yield* agent.run("x")
          const [first, second] = yield* offers
          const { found } = (yield* lastResult)!.result as { readonly found: ReadonlyArray<string> }
          assert.strictEqual(found.length, Math.min(10, maxTools - 2))
          for (const name of found) assert.include(second!, name)
          for (const offered of [first!, second!]) {
            assert.isAtMost(offered.length, maxTools)
            assert.isAtLeast(offered.length, maxTools - 1)
          }
        }).pipe(Effect.provide(ScriptedModel.layer([call("find_tools", { query: "thing" }), text("{\"n\":1}")]))))
    }
  }

  it.effect("offers prepareTurn's named tools, without a search if few", () =>
    Effect.gen(function*() {
      const seen: Array<number> = []
      const agent = Agent.make("a", {
        tools: toolsOf(300).tools,
        defaults,
        prepareTurn: ({ tools, turn }) => {
          seen.push(tools.length)
          return turn === 1 ? { tools: ["tool_299"] } : { tools: tools as ReadonlyArray<`tool_${number}`> }
        }
      })
      yield* agent.run("x")
      const [first, second] = yield* offers
      assert.deepStrictEqual(first, ["tool_299"])
      assert.strictEqual(second!.length, 128)
      assert.include(second!, "find_tools")
      assert.deepStrictEqual(seen, [300, 300])
    }).pipe(Effect.provide(ScriptedModel.layer([call("tool_299", {}), text("done")]))))

  it.effect("finds the tools of a list that has changed", () =>
    Effect.gen(function*() {
      let version = 1
      const names = () => Array.from({ length: 4 }, (_, index) => `${version === 1 ? "old" : "new"}_${index}`)
      const listed = (): ReadonlyArray<Tool.Any> => {
        const made = names()
        return made.map((name) =>
          AiToolkit.fromTool(
            AiTool.make(name, { success: Schema.String }),
            () => Effect.sync(() => (version = 2, name)),
            { effects: "read", listed: { list, version, names: made } }
          ) as Tool.Any
        )
      }
      const list: AiToolkit.ToolList<Tool.Any> = {
        changedSince: (known) => Effect.sync(() => known === version ? undefined : { version, tools: listed() })
      }
      const agent = Agent.make("a", { tools: listed() as ReadonlyArray<never>, maxTools: 3 })
      yield* agent.run("x")
      assert.deepStrictEqual(yield* offers, [
        ["old_0", "old_1", "find_tools"],
        ["new_0", "new_1", "find_tools"],
        ["new_0", "new_3", "find_tools"]
      ])
    }).pipe(Effect.provide(ScriptedModel.layer([
      call("old_0", {}),
      call("find_tools", { query: "new 3" }),
      text("done")
    ]))))

  it.effect("keeps a tool of the agent's own with the same name", () =>
    Effect.gen(function*() {
      const ran: Array<string> = []
      const own = Tool.make("find_tools", { effects: "read", execute: () => Effect.sync(() => void ran.push("own")) })
      yield* Agent.make("a", { tools: [own, ...toolsOf(10).tools], defaults, maxTools: 5 }).run("x")
      assert.deepStrictEqual((yield* offers)[0], ["find_tools", "tool_0", "tool_1", "tool_2", "find_tools_2"])
      assert.deepStrictEqual(ran, ["own"])
    }).pipe(Effect.provide(ScriptedModel.layer([call("find_tools", {}), text("done")]))))

  it("refuses a limit that leaves no room for a tool", () => {
    for (const maxTools of [0, 2, 3.5, -1, Number.NaN]) {
      assert.throws(
        () => Agent.make("a", { tools: toolsOf(3).tools, defaults, maxTools }),
        /maxTools must be an integer > 2/
      )
    }
  })
})
