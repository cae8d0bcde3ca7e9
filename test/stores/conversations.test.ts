/** Conversations on each store: the same operations have the same answers, and of several processes one holds a thread. */
import { Agent, Conversation } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { Duration, Effect, Exit, Layer } from "effect"
import { Prompt } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { sqlLayer } from "../support/connections.ts"
import { forLeases } from "../support/forLeases.ts"
import { sqlDatabases } from "../support/servers.ts"

const events = (...texts: ReadonlyArray<string>) =>
  texts.flatMap((text) => Conversation.toEvents(Prompt.make(text).content))
const claim = (id: string, lease: Duration.Input = "10 seconds") => ({ id, lease: Duration.fromInputUnsafe(lease) })
const tagOf = <A, E extends { readonly _tag: string }>(exit: Exit.Exit<A, E>) =>
  Exit.match(exit, { onSuccess: () => "ok", onFailure: ({ reasons: [reason] }) => (reason as { error: E }).error._tag })

type Place = { readonly layer: () => Layer.Layer<Conversation.Conversations, unknown>; readonly isShared: boolean }

const stores: ReadonlyArray<
  { readonly name: string; readonly open: () => Promise<Place & { close(): Promise<void> }> }
> = [
  {
    name: "the memory of the process",
    open: () => {
      const memory = Layer.effectContext(Layer.build(Conversation.layerMemory).pipe(Effect.scoped))
      return Promise.resolve({ layer: () => memory, isShared: false, close: () => Promise.resolve() })
    }
  },
  {
    name: "a key/value store",
    open: () => {
      const memory = Layer.effectContext(Layer.build(KeyValueStore.layerMemory).pipe(Effect.scoped))
      return Promise.resolve({
        layer: () => Conversation.layerKeyValueStore().pipe(Layer.provide(memory)),
        isShared: false,
        close: () => Promise.resolve()
      })
    }
  },
  ...sqlDatabases.map(({ name, open, isShared }) => ({
    name,
    open: async () => {
      const { address, close } = await open()
      const sql = sqlLayer(address)
      // PGlite is one process: it has one client.
      return {
        layer: () => Layer.fresh(Conversation.layerSql().pipe(Layer.provide(isShared ? Layer.fresh(sql) : sql))),
        isShared,
        close
      }
    }
  }))
]

for (const store of stores) {
  describe(`on ${store.name}`, () => {
    let place: Awaited<ReturnType<typeof store.open>>
    beforeAll(async () => {
      place = await store.open()
    }, 30_000)
    afterAll(() => place.close(), 30_000)
    let runs = 0
    // Each run has owners of its own: its rows do not affect the next run.
    const live = (
      name: string,
      test: (owned: (owner: string) => string) => Effect.Effect<unknown, unknown, Conversation.Conversations>
    ) =>
      it.live(name, () =>
        Effect.suspend(() => {
          const run = ++runs
          return test((owner) => `${owner} ${run}`)
        }).pipe(Effect.provide(Layer.suspend(() => place.layer()))), 30_000)

    live(
      "texts are kept with each of their characters, and are found by those that a search has",
      (owned) =>
        Effect.gen(function*() {
          const { append, create, list, read, rename } = yield* Conversation.Conversations
          const key = { owner: owned("ada"), thread: "odd" }
          const odd = "pasted\u0000text \u202e 😀 \ud800"
          yield* create({ ...key, title: odd })
          yield* append({ ...key, events: events(odd, "a\u0000b"), runId: "r" })
          assert.deepStrictEqual((yield* read(key)).entries.map(({ event }) => event), events(odd, "a\u0000b"))
          yield* rename({ ...key, title: "new\u0000 title" })
          const found = (search: string) =>
            Effect.map(list({ owner: key.owner, search }), ({ threads }) => threads.length)
          assert.deepStrictEqual([yield* found("pasted"), yield* found("😀"), yield* found("\u0000")], [1, 1, 1])
          assert.strictEqual(yield* found("elsewhere"), 0)
        })
    )

    live("a thread is made once, appended to in order, and read by its owner alone", (owned) =>
      Effect.gen(function*() {
        const { append, create, delete: remove, list, read, rename, renew } = yield* Conversation.Conversations
        const ada = { owner: owned("ada"), thread: "it's \"7\" 🧵 %_!" }
        const bob = { owner: owned("bob"), thread: ada.thread }
        const made = yield* create({ ...ada, title: "Größe" })
        assert.deepStrictEqual([made.id, made.owner, made.title, made.version], [ada.thread, ada.owner, "Größe", 0])
        assert.strictEqual((yield* create({ ...ada, title: "Other" })).title, "Größe")
        assert.strictEqual(tagOf(yield* Effect.exit(read(bob))), "ThreadNotFound")
        assert.strictEqual(tagOf(yield* Effect.exit(append({ ...bob, events: events("x") }))), "ThreadNotFound")
        assert.strictEqual(tagOf(yield* Effect.exit(rename({ ...bob, title: "x" }))), "ThreadNotFound")
        assert.strictEqual(tagOf(yield* Effect.exit(remove(bob))), "ThreadNotFound")
        assert.isFalse(yield* renew(bob, claim("one")))
        assert.deepStrictEqual((yield* list({ owner: ada.owner })).threads, [made])
        assert.notProperty(yield* create({ ...ada, thread: "untitled" }), "title")
        yield* remove({ ...ada, thread: "untitled" })

        const { createdAt, updatedAt, version } = yield* append({
          ...ada,
          version: 0,
          events: events("1", "2"),
          runId: "r"
        })
        assert.strictEqual(version, 2)
        assert.isAtLeast(updatedAt, createdAt)
        const conflict = yield* Effect.flip(append({ ...ada, version: 1, events: events("never") }))
        assert.deepStrictEqual({ ...conflict }, {
          ...new Conversation.VersionConflict({ thread: ada.thread, expected: 1, actual: 2 })
        })
        yield* append({ ...ada, events: [...events("3"), { _tag: "ToolCallsPruned", calls: ["c"] }] })
        const { entries } = yield* read(ada)
        assert.deepStrictEqual(entries.map(({ position }) => position), [1, 2, 3, 4])
        assert.deepStrictEqual(entries.map(({ runId }) => runId), ["r", "r", undefined, undefined])
        assert.deepStrictEqual(entries.map(({ event }) => event), [
          ...events("1", "2", "3"),
          { _tag: "ToolCallsPruned", calls: ["c"] }
        ])
        assert.deepStrictEqual((yield* read({ ...ada, after: 3 })).entries.map(({ position }) => position), [4])
        assert.strictEqual((yield* rename({ ...ada, title: "New" })).title, "New")

        const titled = (search: string) =>
          Effect.map(list({ owner: ada.owner, search }), ({ threads }) => threads.length)
        assert.deepStrictEqual([yield* titled("new"), yield* titled("größe")], [1, 0])

        const before = (yield* read(ada)).thread.updatedAt
        yield* Effect.sleep(3)
        const waiting = yield* append({ ...ada, events: [], snapshot: { id: "s", deep: [1, null] } })
        assert.strictEqual(waiting.updatedAt, before, "nothing was said")
        assert.deepStrictEqual((yield* read(ada)).snapshot, { id: "s", deep: [1, null] })
        assert.isTrue((yield* read(ada)).thread.isWaiting)
        assert.isTrue((yield* append({ ...ada, events: events("4") })).isWaiting)
        assert.isFalse((yield* append({ ...ada, events: [], snapshot: null })).isWaiting)

        yield* remove(ada)
        assert.strictEqual(tagOf(yield* Effect.exit(read(ada))), "ThreadNotFound")
        assert.deepStrictEqual((yield* list({ owner: owned("ada") })).threads, [])
        yield* create(ada)
        assert.deepStrictEqual((yield* read(ada)).entries, [], "nothing of a deleted thread comes back")
      }))

    live("threads are listed by owner, the latest first, by pages, and searched", (owned) =>
      Effect.gen(function*() {
        const { append, create, list } = yield* Conversation.Conversations
        for (let n = 0; n < 7; n++) {
          yield* create({ owner: owned("eve"), thread: `t${n}`, title: `Thread ${n}` })
          yield* Effect.sleep(3)
        }
        yield* create({ owner: owned("mallory"), thread: "t0", title: "Thread 0" })
        yield* append({ owner: owned("eve"), thread: "t3", events: events("50% off_ÄPFEL!") })
        yield* Effect.sleep(3)
        yield* append({
          owner: owned("eve"),
          thread: "t4",
          events: Conversation.toEvents(Prompt.make("a secret of the prompt").content, "model")
        })
        const found: Array<string> = []
        let after: string | undefined
        do {
          const page: Conversation.ThreadList = yield* list({ owner: owned("eve"), limit: 3, after })
          assert.isAtMost(page.threads.length, 3)
          found.push(...page.threads.map(({ id }) => id))
          after = page.next
        } while (after !== undefined)
        assert.deepStrictEqual(found, ["t4", "t3", "t6", "t5", "t2", "t1", "t0"])
        assert.notProperty(yield* list({ owner: owned("eve"), limit: 7 }), "next")
        assert.property(yield* list({ owner: owned("eve"), limit: 6 }), "next")
        const search = (search: string) =>
          Effect.map(list({ owner: owned("eve"), search }), ({ threads }) => threads.map(({ id }) => id))
        assert.deepStrictEqual(yield* search("50% OFF_äpfel!"), ["t3"])
        assert.deepStrictEqual(yield* search("50%%"), [])
        assert.deepStrictEqual(yield* search("5_%"), [])
        assert.deepStrictEqual(yield* search("thread 6"), ["t6"])
        assert.deepStrictEqual(yield* search("secret"), [], "what people are not shown is not found")
        assert.strictEqual((yield* search("  ")).length, 7)
        assert.deepStrictEqual(yield* search("' OR 1=1 --"), [])
        assert.strictEqual((yield* list({ owner: owned("eve"), after: "' OR 1=1" })).threads.length, 7)
      }))

    live(
      "threads of everybody that are old are purged with all that is of them; one that a run holds stays",
      (owned) =>
        Effect.gen(function*() {
          const { append, create, list, read } = yield* Conversation.Conversations
          const keys = ["a", "b", "held"].map((thread) => ({ owner: owned(`purged ${thread}`), thread }))
          for (const key of keys) {
            yield* create(key)
            yield* append({ ...key, events: events("1", "2"), snapshot: { id: "s" } })
          }
          const [a, b, held] = keys as [Conversation.ThreadKey, Conversation.ThreadKey, Conversation.ThreadKey]
          yield* append({ ...held, events: [], claim: claim("run", "10 minutes") })
          yield* Conversation.purge({ keepFor: "1 hour" })
          assert.strictEqual((yield* read(a)).entries.length, 2)
          assert.isAtLeast(yield* Conversation.purge({ keepFor: 0 }), 2)
          for (const key of [a, b]) {
            assert.strictEqual(tagOf(yield* Effect.exit(read(key))), "ThreadNotFound")
            assert.deepStrictEqual((yield* list({ owner: key.owner })).threads, [])
            yield* create(key)
            assert.deepStrictEqual((yield* read(key)).entries, [], "nothing of a purged thread comes back")
            yield* append({ ...key, events: events("new") })
            assert.strictEqual((yield* read(key)).entries.length, 1)
          }
          assert.strictEqual((yield* read(held)).entries.length, 2)
          yield* append({ ...held, events: [], release: "run" })
          assert.strictEqual(yield* Conversation.purge({ keepFor: 0 }), 3)
          assert.strictEqual(yield* Conversation.purge({ keepFor: 0 }), 0)
        })
    )

    live(
      "of many that append to one version, one does; what is appended at any version is all there",
      (owned) =>
        Effect.gen(function*() {
          const key = { owner: owned("ada"), thread: "race" }
          const { create, read } = yield* Conversation.Conversations
          yield* create(key)
          const at = (options: Partial<Conversation.AppendOptions>) =>
            Effect.flatMap(
              Conversation.Conversations,
              ({ append }) => append({ ...key, events: events("x"), ...options })
            )
          const somewhere = <A, E>(effect: Effect.Effect<A, E, Conversation.Conversations>) =>
            place.isShared ? Effect.provide(effect, place.layer()) : effect
          const exits = yield* Effect.forEach(
            [1, 2, 3, 4, 5],
            () => Effect.exit(somewhere(at({ version: 0 }))),
            { concurrency: "unbounded" }
          )
          assert.deepStrictEqual(
            exits.map((exit) => tagOf(exit as Exit.Exit<unknown, { _tag: string }>)).toSorted(),
            ["VersionConflict", "VersionConflict", "VersionConflict", "VersionConflict", "ok"]
          )
          yield* Effect.forEach(
            [1, 2, 3, 4, 5],
            (n) => somewhere(at({ events: events(`${n}a`, `${n}b`) })),
            { concurrency: "unbounded" }
          )
          const { entries, thread } = yield* read(key)
          assert.strictEqual(thread.version, 11)
          assert.deepStrictEqual(entries.map(({ position }) => position), Array.from({ length: 11 }, (_, n) => n + 1))
          const texts = Conversation.toPrompt(entries).content.map(({ content }) =>
            (content as ReadonlyArray<Prompt.TextPart>)[0]!.text
          )
          for (let n = 1; n < 11; n += 2) {
            assert.deepStrictEqual([texts[n]!.slice(1), texts[n + 1]], ["a", `${texts[n]![0]}b`], "appends do not mix")
          }
        })
    )

    live(
      "a claim holds a thread until it is given back or its lease has run out",
      (owned) =>
        forLeases((lease, attempt) =>
          Effect.gen(function*() {
            const key = { owner: owned("ada"), thread: `held ${attempt}` }
            const { append, create, read, renew } = yield* Conversation.Conversations
            yield* create(key)
            assert.isTrue((yield* append({ ...key, events: [], claim: claim("one", lease) })).isRunning)
            assert.strictEqual(
              tagOf(yield* Effect.exit(append({ ...key, events: [], claim: claim("two") }))),
              "ThreadBusy"
            )
            yield* append({ ...key, events: events("an answer of an earlier run") })
            assert.isTrue(yield* renew(key, claim("one", lease)))
            assert.isFalse(yield* renew(key, claim("two")))
            yield* Effect.sleep(lease + 200)
            assert.isFalse((yield* read(key)).thread.isRunning)
            yield* append({ ...key, events: [], claim: claim("two") })
            assert.isFalse(yield* renew(key, claim("one")))
            assert.isTrue((yield* append({ ...key, events: [], release: "one" })).isRunning)
            const replaced = append({ ...key, events: [], claim: claim("three"), release: "one" })
            assert.strictEqual(tagOf(yield* Effect.exit(replaced)), "ThreadBusy", "the claim is not the thread's")
            yield* append({ ...key, events: [], claim: claim("three"), release: "two" })
            assert.strictEqual((yield* read(key)).claim?.id, "three")
            yield* append({ ...key, events: [], claim: claim("two"), release: "three" })
            assert.isFalse((yield* append({ ...key, events: [], release: "two" })).isRunning)
          })
        )
    )

    live("of two processes that answer one thread at once, one does", (owned) =>
      Effect.gen(function*() {
        const agent = Agent.make("a", { input: Prompt.Prompt, prompt: (prompt) => prompt })
        const say = Conversation.send(agent, { owner: owned("ada"), thread: "chat", message: "Hi" }).pipe(
          Effect.provide(ScriptedModel.layer([ScriptedModel.delay("300 millis", ScriptedModel.text("Hello."))]))
        )
        const somewhere = place.isShared ? Effect.provide(say, place.layer()) : say
        const exits = yield* Effect.forEach(
          [1, 2, 3],
          () => Effect.exit(somewhere),
          { concurrency: "unbounded" }
        )
        assert.deepStrictEqual(
          exits.map((exit) => tagOf(exit as Exit.Exit<unknown, { _tag: string }>)).toSorted(),
          ["ThreadBusy", "ThreadBusy", "ok"]
        )
        const { read } = yield* Conversation.Conversations
        const { entries, thread } = yield* read({ owner: owned("ada"), thread: "chat" })
        assert.strictEqual(entries.length, 2)
        assert.isFalse(thread.isRunning)
      }))
  })
}

for (const { name, open } of sqlDatabases) {
  it.live(`a missing table's error has the statement, on ${name}`, () =>
    Effect.gen(function*() {
      const { address, close } = yield* Effect.promise(() => open())
      const sql = sqlLayer(address)
      const problem = yield* Effect.flip(
        Effect.scoped(Layer.build(Conversation.layerSql({ create: false }).pipe(Layer.provide(sql))))
      )
      assert.include(String(problem), "CREATE TABLE")
      yield* Effect.promise(close)
    }), 30_000)
}

it("prints the tables for migrations", () => {
  for (const dialect of ["pg", "sqlite", "mysql"] as const) {
    const text = Conversation.createTablesSql(dialect, { tables: { threads: "chat.threads", entries: "chat.entries" } })
    assert.include(text, dialect === "mysql" ? "`chat`.`threads`" : "\"chat\".\"threads\"")
    assert.include(text, dialect === "mysql" ? "`chat`.`entries`" : "\"chat\".\"entries\"")
    assert.deepStrictEqual(
      [...text.matchAll(/INDEX.*\((\w+)\)/g)].map(([, column]) => column),
      ["owner_hash", "updated_at", "thread_id"]
    )
    assert.strictEqual(text.match(/ id .* UNIQUE/g)?.length, 2)
  }
})
