/** Messages in place of a decision. */

import { assert, describe, it } from "@effect/vitest"
import { Laws, ScriptedModel } from "@recourse/testing"
import { Agent, Approval, Conversation, Recovery, Tool } from "@recourse/core"
import { Duration, Effect, Exit, Redacted, Schema } from "effect"
import type { Prompt } from "effect/ai"
import { chat, given, options, requests, roles } from "../support/orderChat.ts"

describe("a message in place of a decision", () => {
  const Write = (log: Array<string>) =>
    Tool.make("write", {
      effects: "write",
      success: Schema.String,
      execute: () => Effect.sync(() => `written ${log.push("write")}`)
    })
  const Pay = (log: Array<string>) =>
    Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.sync(() => void log.push("pay")) })
  const Desk = (log: Array<string>) =>
    Agent.make("desk", {
      instructions: "desk",
      tools: [Write(log), Pay(log)],
      defaults: { onError: Recovery.standard }
    }).pipe(Agent.asTool("ask", { description: "Asks the desk", effects: "write" }))
  const clerk = (log: Array<string>) => Agent.make("clerk", { ...options, tools: [Write(log), Pay(log), Desk(log)] })
  const both = ScriptedModel.calls([
    { name: "write", params: {}, id: "w" },
    { name: "pay", params: {}, id: "p" },
    { name: "ask", params: { input: "Both" }, id: "a" }
  ])
  const turns = [
    both,
    ScriptedModel.calls([{ name: "write", params: {}, id: "w" }, { name: "pay", params: {}, id: "p" }]),
    ScriptedModel.text("I see."),
    ScriptedModel.text("Still.")
  ]
  const agents: Readonly<Record<string, (log: Array<string>) => unknown>> = {
    "an agent": clerk,
    "a handoff": (log) => Agent.handoff("line", { start: "clerk", agents: { clerk: clerk(log) } }),
    "a route": (log) => Agent.route("to", (_: Prompt.Prompt) => "clerk" as const, { clerk: clerk(log) }),
    "compensated": (log) => clerk(log).pipe(Agent.compensated({}))
  }
  type Chatting =
    & Agent.Agent<Prompt.Prompt, string, unknown, never>
    & Agent.Resumable<Prompt.Prompt, string, unknown, never, never>

  it.effect.each(Object.keys(agents))("%s: what was done before the pause is told, and what waits is off", (name) => {
    const log: Array<string> = []
    const agent = agents[name]!(log) as Chatting
    return Effect.gen(function*() {
      const store = yield* Conversation.Conversations
      const paused = yield* Conversation.send(agent, { ...chat, message: "Both" })
      assert.deepStrictEqual(log, ["write", "write"])
      const before = yield* store.read(chat)
      assert.isTrue(before.thread.isWaiting)
      // Only who has seen the thread as it is calls the question off.
      const late = { ...chat, message: "Wait", version: before.thread.version - 1 }
      assert.strictEqual((yield* Effect.flip(Conversation.send(agent, late)))._tag, "VersionConflict")
      assert.isTrue((yield* store.read(chat)).thread.isWaiting)
      const { exit, turn } = yield* Conversation.send(agent, {
        ...chat,
        message: "Wait",
        version: before.thread.version
      })
      assert.deepStrictEqual(exit, Exit.succeed("I see."))
      assert.notProperty(turn, "snapshot")
      const { prompt } = (yield* requests).at(-1)!
      assert.deepStrictEqual(roles(prompt), ["system", "user", "assistant", "tool", "user"])
      assert.deepStrictEqual(Laws.problemsOfHistory(prompt), [])
      const told = (prompt.content[3] as Prompt.ToolMessage).content.map((part) => {
        const { id, result } = part as Prompt.ToolResultPart
        return [id, typeof result === "string" ? result : (result as { readonly code?: string }).code]
      })
      assert.deepStrictEqual(told, [["w", "written 1"], ["p", "approval_required"], ["a", "outcome_unknown"]])
      const { entries, snapshot, thread } = yield* store.read(chat)
      assert.isUndefined(snapshot)
      assert.isFalse(thread.isWaiting)
      assert.deepStrictEqual(
        Conversation.visibleMessages(entries).map((
          { message: { role }, runId }
        ) => [role, runId === paused.record?.runId]),
        [["user", false], ["assistant", true], ["tool", true], ["user", false], ["assistant", false]]
      )
      const resumed = yield* Conversation.resume(agent, { ...chat, decisions: [] })
      assert.isTrue(Exit.isFailure(resumed.exit))
      assert.deepStrictEqual(log, ["write", "write"])
      // Of the calls that were off, the model need not read for ever.
      yield* Conversation.send(agent, { ...chat, message: "Now?" })
      const results = (yield* requests).at(-1)!.prompt.content.flatMap(({ content }) =>
        typeof content === "string" ? [] : content.flatMap((part) => part.type === "tool-result" ? [part.id] : [])
      )
      assert.deepStrictEqual(results, ["w", "a"])
    }).pipe(given(...turns), Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32)))))
  })

  it.effect("a run that is being resumed keeps the thread", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = clerk(log)
      const paused = yield* Conversation.send(agent, { ...chat, message: "Both" })
      const store = yield* Conversation.Conversations
      const claim = { id: "another", lease: Duration.seconds(30) }
      yield* store.append({ ...chat, events: [], claim })
      const busy = yield* Effect.flip(Conversation.send(agent, { ...chat, message: "Wait" }))
      assert.strictEqual(busy._tag, "ThreadBusy")
      assert.isTrue((yield* store.read(chat)).thread.isWaiting)
      assert.isTrue(Exit.isFailure(paused.exit))
    }).pipe(given(...turns), Effect.provide(Approval.layerKey(Redacted.make("k".repeat(32))))))
})
