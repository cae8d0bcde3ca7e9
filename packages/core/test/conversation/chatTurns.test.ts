/** Turns of a chat by hand: entries of a turn in its thread, for any end and any parallel appends. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Conversation, History, Recovery, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Exit, Layer, Redacted, Schema } from "effect"
import { Prompt } from "effect/ai"
import { collectLogs } from "../support/kit.ts"

const chat = { owner: "ada", thread: "t1" }
const input = { input: Prompt.Prompt, prompt: (conversation: Prompt.Prompt) => conversation } as const
const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
const payer = Agent.make("payer", { ...input, tools: [Pay], defaults: { onError: Recovery.standard } })

const chatWith = (...turns: ReadonlyArray<ScriptedModel.Turn>) =>
  Effect.provide(Layer.mergeAll(
    Conversation.layerMemory,
    ScriptedModel.layer(turns),
    Approval.layerKey(Redacted.make("k".repeat(32)))
  ))

const texts = (prompt: Prompt.Prompt) =>
  prompt.content.map(({ content, role }) =>
    `${role} ${
      typeof content === "string" ? content : content.map((part) => part.type === "text" ? part.text : part.type).join()
    }`
  )
const stored = Effect.flatMap(Conversation.Conversations, ({ read }) => read(chat))
const sent = Effect.map(stored, ({ entries }) => texts(Conversation.toPrompt(entries)))
const answered = (prompt: Prompt.Prompt, answer: string) =>
  Prompt.concat(prompt, [{ role: "assistant", content: [{ type: "text", text: answer }] }])

type Store = Conversation.Conversations["Service"]

/** A store that does something else in some of its operations. */
const withStore = (change: (store: Store) => Partial<Store>) => <A, E, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.flatMap(
    Conversation.Conversations,
    (store) => Effect.provideService(effect, Conversation.Conversations, { ...store, ...change(store) })
  )

describe("appended entries of a turn", () => {
  it.effect("a message repeated for its run, by a retrying page, once", () =>
    Effect.gen(function*() {
      const begin = (message: string, runId?: string) =>
        Effect.scoped(Effect.map(Conversation.begin({ ...chat, message, runId }), ({ prompt }) => texts(prompt)))
      yield* begin("Pay Ada", "r1")
      assert.deepStrictEqual(yield* begin("Pay Ada", "r1"), ["user Pay Ada"])
      const { entries } = yield* stored
      assert.deepStrictEqual(Conversation.visibleMessages(entries).map(({ position }) => position), [1])
      // Another run's message, another text, and a message without a run are appended again.
      assert.deepStrictEqual(yield* begin("Pay Ada", "r2"), ["user Pay Ada", "user Pay Ada"])
      assert.deepStrictEqual((yield* begin("Pay Bo", "r2")).slice(2), ["user Pay Bo"])
      yield* begin("Pay Bo")
      assert.deepStrictEqual((yield* begin("Pay Bo")).slice(2), ["user Pay Bo", "user Pay Bo", "user Pay Bo"])
    }).pipe(chatWith()))

  it.effect("an earlier answer and an earlier message, once each", () =>
    Effect.gen(function*() {
      const agent = Agent.make("agent", input)
      yield* Conversation.send(agent, { ...chat, message: "Go" })
      yield* Conversation.send(agent, { ...chat, message: "Go" })
      assert.deepStrictEqual(yield* sent, ["user Go", "assistant Done.", "user Go", "assistant Done."])
    }).pipe(chatWith(ScriptedModel.text("Done."), ScriptedModel.text("Done."))))

  it.effect("in a thread that has no entries: all of the transcript", () =>
    Effect.scoped(Effect.gen(function*() {
      yield* (yield* Conversation.Conversations).create(chat)
      const turn = yield* Conversation.begin(chat)
      yield* turn.end({ transcript: answered(turn.prompt, "Hello.") })
      assert.deepStrictEqual(yield* sent, ["assistant Hello."])
    })).pipe(chatWith()))

  it.effect("of a transcript without its prompt: the new part, compacted or not", () =>
    Effect.scoped(Effect.gen(function*() {
      yield* Effect.scoped(Conversation.begin({ ...chat, message: "Zero" }))
      const turn = yield* Conversation.begin({ ...chat, message: "One" })
      const other = Prompt.fromMessages([
        ...Prompt.make([{ role: "system", content: "Be kind." }]).content,
        ...answered(Prompt.make("Two"), "Three").content,
        ...Prompt.make("One").content
      ])
      yield* turn.end({ transcript: Prompt.concat(other, "Four"), compacted: { count: 2, prompt: other } })
      assert.deepStrictEqual(yield* sent, ["user Zero", "user One", "user Two", "assistant Three", "user Four"])
    })).pipe(chatWith()))

  it.effect("are empty for an implicit end", () =>
    Effect.gen(function*() {
      yield* Effect.scoped(Conversation.begin({ ...chat, message: "One" }))
      const { entries, thread } = yield* stored
      assert.strictEqual(thread.version, 1)
      assert.strictEqual(entries.length, 1)
      assert.isFalse(thread.isRunning)
    }).pipe(chatWith()))

  it.effect("failed calls are forgotten, unless they are to be kept", () =>
    Effect.gen(function*() {
      const kinds = Effect.map(stored, ({ entries }) => entries.map(({ event }) => event._tag))
      const Break = Tool.make("break", {
        parameters: Schema.Struct({ n: Schema.Number }),
        effects: "read",
        execute: () => Effect.void
      })
      const agent = Agent.make("agent", { ...input, tools: [Break], defaults: { onError: Recovery.standard } })
      yield* Conversation.send(agent, { ...chat, message: "One", failedCalls: "keep" })
      assert.deepStrictEqual(yield* kinds, ["MessageAdded", "MessageAdded", "MessageAdded", "MessageAdded"])
      yield* Conversation.send(agent, { ...chat, message: "Two" })
      assert.deepStrictEqual((yield* kinds).slice(4), ["MessageAdded", "MessageAdded", "ToolCallsPruned"])
    }).pipe(chatWith(ScriptedModel.call("break", {}), ScriptedModel.text("No."), ScriptedModel.text("Still no."))))

  it.effect("of a compacted conversation: the thread's instructions, not the agent's", () =>
    Effect.gen(function*() {
      const store = yield* Conversation.Conversations
      yield* store.create(chat)
      const note = Prompt.make([{ role: "system", content: "Ada is a gold customer." }]).content
      yield* store.append({ ...chat, events: Conversation.toEvents(note, "model") })
      const agent = Agent.make("agent", {
        ...input,
        instructions: "Be kind.",
        compact: { maxTokens: 100, by: History.keepLast(1) }
      })
      yield* Conversation.send(agent, { ...chat, message: "One ".repeat(100) })
      yield* Conversation.send(agent, { ...chat, message: "Two ".repeat(100) })
      assert.include((yield* stored).entries.map(({ event }) => event._tag), "HistoryCompacted")
      assert.deepStrictEqual((yield* sent).map((text) => text.slice(0, 14)), [
        "system Ada is ",
        "user Two Two T",
        "assistant 2"
      ])
    }).pipe(chatWith(ScriptedModel.text("1"), ScriptedModel.text("2"))))
})

describe("a title", () => {
  it.effect("is the text of the user's message, without its additions", () =>
    Effect.scoped(Effect.gen(function*() {
      const file = { type: "file", mediaType: "image/png", data: "AAAA" } as const
      const message = [{
        role: "user",
        content: [{ type: "text", text: "Look at" }, file, { type: "text", text: "this" }]
      }] as const
      const { thread } = yield* Conversation.begin({ ...chat, message })
      assert.strictEqual(thread.title, "Look at this")
      const silent = yield* Conversation.begin({
        ...chat,
        thread: "t2",
        message: [{ role: "user", content: [file] }]
      })
      assert.isUndefined(silent.thread.title)
    })).pipe(chatWith()))
})

describe("a thread is given back", () => {
  it.effect("despite a silent store: logged, and the run's end stays", () => {
    const { layer, messages } = collectLogs()
    return Effect.gen(function*() {
      const isDown = { now: false }
      yield* Effect.scoped(Effect.gen(function*() {
        yield* Conversation.begin({ ...chat, message: "One" })
        isDown.now = true
      })).pipe(withStore(({ append }) => ({
        append: (options) => isDown.now ? Effect.die("down") : append(options)
      })))
      assert.isTrue(messages.some((text) => text.includes("could not be given back")), messages.join("\n"))
    }).pipe(chatWith(), Effect.provide(layer))
  })

  it.effect("once: without store requests behind its end", () => {
    const { layer, messages } = collectLogs()
    return Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const turn = yield* Conversation.begin({ ...chat, message: "One" })
        yield* turn.end({ transcript: answered(turn.prompt, "Two") })
        yield* (yield* Conversation.Conversations).delete(chat)
      }))
      assert.deepStrictEqual(messages, [])
    }).pipe(chatWith(), Effect.provide(layer))
  })
})

describe("a message to a thread in which a run waits", () => {
  const waits = Effect.andThen(Conversation.send(payer, { ...chat, message: "Pay" }), stored)
  const turns = [ScriptedModel.call("pay", {}, { id: "p" })]
  const notice = Conversation.toEvents(Prompt.make("Ada has called.").content)
  const told = ["user Pay", "assistant tool-call", "tool tool-result"]

  /** Another operation happens before the store first learns that a wait has ended. */
  const before = (meanwhile: (store: Store) => Effect.Effect<unknown, unknown>) => {
    let isFirst = true
    return withStore((store) => ({
      append: (options) => {
        if (options.snapshot !== null || !isFirst) return store.append(options)
        isFirst = false
        return Effect.andThen(Effect.orDie(meanwhile(store)), store.append(options))
      }
    }))
  }

  it.effect("to which something else is appended meanwhile: the model reads that, too", () =>
    Effect.gen(function*() {
      yield* waits
      const { prompt } = yield* Effect.scoped(Conversation.begin({ ...chat, message: "Wait" })).pipe(
        before((store) => store.append({ ...chat, events: notice }))
      )
      assert.deepStrictEqual(texts(prompt), ["user Pay", "user Ada has called.", ...told.slice(1), "user Wait"])
      assert.isFalse((yield* stored).thread.isWaiting)
    }).pipe(chatWith(...turns)))

  it.effect("from an outdated version: not appended, and the run still waits", () =>
    Effect.gen(function*() {
      const { thread: { version } } = yield* waits
      const exit = yield* Effect.flip(Effect.scoped(Conversation.begin({ ...chat, message: "Wait", version }))).pipe(
        before((store) => store.append({ ...chat, events: notice }))
      )
      assert.strictEqual(exit._tag, "VersionConflict")
      assert.deepStrictEqual(yield* sent, ["user Pay", "user Ada has called."])
      assert.isTrue((yield* stored).thread.isWaiting)
    }).pipe(chatWith(...turns)))

  for (const isStale of [false, true]) {
    it.effect(`that is decided meanwhile: ${isStale ? "an old version is refused" : "the message is appended"}`, () =>
      Effect.gen(function*() {
        const { thread: { version } } = yield* waits
        let isOver = false
        const turn = Effect.scoped(
          Conversation.begin({ ...chat, message: "Wait", ...isStale ? { version } : undefined })
        )
        const exit = yield* Effect.exit(turn).pipe(withStore((store) => {
          const over = Effect.suspend(() => {
            if (isOver) return Effect.void
            isOver = true
            return Effect.orDie(store.append({ ...chat, events: notice, snapshot: null }))
          })
          return {
            create: (options) => Effect.tap(store.create(options), over),
            read: (options) => Effect.tap(store.read(options), over)
          }
        }))
        assert.deepStrictEqual(yield* sent, ["user Pay", "user Ada has called.", ...isStale ? [] : ["user Wait"]])
        const tag = Exit.isFailure(exit) ? exit.cause.reasons.map((one) => one._tag === "Fail" && one.error._tag) : []
        assert.deepStrictEqual(tag, isStale ? ["VersionConflict"] : [])
      }).pipe(chatWith(...turns)))
  }

  it.effect("that cannot be stored: frees the thread, and ends the wait", () =>
    Effect.gen(function*() {
      yield* waits
      const exit = yield* Effect.exit(Effect.scoped(Conversation.begin({ ...chat, message: "Wait" }))).pipe(
        withStore(({ append }) => ({
          append: (options) => JSON.stringify(options.events).includes("Wait") ? Effect.die("full") : append(options)
        }))
      )
      assert.isTrue(Exit.isFailure(exit))
      const { thread } = yield* stored
      assert.deepStrictEqual([thread.isRunning, thread.isWaiting], [false, false])
      assert.strictEqual(thread.version, 3)
      assert.deepStrictEqual(yield* sent, told)
    }).pipe(chatWith(...turns)))
})

describe("a run's compensations", () => {
  it.effect("are known in the thread, next to its other entries, once", () =>
    Effect.gen(function*() {
      const store = yield* Conversation.Conversations
      yield* store.create(chat)
      const result = (id: string, result: Schema.Json) =>
        Prompt.toolResultPart({ id, name: "book", isFailure: false, providerExecuted: false, result })
      const call = (id: string) => Prompt.toolCallPart({ id, name: "book", params: {}, providerExecuted: false })
      const conversation = [
        ...Prompt.make([{ role: "system", content: "Ada is a gold customer." }]).content,
        ...Prompt.make("Book both").content,
        Prompt.assistantMessage({ content: [call("a"), call("b")] })
      ]
      const results = [result("a", "booked"), result("b", "booked")]
      yield* store.append({
        ...chat,
        events: Conversation.toEvents([...conversation, Prompt.toolMessage({ content: results })])
      })
      const now = Prompt.toolMessage({ content: [result("a", { undone: ["book"], result: "booked" }), results[1]!] })
      const again = Effect.scoped(Effect.flatMap(
        Conversation.begin(chat),
        (turn) => turn.end({ transcript: answered(Prompt.fromMessages([...conversation, now]), "Undone.") })
      ))
      yield* again
      const { entries } = yield* stored
      const known = Conversation.toPrompt(entries)
      assert.deepStrictEqual(texts(known), [
        "system Ada is a gold customer.",
        "user Book both",
        "assistant tool-call,tool-call",
        "tool tool-result,tool-result",
        "assistant Undone."
      ])
      assert.deepStrictEqual(
        (known.content[3] as Prompt.ToolMessage).content.map((part) => part.type === "tool-result" && part.result),
        [{ undone: ["book"], result: "booked" }, "booked"]
      )
      yield* again
      assert.deepStrictEqual(
        (yield* stored).entries.slice(entries.length).map(({ event }) => event._tag),
        []
      )
    }).pipe(chatWith()))
})
