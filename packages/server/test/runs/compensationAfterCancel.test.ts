/**
 * A run in memory that is cancelled while it waits for a person: its writes are compensated, and the thread records it.
 */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Conversation, Runs, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { MemoryRuns } from "@recourse/server"
import { Effect, Layer, Redacted, Schema, Stream } from "effect"
import { Prompt } from "effect/ai"
import { Chats } from "../support/chats.ts"

const travel = (log: Array<string>, isCompensated: boolean) => {
  const Book = Tool.make("book", {
    parameters: Schema.Struct({ seat: Schema.String }),
    success: Schema.Struct({ id: Schema.String }),
    effects: "write",
    execute: ({ seat }) => Effect.sync(() => (log.push(`book ${seat}`), { id: `b-${seat}` })),
    compensate: (_arguments, { id }) => Effect.sync(() => void log.push(`cancel ${id}`))
  })
  const Pay = Tool.make("pay", {
    effects: "write",
    needsApproval: true,
    execute: () => Effect.sync(() => void log.push("pay"))
  })
  return Agent.make("travel", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [Book, Pay],
    ...(isCompensated ? { compensation: {} } : undefined)
  })
}

const around = (log: Array<string>, isCompensated: boolean) =>
  Layer.mergeAll(
    MemoryRuns.layer({ agents: [travel(log, isCompensated)] }),
    Conversation.layerMemory
  ).pipe(Layer.provide([
    ScriptedModel.layer([
      ScriptedModel.call("book", { seat: "1A" }, { id: "b" }),
      ScriptedModel.call("pay", {}, { id: "p" })
    ]),
    Approval.layerKey(Redacted.make("k".repeat(32)))
  ]))

const waiting = Effect.fn(function*(runId: string) {
  const runs = yield* Runs.Runs
  while ((yield* runs.get(runId)).status !== "waiting") yield* Effect.yieldNow
})

/** A run that has booked a seat, and waits for a person who lets it pay. */
const started = Effect.gen(function*() {
  const runs = yield* Runs.Runs
  const input = Conversation.encode(Prompt.make("Rome"))
  const { runId } = yield* runs.start({ agent: "travel", owner: "ada", input })
  yield* waiting(runId)
  return { runId, runs }
})

describe("a run in memory that is cancelled while it waits", () => {
  it.effect("compensates its writes once, and ends like any cancelled run", () => {
    const log: Array<string> = []
    return Effect.gen(function*() {
      const { runId, runs } = yield* started
      assert.isTrue(yield* runs.cancel(runId))
      assert.deepStrictEqual(log, ["book 1A", "cancel b-1A"])
      const info = yield* runs.get(runId)
      assert.deepStrictEqual([info.status, info.pending], ["cancelled", []])
      const events = yield* Stream.runCollect(runs.events(runId))
      const last = events.map(({ event }) => event).filter(({ _tag }) => /ToolCompensated|RunFinished/.test(_tag))
      assert.deepStrictEqual(
        last.map((event) => event._tag === "RunFinished" ? event.outcome : event._tag),
        ["paused", "ToolCompensated", "interrupted"]
      )
      assert.deepStrictEqual(events.map(({ number }) => number), events.map((_, index) => index))
      assert.isFalse(yield* runs.cancel(runId))
      assert.strictEqual(log.length, 2)
    }).pipe(Effect.provide(around(log, true)))
  })

  it.effect("compensates no write if its agent does not", () => {
    const log: Array<string> = []
    return Effect.gen(function*() {
      const { runId, runs } = yield* started
      assert.isTrue(yield* runs.cancel(runId))
      assert.strictEqual((yield* runs.get(runId)).status, "cancelled")
      assert.deepStrictEqual(log, ["book 1A"])
    }).pipe(Effect.provide(around(log, false)))
  })

  it.effect("is reported as compensated to readers of its thread", () => {
    const log: Array<string> = []
    return Effect.scoped(Effect.gen(function*() {
      const conversations = yield* Conversation.Conversations
      const chats = new Chats(yield* Runs.Runs, conversations, yield* Effect.scope, { onBusy: "refuse" })
      const message = { agent: "travel", owner: "ada", thread: "t", messageId: "m", message: "Rome" }
      const { runId } = yield* chats.send(message)
      yield* waiting(runId)
      yield* chats.stop(runId, "ada")
      assert.deepStrictEqual(log, ["book 1A", "cancel b-1A"])
      const { entries, thread } = yield* conversations.read({ owner: "ada", thread: "t" })
      assert.isFalse(thread.isRunning)
      assert.match(JSON.stringify(entries), /undone/)
    })).pipe(Effect.provide(around(log, true)))
  })
})
