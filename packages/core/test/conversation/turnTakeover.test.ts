/** Turns that are taken over: another process stores the end of a run, and the thread has it once. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Effect, type Scope } from "effect"
import { Prompt } from "effect/ai"

const chat = { owner: "ada", thread: "t1" }
const said = (prompt: Prompt.Prompt, text: string) =>
  Prompt.fromMessages([...prompt.content, Prompt.assistantMessage({ content: [Prompt.textPart({ text })] })])
const read = Effect.flatMap(Conversation.Conversations, (store) => store.read(chat))
const roles = Effect.map(read, ({ entries }) => Conversation.toPrompt(entries).content.map(({ role }) => role))
const given = <A, E>(
  effect: Effect.Effect<A, E, Conversation.Conversations | Scope.Scope>
): Effect.Effect<A, E> => Effect.provide(Effect.scoped(effect), Conversation.layerMemory)

describe("a turn with takeOver", () => {
  it.effect("claims the thread of the same run", () =>
    Effect.gen(function*() {
      yield* Conversation.begin({ ...chat, message: "A", runId: "r1" })
      const before = (yield* read).claim?.id
      const next = yield* Conversation.begin({ ...chat, runId: "r1", takeOver: true })
      const after = (yield* read).claim?.id
      assert.isDefined(before)
      assert.isDefined(after)
      assert.notStrictEqual(after, before)
      yield* next.end({ transcript: said(next.prompt, "one"), runId: "r1" })
      assert.isFalse((yield* read).thread.isRunning)
      assert.deepStrictEqual(yield* roles, ["user", "assistant"])
    }).pipe(given))

  it.effect("claims the thread of an earlier turn that took over", () =>
    Effect.gen(function*() {
      yield* Conversation.begin({ ...chat, message: "A", runId: "r1" })
      yield* Conversation.begin({ ...chat, runId: "r1", takeOver: true })
      const before = (yield* read).claim?.id
      yield* Conversation.begin({ ...chat, runId: "r1", takeOver: true })
      assert.notStrictEqual((yield* read).claim?.id, before)
    }).pipe(given))

  for (const [name, runId] of [["another run", "r2"], ["a run without an id", undefined]] as const) {
    it.effect(`leaves the claim of ${name}`, () =>
      Effect.gen(function*() {
        yield* Conversation.begin({ ...chat, message: "A", runId })
        const { claim } = yield* read
        const busy = yield* Effect.flip(Conversation.begin({ ...chat, runId: "r1", takeOver: true }))
        assert.strictEqual(busy._tag, "ThreadBusy")
        assert.strictEqual((busy as Conversation.ThreadBusy).freeAt, claim?.until)
        assert.deepStrictEqual((yield* read).claim, claim)
      }).pipe(given))
  }

  it.effect("leaves the claim of its run if it is not set", () =>
    Effect.gen(function*() {
      yield* Conversation.begin({ ...chat, message: "A", runId: "r1" })
      assert.strictEqual((yield* Effect.flip(Conversation.begin({ ...chat, runId: "r1" })))._tag, "ThreadBusy")
    }).pipe(given))

  for (const first of ["earlier", "later"] as const) {
    it.effect(`stores the end once if the ${first} turn stores it first`, () =>
      Effect.gen(function*() {
        const earlier = yield* Conversation.begin({ ...chat, message: "A", runId: "r1" })
        const later = yield* Conversation.begin({ ...chat, runId: "r1", takeOver: true })
        const end = (turn: Conversation.Turn) => turn.end({ transcript: said(turn.prompt, "one"), runId: "r1" })
        for (const turn of first === "earlier" ? [earlier, later] : [later, earlier]) yield* end(turn)
        assert.deepStrictEqual(yield* roles, ["user", "assistant"])
        assert.isFalse((yield* read).thread.isRunning)
      }).pipe(given))
  }

  it.effect("stores the end of the run once despite a later message", () =>
    Effect.gen(function*() {
      const earlier = yield* Conversation.begin({ ...chat, message: "A", runId: "r1" })
      const later = yield* Conversation.begin({ ...chat, runId: "r1", takeOver: true })
      yield* later.end({ transcript: said(later.prompt, "one"), runId: "r1" })
      yield* Conversation.begin({ ...chat, message: "B", runId: "r2" })
      const { claim } = yield* read
      yield* earlier.end({ transcript: said(earlier.prompt, "one"), runId: "r1" })
      assert.deepStrictEqual(yield* roles, ["user", "assistant", "user"])
      assert.deepStrictEqual((yield* read).claim, claim)
    }).pipe(given))

  it.effect("keeps the messages of a second execution of the run", () =>
    Effect.gen(function*() {
      const store = yield* Conversation.Conversations
      const late = yield* Conversation.begin({ ...chat, message: "A", runId: "r1" })
      yield* store.renew(chat, { id: (yield* read).claim?.id ?? "", lease: 0 as never })
      const again = yield* Conversation.begin({ ...chat, message: "A", runId: "r1" })
      yield* late.end({ transcript: said(late.prompt, "one"), runId: "r1" })
      yield* again.end({ transcript: said(again.prompt, "two"), runId: "r1" })
      const { entries } = yield* read
      const text = JSON.stringify(Conversation.toPrompt(entries).content)
      assert.include(text, "one")
      assert.include(text, "two")
    }).pipe(given))
})
