/** A chat stores a run's compacted conversation: the next run reads it, and people still read all. */
import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import { Agent, Approval, Conversation, History, Quarantine, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"

const key32 = Approval.layerKey(Redacted.make("k".repeat(32)))
const key = { owner: "ada", thread: "t1" }

const textsOf = (prompt: Prompt.Prompt): ReadonlyArray<string> =>
  prompt.content.map(({ content, role }) =>
    `${role}: ${
      typeof content === "string"
        ? content
        : content.map((part) => part.type === "text" ? part.text.slice(0, 12) : part.type).join()
    }`
  )

const long = (word: string) => `${word} `.repeat(120)

/** A model that answers, and the requests that it was made. */
const world = (answers: ReadonlyArray<ScriptedModel.Turn>) => {
  const requests: Array<ReadonlyArray<string>> = []
  const summaries: Array<number> = []
  let turn = 0
  const model = ScriptedModel.layer(({ prompt }) => {
    if (JSON.stringify(prompt).includes("Summarise.")) {
      summaries.push(prompt.content.length)
      return ScriptedModel.text("They said much.")
    }
    requests.push(textsOf(prompt))
    return answers[turn++] ?? ScriptedModel.text("?")
  })
  const summariser = Agent.make("summariser", { instructions: "Summarise." })
  return { model, requests, summaries, summariser }
}

const shownTexts = Effect.flatMap(
  Conversation.Conversations,
  ({ read }) =>
    Effect.map(
      read(key),
      ({ entries }) => textsOf(Prompt.fromMessages(Conversation.visibleMessages(entries).map(({ message }) => message)))
    )
)

describe("a chat whose run was compacted", () => {
  it.effect("continues with the paid summary, while people are shown all", () =>
    Effect.gen(function*() {
      const { model, requests, summaries, summariser } = world([
        ScriptedModel.text("one"),
        ScriptedModel.text("two"),
        ScriptedModel.text("three")
      ])
      const agent = Agent.make("support", {
        instructions: "Be kind.",
        input: Prompt.Prompt,
        prompt: (conversation) => conversation,
        compact: { maxTokens: 330, by: History.summarised(summariser, { keep: 1 }) }
      })
      const say = (message: string, options?: { readonly compaction: "forget" }) =>
        Conversation.send(agent, { ...key, message, ...options })
      const program = Effect.gen(function*() {
        yield* say(long("first"))
        yield* say(long("second"))
        assert.strictEqual(summaries.length, 1)
        const second = requests[1]!
        assert.isTrue(second.some((text) => text.includes("Summary of")), second.join("\n"))
        yield* say("third")
        // The third run reads the second run's paid summary, with the instructions once.
        assert.strictEqual(summaries.length, 1)
        assert.deepEqual(requests[2], [...second, "assistant: two", "user: third"])
        assert.deepEqual(yield* shownTexts, [
          `user: ${long("first").slice(0, 12)}`,
          "assistant: one",
          `user: ${long("second").slice(0, 12)}`,
          "assistant: two",
          "user: third",
          "assistant: three"
        ])
      })
      yield* Effect.provide(program, [Conversation.layerMemory, model])
    }))

  it.effect("starts with all messages if the summary is not kept", () =>
    Effect.gen(function*() {
      const { model, requests } = world([
        ScriptedModel.text("one"),
        ScriptedModel.text("two"),
        ScriptedModel.text("three")
      ])
      const agent = Agent.make("support", {
        input: Prompt.Prompt,
        prompt: (conversation) => conversation,
        compact: { maxTokens: 250, by: History.keepLast(1) }
      })
      const plain = Agent.make("support", { input: Prompt.Prompt, prompt: (conversation) => conversation })
      const program = Effect.gen(function*() {
        yield* Conversation.send(agent, { ...key, message: long("first") })
        yield* Conversation.send(agent, { ...key, message: long("second"), compaction: "forget" })
        assert.strictEqual(requests[1]!.length, 1)
        yield* Conversation.send(plain, { ...key, message: "third" })
        assert.strictEqual(requests[2]!.length, 5)
      })
      yield* Effect.provide(program, [Conversation.layerMemory, model])
    }))

  it.effect("compacted behind its first calls: reads them once, keeps their taint", () =>
    Effect.gen(function*() {
      const Read = Tool.make("read", {
        effects: "read",
        trust: "untrusted",
        success: Schema.String,
        execute: () => Effect.succeed(long("web"))
      })
      const { model, requests } = world([
        ScriptedModel.call("read", {}, { id: "r1" }),
        ScriptedModel.call("read", {}, { id: "r2" }),
        ScriptedModel.text("one"),
        ScriptedModel.text("two")
      ])
      const agent = Agent.make("support", {
        input: Prompt.Prompt,
        prompt: (conversation) => conversation,
        tools: [Read],
        compact: { maxTokens: 350, by: (prompt) => Prompt.fromMessages(prompt.content.slice(0, 1)) }
      })
      const program = Effect.gen(function*() {
        const first = yield* Conversation.send(agent, { ...key, message: "look" })
        assert.deepEqual(first.record?.taintedBy, ["read"])
        const { prompt } = yield* Effect.scoped(Conversation.begin({ ...key }))
        assert.deepEqual(Quarantine.taintedBy(prompt), ["read"])
        yield* Conversation.send(agent, { ...key, message: "thanks" })
        assert.deepEqual(requests[3], [...requests[2]!, "assistant: one", "user: thanks"])
        assert.strictEqual((yield* shownTexts).filter((text) => text.includes("tool-result")).length, 2)
      })
      yield* Effect.provide(program, [Conversation.layerMemory, model, key32])
    }))

  it.effect("that waited is compacted once it has resumed", () =>
    Effect.gen(function*() {
      const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
      const { model, requests } = world([
        ScriptedModel.text("one"),
        ScriptedModel.call("pay", {}, { id: "p1" }),
        ScriptedModel.text("paid"),
        ScriptedModel.text("bye")
      ])
      const agent = Agent.make("support", {
        input: Prompt.Prompt,
        prompt: (conversation) => conversation,
        tools: [Pay],
        compact: { maxTokens: 250, by: History.keepLast(1) }
      })
      const kinds = Effect.flatMap(Conversation.Conversations, ({ read }) =>
        Effect.map(read(key), ({ entries }) => entries.map(({ event }) => event._tag)))
      const program = Effect.gen(function*() {
        yield* Conversation.send(agent, { ...key, message: long("first") })
        const { exit } = yield* Conversation.send(agent, { ...key, message: long("second") })
        assert.notInclude(yield* kinds, "HistoryCompacted")
        const waits = Exit.isFailure(exit) ? exit.cause.reasons[0] : undefined
        const pending = waits?._tag === "Fail" && waits.error instanceof Approval.ApprovalRequired
          ? waits.error.pending
          : []
        const gone = yield* Conversation.resume(agent, {
          ...key,
          decisions: pending.map((call) =>
            Approval.approve(call)
          )
        })
        assert.isTrue(Exit.isSuccess(gone.exit))
        assert.include(yield* kinds, "HistoryCompacted")
        yield* Conversation.send(agent, { ...key, message: "thanks" })
        assert.deepEqual(requests[3], [...requests[2]!, "assistant: paid", "user: thanks"])
        assert.strictEqual((yield* shownTexts).length, 8)
      })
      yield* Effect.provide(program, [Conversation.layerMemory, model, key32])
    }))
})
