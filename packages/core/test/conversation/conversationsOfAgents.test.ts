/** Conversations of several agents. */

import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel } from "@recourse/testing"
import { Agent, Approval, Conversation, Quarantine, Tool } from "@recourse/core"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import { chat, given, options, requests, roles } from "../support/orderChat.ts"

describe("several agents", () => {
  const ToPayer = Agent.handoffTo("payer", { description: "Pays" })
  const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
  const triage = Agent.make("triage", { ...options, instructions: "triage", tools: [ToPayer] })
  const payer = Agent.make("payer", { ...options, instructions: "payer", tools: [Pay] })
  const desk = Agent.handoff("desk", { start: "triage", agents: { triage, payer } })
  const given = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
    Effect.provide(Layer.mergeAll(
      Conversation.layerMemory,
      ScriptedModel.layer(turns),
      Approval.layerKey(Redacted.make("k".repeat(32)))
    ))

  it.effect("their messages are in the thread once, also over a pause", () =>
    Effect.gen(function*() {
      const { exit, turn } = yield* Conversation.send(desk, { ...chat, message: "Pay me" })
      assert.isTrue(Exit.isFailure(exit))
      assert.isUndefined(turn.snapshot)
      const store = yield* Conversation.Conversations
      const { snapshot } = yield* store.read(chat)
      const pending = (snapshot as unknown as Approval.Snapshot).round!.pending
      assert.deepStrictEqual(pending.map(({ callId }) => callId), ["payer/p"])
      const resumed = yield* Conversation.resume(desk, {
        ...chat,
        decisions: pending.map((call) => Approval.approve(call))
      })
      assert.deepInclude(Exit.getSuccess(resumed.exit), { value: new Approval.Completed<string>({ output: "Paid." }) })
      const { entries, thread } = yield* store.read(chat)
      assert.isFalse(thread.isRunning)
      assert.deepStrictEqual(
        Conversation.visibleMessages(entries).map(({ message: { role } }) => role),
        ["user", "assistant", "tool", "assistant"]
      )
      yield* Conversation.send(desk, { ...chat, message: "Thanks" })
      const last = (yield* requests).at(-1)!
      assert.deepStrictEqual(roles(last.prompt), ["system", "user", "assistant", "tool", "assistant", "user"])
      assert.deepStrictEqual(Laws.problemsOfHistory(last.prompt), [])
    }).pipe(given(
      ScriptedModel.call("transfer_to_payer", {}),
      ScriptedModel.call("pay", {}, { id: "p" }),
      ScriptedModel.text("Paid."),
      ScriptedModel.text("You are welcome.")
    )))
})

describe("an agent made of agents remembers messages and calls", () => {
  const Write = Tool.make("write", { effects: "write", success: Schema.String, execute: () => Effect.succeed("done") })
  const Fetch = Tool.make("fetch", {
    trust: "untrusted",
    success: Schema.String,
    execute: () => Effect.succeed("page")
  })
  const clerk = Agent.make("clerk", { ...options, tools: [Write, Fetch] })
  type Chatting = Agent.Agent<Prompt.Prompt, unknown, unknown, never>
  const loud = Agent.fromFunction("loud", (text: string) => Effect.succeed(`${text}!`))
  const silent = Agent.fromFunction("silent", (_: Prompt.Prompt) => Effect.never as Effect.Effect<string>)
  const worked = ["user One", "assistant w", "tool w", "assistant f", "tool f", "assistant Done."]
  const cases: Readonly<Record<string, readonly [agent: unknown, said: ReadonlyArray<string>]>> = {
    branch: [Agent.branch("side", (_: Prompt.Prompt) => true, { onTrue: clerk, onFalse: silent }), worked],
    route: [Agent.route("to", (_: Prompt.Prompt) => "clerk" as const, { clerk, silent }), worked],
    firstOf: [Agent.firstOf("first", [silent, clerk]), worked],
    speculative: [clerk.pipe(Agent.speculative(1)), worked],
    compensated: [clerk.pipe(Agent.compensated({})), worked],
    "a route within a handoff": [
      Agent.handoff("line", {
        start: "to",
        agents: { to: Agent.route("to", (_: Prompt.Prompt) => "clerk" as const, { clerk }) }
      }).pipe(
        Agent.compensated({})
      ),
      worked
    ],
    "andThen: with what was answered": [clerk.pipe(Agent.andThen(loud)), [...worked, "assistant Done.!"]],
    "andThen, where the second step fails": [
      clerk.pipe(Agent.andThen(Agent.fromFunction("broken", (_: string) => Effect.fail("broken" as const)))),
      worked
    ],
    "a function": [
      Agent.fromFunction("echo", (_: Prompt.Prompt) => Effect.succeed("Hello.")),
      ["user One", "assistant Hello."]
    ]
  }
  it.effect.each(Object.keys(cases))("%s", (name) =>
    Effect.gen(function*() {
      const [agent, said] = cases[name]!
      yield* Conversation.send(agent as Chatting, { ...chat, message: "One" })
      const store = yield* Conversation.Conversations
      const { entries } = yield* store.read(chat)
      const sent = Conversation.toPrompt(entries)
      assert.deepStrictEqual(
        sent.content.map(({ content, role }) =>
          `${role} ${
            typeof content === "string"
              ? content
              : content.map((part) => part.type === "text" ? part.text : (part as { readonly id: string }).id).join()
          }`
        ),
        said
      )
      assert.deepStrictEqual(Quarantine.taintedBy(sent), said.length > 2 ? ["fetch"] : [])
      const last = sent.content.at(-1)!
      if (said.length > 2) assert.deepStrictEqual(Quarantine.taintedBy(Prompt.fromMessages([last])), ["fetch"])
    }).pipe(
      given(
        ScriptedModel.call("write", {}, { id: "w" }),
        ScriptedModel.call("fetch", {}, { id: "f" }),
        ScriptedModel.text("Done.")
      ),
      Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32))))
    ))

  it.effect("over a pause, once", () =>
    Effect.gen(function*() {
      const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
      const payer = Agent.make("payer", { ...options, tools: [Write, Pay] })
      const agent = Agent.route("to", (_: Prompt.Prompt) => "payer" as const, { payer }).pipe(Agent.andThen(loud))
      yield* Conversation.send(agent, { ...chat, message: "One" })
      const store = yield* Conversation.Conversations
      const { snapshot } = yield* store.read(chat)
      const { pending } = (snapshot as unknown as Approval.Snapshot).round!
      const { exit } = yield* Conversation.resume(agent, {
        ...chat,
        decisions: pending.map((call) => Approval.approve(call))
      })
      assert.isTrue(Exit.isSuccess(exit))
      assert.deepStrictEqual(
        Conversation.visibleMessages((yield* store.read(chat)).entries).map(({ message: { role } }) => role),
        ["user", "assistant", "tool", "assistant", "tool", "assistant", "assistant"]
      )
    }).pipe(
      given(
        ScriptedModel.call("write", {}, { id: "w" }),
        ScriptedModel.call("pay", {}, { id: "p" }),
        ScriptedModel.text("Paid.")
      ),
      Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32))))
    ))
})
