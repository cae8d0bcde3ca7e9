/** Messages that join a running run: the next request, the events, the log and its replay. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedModel } from "@recourse/testing"
import { Agent, Approval, Journal, Recovery, RunInbox, Tool } from "@recourse/core"
import { Effect, Schema } from "effect"
import type { Prompt } from "effect/ai"
import { collect } from "../support/kit.ts"
import { key } from "../support/bookings.ts"

const Echo = Tool.make("echo", {
  parameters: Schema.Struct({ text: Schema.String }),
  success: Schema.String,
  effects: "read",
  execute: ({ text }) => Effect.succeed(text)
})
const clerk = Agent.make("clerk", { tools: [Echo], defaults: { onError: Recovery.keepGoing } })

const texts = (prompt: Prompt.Prompt) =>
  prompt.content.map(({ content, role }) =>
    `${role}: ${typeof content === "string" ? content : content.map((part) => "text" in part ? part.text : part.type)}`
  )

/** An inbox with these messages, of which it gives those at or before a position that the test sets. */
const inboxOf = (messages: ReadonlyArray<string>, runId = "r1") => {
  const asked: Array<number> = []
  const state = { there: 0 }
  const inbox: RunInbox.RunInbox = {
    runId,
    take: (after) =>
      Effect.sync(() => {
        asked.push(after)
        return messages.map((content, n) => ({ id: `m${n + 1}`, position: n + 1, content }))
          .filter(({ position }) => position > after && position <= state.there)
      })
  }
  return { asked, state, inbox, provided: Effect.provideService(RunInbox.CurrentRunInbox, inbox) }
}

const requests = Effect.flatMap(ScriptedModel.ScriptedModel, ({ requests }) => requests)

describe("messages of the inbox", () => {
  it.effect("join before the next request, once, with an event", () => {
    const { asked, inbox, provided, state } = inboxOf(["In French.", "Shortly."])
    const Add = Tool.make("add", {
      success: Schema.Null,
      effects: "read",
      execute: () => Effect.sync(() => (state.there++, null))
    })
    const agent = Agent.make("clerk", { tools: [Add], defaults: { onError: Recovery.keepGoing } })
    const { events, layer } = collect()
    return Effect.gen(function*() {
      yield* agent.run("Hello", { runId: inbox.runId }).pipe(provided, Effect.provide(layer))
      const [first, second, third] = yield* requests
      assert.deepStrictEqual(texts(first!.prompt), ["user: Hello"])
      assert.deepStrictEqual(texts(second!.prompt).slice(1), [
        "assistant: tool-call",
        "tool: tool-result",
        "user: In French."
      ])
      assert.deepStrictEqual(texts(third!.prompt).slice(4), [
        "assistant: tool-call",
        "tool: tool-result",
        "user: Shortly."
      ])
      assert.deepStrictEqual(asked, [0, 0, 1])
      assert.deepStrictEqual(
        events.flatMap((event) => event._tag === "MessageJoined" ? [[event.turn, event.messageId, event.text]] : []),
        [[2, "m1", "In French."], [3, "m2", "Shortly."]]
      )
    }).pipe(
      Effect.provide(ScriptedModel.layer([
        ScriptedModel.call("add", {}),
        ScriptedModel.call("add", {}),
        ScriptedModel.text("Bonjour.")
      ]))
    )
  })

  it.effect("are left to the next run by a nested agent and by an input guard", () =>
    Effect.gen(function*() {
      const { asked, provided, state } = inboxOf(["Late."])
      state.there = 1
      const guarded = Agent.make("clerk", {
        tools: [Echo],
        guardInput: () => Effect.void,
        defaults: { onError: Recovery.keepGoing }
      })
      yield* guarded.run("Hello", { runId: "r1" }).pipe(provided)
      assert.deepStrictEqual(asked, [])
      const nested = Agent.make("nested", { input: Schema.Struct({ task: Schema.String }), tools: [] }).pipe(
        Agent.asTool("nested", {
          description: "Helps",
          parameters: Schema.Struct({ task: Schema.String }),
          success: Schema.String
        })
      )
      const outer = Agent.make("outer", { tools: [nested], defaults: { onError: Recovery.keepGoing } })
      yield* outer.run("Hello", { runId: "r1" }).pipe(provided)
      assert.deepStrictEqual(asked, [0, 1])
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.text("One."),
      ScriptedModel.call("nested", { task: "Help" }),
      ScriptedModel.text("Two."),
      ScriptedModel.text("Three.")
    ]))))

  it.effect("are the same ones in a replay, and the inbox is read behind the log", () => {
    const entries = new Map<string, Schema.Json>()
    const journal = (earlier: ReadonlyMap<string, Schema.Json>): Journal.Journal => ({
      runId: "r1",
      isResumed: earlier.size > 0,
      elapsedBefore: 0,
      find: (kind, key) => earlier.get(`${kind} ${key}`),
      entries: (kind) =>
        [...earlier].flatMap(([key, value]) => key.startsWith(`${kind} `) ? [[key.slice(kind.length + 1), value]] : []),
      record: (kind, key, value) => Effect.sync(() => void entries.set(`${kind} ${key}`, value)),
      claim: (entry) => entry
    })
    const { asked, provided, state } = inboxOf(["In French.", "Shortly."])
    state.there = 1
    const run = (earlier: ReadonlyMap<string, Schema.Json>) =>
      clerk.run("Hello", { runId: "r1" }).pipe(
        provided,
        Effect.provideService(Journal.CurrentJournal, journal(earlier))
      )
    return Effect.gen(function*() {
      yield* Effect.exit(run(new Map()))
      assert.deepStrictEqual(asked, [0, 1])
      // The log ends behind the first answer: its process has died.
      const [joined, model] = [...entries].filter(([key]) => key.startsWith("wait ") || key.startsWith("model "))
      state.there = 2
      yield* run(new Map([joined!, model!]))
      assert.deepStrictEqual(asked, [0, 1, 1])
      const last = (yield* requests).at(-1)!
      assert.deepStrictEqual(texts(last.prompt), [
        "user: Hello",
        "user: In French.",
        "assistant: tool-call",
        "tool: tool-result",
        "user: Shortly."
      ])
    }).pipe(Effect.provide(ScriptedModel.layer([
      ScriptedModel.call("echo", { text: "x" }),
      ScriptedModel.text("Bonjour."),
      ScriptedModel.text("Salut.")
    ])))
  })

  it.effect("keep their place over a pause", () => {
    const Pay = Tool.make("pay", {
      success: Schema.String,
      effects: "write",
      needsApproval: true,
      execute: () => Effect.succeed("paid")
    })
    const payer = Agent.make("clerk", { tools: [Pay], defaults: { onError: Recovery.keepGoing } })
    const { asked, provided, state } = inboxOf(["In French.", "Shortly."])
    state.there = 1
    return Effect.gen(function*() {
      const paused = yield* payer.start("Hello", { runId: "r1" }).pipe(provided)
      assert.instanceOf(paused, Approval.Paused)
      state.there = 2
      yield* payer.resume(paused.snapshot, paused.pending.map((call) => Approval.approve(call))).pipe(provided)
      assert.deepStrictEqual(asked, [0, 1])
      const last = (yield* requests).at(-1)!
      assert.deepStrictEqual(texts(last.prompt), [
        "user: Hello",
        "user: In French.",
        "assistant: tool-call",
        "tool: tool-result",
        "user: Shortly."
      ])
    }).pipe(
      Effect.provide(ScriptedModel.layer([ScriptedModel.call("pay", {}), ScriptedModel.text("Payé.")])),
      Effect.provide(key)
    )
  })
})
