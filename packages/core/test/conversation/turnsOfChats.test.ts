/** Turns of a chat: its title, its claim, and the appended messages. */

import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Effect, Layer } from "effect"
import { Prompt } from "effect/ai"
import { text, user } from "../support/drawnConversations.ts"

describe("a turn of a chat", () => {
  const key = { owner: "ada", thread: "t" }

  const call = (id: string) => Prompt.toolCallPart({ id, name: "t", params: {}, providerExecuted: false })

  const result = (id: string, isFailure: boolean, said: unknown) =>
    Prompt.toolMessage({
      content: [Prompt.toolResultPart({ id, name: "t", isFailure, result: said, providerExecuted: false })]
    })

  const assistant = (...content: ReadonlyArray<Prompt.AssistantMessagePart>) => Prompt.assistantMessage({ content })

  const brief = (prompt: Prompt.Prompt) =>
    prompt.content.map(({ content, role }) =>
      `${role} ${
        typeof content === "string"
          ? content
          : content.map((part) => part.type === "text" ? part.text : "id" in part ? part.id : part.type)
      }`
    )

  /** The next turn's model's view, and the people's, after a turn with this end. */
  const after = (
    message: string,
    end: (prompt: Prompt.Prompt) => Conversation.EndOptions
  ) =>
    Effect.gen(function*() {
      yield* Effect.scoped(Effect.gen(function*() {
        const turn = yield* Conversation.begin({ ...key, message })
        yield* turn.end(end(turn.prompt))
      }))
      const { entries, thread } = yield* Effect.flatMap(Effect.service(Conversation.Conversations), (store) =>
        store.read(key))
      assert.isFalse(thread.isRunning)
      return {
        sent: brief(Conversation.toPrompt(entries)),
        shown: brief(Prompt.fromMessages(
          Conversation.visibleMessages(entries).map(({ message }) =>
            message
          )
        ))
      }
    })

  const fresh = Effect.provide(Layer.fresh(Conversation.layerMemory))

  it.effect("names a new thread by its first message", () =>
    Effect.gen(function*() {
      const long = "word ".repeat(40)
      const file = Prompt.filePart({ mediaType: "image/png", data: new Uint8Array([1]), fileName: undefined })
      const cases: ReadonlyArray<readonly [Omit<Conversation.BeginOptions, "owner" | "thread">, string | undefined]> = [
        [{ message: " Where \n\t is  it? " }, "Where is it?"],
        [{ message: [Prompt.userMessage({ content: [text("a"), file, text("b")] })] }, "a b"],
        [{ message: [Prompt.systemMessage({ content: "s" }), assistant(text("x")), user("u")] }, "u"],
        [{ message: [Prompt.userMessage({ content: [file] })] }, undefined],
        [{ message: "x", title: "Mine" }, "Mine"],
        [{ message: "x", title: "" }, ""]
      ]
      for (const [options, title] of cases) {
        const { thread } = yield* fresh(Effect.scoped(Conversation.begin({ ...key, ...options })))
        assert.deepStrictEqual([thread.title, "title" in thread], [title, title !== undefined])
      }
      const { thread } = yield* fresh(Effect.scoped(Conversation.begin({ ...key, message: long })))
      assert.isAtMost(thread.title!.length, 61)
      assert.isTrue(long.startsWith(thread.title!.replace("…", "")))
      // A thread that the user has seen, or that has no message, is not created.
      for (const options of [{ message: "x", version: 0 }, {}]) {
        const error = yield* Effect.flip(fresh(Effect.scoped(Conversation.begin({ ...key, ...options }))))
        assert.strictEqual(error._tag, "ThreadNotFound")
      }
    }))

  it.effect("is held until it has ended, however it ends", () =>
    Effect.gen(function*() {
      const begin = Effect.scoped(Conversation.begin({ ...key, message: "x" }))
      yield* Effect.scoped(
        Effect.gen(function*() {
          const turn = yield* Conversation.begin({ ...key, message: "x" })
          assert.isTrue(turn.thread.isRunning)
          assert.strictEqual((yield* Effect.flip(begin))._tag, "ThreadBusy")
          const ended = yield* turn.end({ transcript: turn.prompt, runId: "r" })
          assert.isFalse(ended.isRunning)
          assert.notProperty(turn, "snapshot")
          // Its scope does not release another turn's claim.
          yield* Conversation.begin({ ...key, message: "y" })
        }).pipe(Effect.andThen(Effect.asVoid(Effect.flip(begin))))
      )
      yield* begin
    }).pipe(fresh))

  it.effect("appends the transcript's new messages behind the prompt's", () =>
    Effect.gen(function*() {
      const instructions = Prompt.systemMessage({ content: "Help." })
      const answer = assistant(text("A"))
      const stored = (prompt: Prompt.Prompt) =>
        Conversation.toPrompt(
          Conversation.toEvents(prompt.content).map((event, n) => ({ position: n + 1, at: 0, event }))
        )
      const transcripts: Readonly<Record<string, (prompt: Prompt.Prompt) => Prompt.Prompt>> = {
        "the very messages": ({ content }) => Prompt.fromMessages([instructions, ...content, answer]),
        "equal messages": (prompt) => Prompt.fromMessages([instructions, ...stored(prompt).content, answer]),
        "equal messages alone": (prompt) => Prompt.fromMessages([...stored(prompt).content, answer]),
        "some of the messages": (prompt) =>
          Prompt.fromMessages([instructions, ...stored(prompt).content.slice(1), answer])
      }
      for (const [name, transcriptOf] of Object.entries(transcripts)) {
        const told = yield* fresh(Effect.gen(function*() {
          yield* after(
            "one",
            ({ content }) => ({ transcript: Prompt.fromMessages([...content, assistant(text("1"))]) })
          )
          return yield* after("two", (prompt) => ({ transcript: transcriptOf(prompt) }))
        }))
        const all = ["user one", "assistant 1", "user two", "assistant A"]
        assert.deepStrictEqual(told, { sent: all, shown: all }, name)
      }
      // An answer without new messages, and a conversation that did not start.
      const nothing = yield* fresh(after("one", (prompt) => ({ transcript: prompt })))
      assert.deepStrictEqual(nothing.sent, ["user one"])
      const empty = yield* fresh(after("", () => ({ transcript: Prompt.fromMessages([instructions, answer]) })))
      assert.deepStrictEqual(empty.shown.at(-1), "assistant A")
    }))

  it.effect("forgets failed calls for the model, except possible effects", () =>
    Effect.gen(function*() {
      const rounds = [
        ["ok", false, "fine"],
        ["odd", true, "no object"],
        ["none", true, null],
        ["list", true, [{ code: "outcome_unknown" }]],
        ["busy", true, { code: "rate_limited" }],
        ["number", true, { code: 7 }],
        ["unknown", true, { code: "outcome_unknown" }],
        ["part", true, { code: "partial_success" }]
      ] as const
      const transcriptOf = ({ content }: Prompt.Prompt) =>
        Prompt.fromMessages([
          ...content,
          ...rounds.flatMap(([id, isFailure, said]) => [assistant(call(id)), result(id, isFailure, said)]),
          assistant(text("done"))
        ])
      const all = ["user go", ...rounds.flatMap(([id]) => [`assistant ${id}`, `tool ${id}`]), "assistant done"]
      const kept = (...ids: ReadonlyArray<string>) =>
        all.filter((line) => /^user|done$/.test(line) || ids.includes(line.split(" ")[1]!))
      const forgets = yield* fresh(after("go", (prompt) => ({ transcript: transcriptOf(prompt) })))
      assert.deepStrictEqual(forgets, { sent: kept("ok", "unknown", "part"), shown: all })
      const keeps = yield* fresh(after("go", (prompt) => ({ transcript: transcriptOf(prompt), failedCalls: "keep" })))
      assert.deepStrictEqual(keeps, { sent: all, shown: all })
    }))

  it.effect("appends messages before the waiting answer, of any inner agent", () =>
    Effect.gen(function*() {
      const round = (...ids: ReadonlyArray<string>) => ({ calls: ids.map((id) => ({ id })), nested: [] })
      const snapshots: ReadonlyArray<readonly [object, ReadonlyArray<string>]> = [
        [{ round: round("b") }, ["user go", "assistant a", "tool a"]],
        [{ round: round("a", "b") }, ["user go"]],
        [{ round: round("other") }, ["user go", "assistant a", "tool a", "assistant said,b"]],
        [{}, ["user go", "assistant a", "tool a", "assistant said,b"]],
        [{ steps: {}, round: { calls: [{ id: "a" }], nested: [{ snapshot: { round: round("b") } }] } }, [
          "user go",
          "assistant a",
          "tool a"
        ]],
        [{ steps: {} }, ["user go", "assistant a", "tool a", "assistant said,b"]]
      ]
      for (const [snapshot, shown] of snapshots) {
        const told = yield* fresh(after("go", ({ content }) => ({
          transcript: Prompt.fromMessages([
            ...content,
            assistant(call("a")),
            result("a", true, { code: "busy" }),
            assistant(text("said"), call("b"))
          ]),
          snapshot: snapshot as never
        })))
        assert.deepStrictEqual(told.shown, shown, JSON.stringify(snapshot))
      }
    }))

  it.effect("keeps the model's replacement of the beginning, without own instructions", () =>
    Effect.gen(function*() {
      const own = Prompt.systemMessage({ content: "Help." })
      const summary = user("in short")
      const of = (count: number) => (prompt: Prompt.Prompt): Conversation.EndOptions => ({
        transcript: Prompt.fromMessages([
          own,
          ...prompt.content,
          assistant(text("A")),
          user("and"),
          assistant(text("B"))
        ]),
        compacted: { count, prompt: Prompt.fromMessages([own, Prompt.systemMessage({ content: "Other." }), summary]) }
      })
      const told = (count: number) =>
        fresh(Effect.gen(function*() {
          yield* after(
            "one",
            ({ content }) => ({ transcript: Prompt.fromMessages([...content, assistant(text("1"))]) })
          )
          return yield* after("two", of(count))
        }))
      const shown = ["user one", "assistant 1", "user two", "assistant A", "user and", "assistant B"]
      const behind = ["assistant A", "user and", "assistant B"]
      const head = ["system Other.", "user in short"]
      // The transcript is the instructions, three messages of the conversation, and three of the run.
      assert.deepStrictEqual(yield* told(3), { sent: [...head, "user two", ...behind], shown })
      assert.deepStrictEqual(yield* told(4), { sent: [...head, ...behind], shown })
      assert.deepStrictEqual(yield* told(6), { sent: [...head, "assistant B"], shown })
    }))
})
