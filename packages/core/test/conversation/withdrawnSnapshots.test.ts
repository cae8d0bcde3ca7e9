/** Kept snapshots of a chat whose question a message has withdrawn: they run no call, and their runs can be ended. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Conversation, Journal, Recovery, Tool } from "@recourse/core"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Redacted } from "effect"
import { Prompt } from "effect/ai"

const chat = { owner: "ada", thread: "t1" }
const key = Approval.layerKey(Redacted.make("k".repeat(32)))

/** An agent that books, and then asks a person about a payment. */
const desk = () => {
  const world: Array<string> = []
  const act = (name: string) => Effect.sync(() => void world.push(name))
  const Book = Tool.make("book", {
    effects: "write",
    execute: () => act("booked"),
    compensate: () => act("booking undone")
  })
  const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => act("paid") })
  const agent = Agent.make("desk", {
    input: Prompt.Prompt,
    prompt: (conversation) => conversation,
    tools: [Book, Pay],
    defaults: { onError: Recovery.keepGoing },
    compensation: {}
  })
  const model = ScriptedModel.layer(({ prompt }) => {
    const results = prompt.content.filter(({ role }) => role === "tool").length
    if (prompt.content.some(({ content, role }) => role === "user" && JSON.stringify(content).includes("Wait"))) {
      return ScriptedModel.text("Fine.")
    }
    return [ScriptedModel.call("book", {}, { id: "b" }), ScriptedModel.call("pay", {}, { id: "p" })][results] ??
      ScriptedModel.text("Paid.")
  })
  const paused = Effect.gen(function*() {
    yield* Conversation.send(agent, { ...chat, message: "Pay" })
    const { snapshot } = yield* (yield* Conversation.Conversations).read(chat)
    return snapshot as unknown as Approval.Snapshot
  })
  const resume = (snapshot: Approval.Snapshot) =>
    agent.resume(snapshot, snapshot.round!.pending.map((call) => Approval.approve(call)))
  const codes = Effect.map(
    ScriptedModel.ScriptedModel,
    ({ lastRequest }) =>
      Effect.map(lastRequest, ({ prompt }) =>
        prompt.content.flatMap(({ content, role }) =>
          role !== "tool" ?
            [] :
            content.flatMap((part) =>
              part.type === "tool-result" && part.isFailure ? [(part.result as { readonly code: string }).code] : []
            )
        ))
  ).pipe(Effect.flatten)
  const end = (snapshot: Approval.Snapshot) =>
    Effect.exit(Effect.provideService(agent.resume(snapshot, []), Journal.CurrentJournal, {
      runId: snapshot.runId,
      isResumed: true,
      isCancelled: () => true,
      elapsedBefore: 0,
      find: () => undefined,
      entries: () => [],
      record: () => Effect.void,
      claim: (entry) => entry
    }))
  return { agent, codes, end, model, paused, resume, world }
}

const inSql = Approval.layerResumptionsSql().pipe(Layer.provide(NodeSqliteClient.layer({ filename: ":memory:" })))

describe.each([["of the process", Layer.empty], ["in SQL", inSql]] as const)(
  "a store of resumptions %s",
  (_, store) => {
    const provided = (model: Layer.Layer<any>) =>
      Effect.provide(Layer.mergeAll(model, Conversation.layerMemory, key, store as Layer.Layer<never>))

    it.live("refuses the snapshot of a withdrawn question", () => {
      const { model, paused, resume, agent, world } = desk()
      return Effect.gen(function*() {
        const snapshot = yield* paused
        yield* Conversation.send(agent, { ...chat, message: "Wait" })
        const error = yield* Effect.flip(resume(snapshot))
        assert.instanceOf(error, Approval.SnapshotRefused)
        assert.deepStrictEqual(world, ["booked"])
      }).pipe(provided(model)) as Effect.Effect<void>
    })

    it.live("refuses the snapshot of an agent that waits within it", () => {
      const world: Array<string> = []
      const Pay = Tool.make("pay", {
        effects: "write",
        needsApproval: true,
        execute: () => Effect.sync(() => void world.push("paid"))
      })
      const clerk = Agent.make("clerk", { instructions: "clerk", tools: [Pay] })
      const agent = Agent.make("desk", {
        input: Prompt.Prompt,
        prompt: (conversation) => conversation,
        tools: [clerk.pipe(Agent.asTool("clerk", { description: "Pays" }))],
        defaults: { onError: Recovery.keepGoing }
      })
      const model = ScriptedModel.layer(({ prompt: { content } }) =>
        content.some(({ role }) => role === "system")
          ? ScriptedModel.call("pay", {}, { id: "p" })
          : content.some(({ role }) => role === "tool")
          ? ScriptedModel.text("Fine.")
          : ScriptedModel.call("clerk", { input: "Pay" }, { id: "c" })
      )
      return Effect.gen(function*() {
        yield* Conversation.send(agent, { ...chat, message: "Pay" })
        const { snapshot } = yield* (yield* Conversation.Conversations).read(chat)
        const inner = (snapshot as unknown as Approval.Snapshot).round!.nested![0]!
          .snapshot as unknown as Approval.Snapshot
        yield* Conversation.send(agent, { ...chat, message: "Wait" })
        const error = yield* Effect.flip(
          clerk.resume(inner, inner.round!.pending.map((call) => Approval.approve(call)))
        )
        assert.instanceOf(error, Approval.SnapshotRefused)
        assert.deepStrictEqual(world, [])
      }).pipe(provided(model)) as Effect.Effect<void>
    })

    it.live("reports a call as unknown whose snapshot was resumed outside of the chat", () => {
      const { agent, codes, model, paused, resume, world } = desk()
      return Effect.gen(function*() {
        yield* resume(yield* paused)
        assert.deepStrictEqual(world, ["booked", "paid"])
        yield* Conversation.send(agent, { ...chat, message: "Wait" })
        assert.deepStrictEqual(yield* codes, ["outcome_unknown"])
      }).pipe(provided(model)) as Effect.Effect<void>
    })

    it.live("lets a run be ended once whose question was withdrawn", () => {
      const { agent, end, model, paused, world } = desk()
      return Effect.gen(function*() {
        const snapshot = yield* paused
        yield* Conversation.send(agent, { ...chat, message: "Wait" })
        yield* end(snapshot)
        assert.deepStrictEqual(world, ["booked", "booking undone"])
        yield* end(snapshot)
        assert.deepStrictEqual(world, ["booked", "booking undone"])
      }).pipe(provided(model)) as Effect.Effect<void>
    })

    it.live("lets no run be ended that was resumed", () => {
      const { end, model, paused, resume, world } = desk()
      return Effect.gen(function*() {
        const snapshot = yield* paused
        yield* resume(snapshot)
        yield* end(snapshot)
        yield* end(snapshot)
        assert.deepStrictEqual(world, ["booked", "paid"])
      }).pipe(provided(model)) as Effect.Effect<void>
    })
  }
)
