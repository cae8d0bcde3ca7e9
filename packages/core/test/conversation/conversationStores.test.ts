/** Stores of conversations follow their service, in random programs, against a short model of it. */
import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Duration, Effect, Layer } from "effect"
import { Prompt } from "effect/ai"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import { random } from "../support/kit.ts"

type Store = Conversation.Conversations["Service"]

const stores: Readonly<Record<string, Layer.Layer<Conversation.Conversations, unknown>>> = {
  "in memory": Conversation.layerMemory,
  "in a key/value store": Conversation.layerKeyValueStore().pipe(Layer.provide(KeyValueStore.layerMemory))
}

const text = (said: string) => Prompt.textPart({ text: said })
const user = (said: string) => Prompt.userMessage({ content: [text(said)] })
const told = Prompt.toolMessage({
  content: [Prompt.toolResultPart({ id: "c", name: "t", isFailure: false, result: "needle", providerExecuted: false })]
})

/** Events, and true if a search for a needle finds them. */
const pieces: ReadonlyArray<readonly [Conversation.Event, boolean]> = [
  [Conversation.toEvents([user("A NEEDLE in it")])[0]!, true],
  [Conversation.toEvents([Prompt.assistantMessage({ content: [text("hay"), text("needles")] })])[0]!, true],
  [Conversation.toEvents([user("needle")], "people")[0]!, true],
  [Conversation.toEvents([user("needle")], "model")[0]!, false],
  [Conversation.toEvents([Prompt.systemMessage({ content: "needle" })])[0]!, false],
  [Conversation.toEvents([told])[0]!, false],
  [Conversation.toEvents([user("need"), user("le")])[0]!, false],
  [{ _tag: "ToolCallsPruned", calls: ["needle"] }, false],
  [
    { _tag: "HistoryCompacted", through: 0, by: Conversation.toEvents([user("needle")]).map(({ message }) => message) },
    false
  ]
]

/** A thread as the documentation of the service has it. */
interface Model {
  readonly thread: {
    readonly id: string
    readonly owner: string
    readonly createdAt: number
    title?: string
    updatedAt: number
  }
  readonly entries: Array<Conversation.Entry>
  held: { readonly id: string; until: number } | undefined
  snapshot: unknown
}

const shownOf = ({ entries, held, snapshot, thread }: Model, now: number) => ({
  ...thread,
  version: entries.length,
  isRunning: held !== undefined && held.until > now,
  isWaiting: snapshot !== undefined
})

const owners = ["ada", "bob"]
const ids = ["1", "2", "it's %_\\ \"3\" 🧵"]
const claims = ["one", "two"]
const lease = Duration.seconds(10)

/** One step of a program: the request to a store, and its expected answer. */
const drawn = (
  pick: <A>(of: ReadonlyArray<A>) => A,
  all: Map<string, Model>,
  now: number
): readonly [name: string, ask: (store: Store) => Effect.Effect<unknown, unknown>, answer: unknown] => {
  const key = { owner: pick(owners), thread: pick(ids) }
  const at = `${key.owner} ${key.thread}`
  const model = all.get(at)
  const none = { _tag: "ThreadNotFound", message: `There is no thread "${key.thread}"` }
  const often = ["create", "append", "append", "append", "append", "list", "read", "renew", "renew"]
  switch (pick([...often, ...often, "rename", "delete", "purge"])) {
    case "create": {
      const title = pick([undefined, "Größe", "The Needle"])
      const made = model ?? {
        thread: {
          id: key.thread,
          owner: key.owner,
          createdAt: now,
          updatedAt: now,
          ...(title === undefined ? {} : { title })
        },
        entries: [],
        held: undefined,
        snapshot: undefined
      }
      all.set(at, made)
      return [`create ${at} ${title}`, (store) => store.create({ ...key, title }), shownOf(made, now)]
    }
    case "append": {
      const events = pick([[], [pick(pieces)], [pick(pieces), pick(pieces)]]).map(([event]) => event)
      const held = model?.held
      const version = pick([undefined, undefined, model?.entries.length, 1])
      const claim = pick([undefined, ...claims.map((id) => ({ id, lease }))])
      const release = pick([undefined, ...claims])
      const holds = pick([undefined, undefined, undefined, ...claims])
      const snapshot = pick([undefined, null, { s: 1 }])
      const runId = pick([undefined, "run"])
      const options = { ...key, events, version, claim, holds, release, snapshot, runId }
      const ask = (store: Store) => store.append(options as Conversation.AppendOptions)
      const name = `append ${JSON.stringify({ ...options, events: events.length })}`
      if (model === undefined) return [name, ask, none]
      const size = model.entries.length
      if (version !== undefined && version !== size) {
        const message = `Thread "${key.thread}" is at version ${size}, not ${version}`
        return [name, ask, { _tag: "VersionConflict", message, expected: version, actual: size }]
      }
      const isTaken = claim !== undefined && held !== undefined && held.id !== claim.id && held.id !== release &&
        held.until > now
      if (isTaken || (holds !== undefined && held?.id !== holds)) {
        const until = held === undefined
          ? ""
          : `, or at ${new Date(held.until).toISOString()} if its process has died`
        const message = `A run of thread "${key.thread}" has not ended. Try again when it has${until}`
        return [name, ask, { _tag: "ThreadBusy", message }]
      }
      for (const event of events) {
        model.entries.push({
          position: model.entries.length + 1,
          at: now,
          ...(runId === undefined ? {} : { runId }),
          event
        })
      }
      if (events.length > 0) model.thread.updatedAt = now
      if (claim !== undefined) model.held = { id: claim.id, until: now + 10_000 }
      else if (held?.id === release) model.held = undefined
      if (snapshot !== undefined) model.snapshot = snapshot ?? undefined
      return [name, ask, shownOf(model, now)]
    }
    case "list": {
      const search = pick([undefined, "", "  ", "needle", " NEEDLE ", "größe", "%", "nothing of it"])
      const limit = pick([undefined, 1, 2, 2.9, 0, -3, NaN, Infinity, 1000])
      const wanted = search?.trim().toLowerCase() ?? ""
      const size = limit === undefined || !Number.isFinite(limit) ? 50 : Math.max(1, Math.floor(limit))
      const found = [...all.values()]
        .filter(({ thread }) => thread.owner === key.owner)
        .filter(({ entries, thread: { title = "" } }) =>
          title.toLowerCase().includes(wanted) ||
          (wanted === "needle" &&
            entries.some(({ event }) => pieces.some(([one, isFound]) => one === event && isFound)))
        )
        .toSorted((a, b) => b.thread.updatedAt - a.thread.updatedAt)
      const pages: Array<ReadonlyArray<unknown>> = []
      for (let from = 0; from === 0 || from < found.length; from += size) {
        pages.push(found.slice(from, from + size).map((one) => shownOf(one, now)))
      }
      const ask = (store: Store) =>
        Effect.gen(function*() {
          const read: Array<ReadonlyArray<unknown>> = []
          for (let after: string | undefined = "no cursor"; after !== undefined;) {
            const page: Conversation.ThreadList = yield* store.list({ owner: key.owner, search, limit, after })
            read.push(page.threads)
            assert.strictEqual("next" in page, page.next !== undefined)
            after = page.next
          }
          return read
        })
      return [`list ${key.owner} ${search} ${limit}`, ask, pages]
    }
    case "read": {
      const after = pick([undefined, 0, 1, 2, 50])
      return [
        `read ${at} ${after}`,
        (store) => store.read({ ...key, after }),
        model === undefined ? none : {
          thread: shownOf(model, now),
          entries: model.entries.filter(({ position }) => position > (after ?? 0)),
          ...(model.snapshot === undefined ? {} : { snapshot: model.snapshot }),
          ...(model.held === undefined || model.held.until <= now ? {} : { claim: model.held })
        }
      ]
    }
    case "rename": {
      const title = pick(["Needlework", ""])
      if (model !== undefined) Object.assign(model.thread, { title, updatedAt: now })
      return [
        `rename ${at}`,
        (store) => store.rename({ ...key, title }),
        model === undefined ? none : shownOf(model, now)
      ]
    }
    case "delete": {
      all.delete(at)
      return [`delete ${at}`, (store) => store.delete(key), model === undefined ? none : undefined]
    }
    case "renew": {
      const claim = { id: pick(claims), lease }
      const isHeld = model?.held?.id === claim.id
      if (isHeld) model!.held!.until = now + 10_000
      return [`renew ${at} ${claim.id}`, (store) => store.renew(key, claim), isHeld]
    }
    default: {
      const millis = pick([0, 3_000, 3_600_000])
      const old = [...all].filter(([, one]) => one.thread.updatedAt <= now - millis && !shownOf(one, now).isRunning)
      for (const [at] of old) all.delete(at)
      return [`purge ${millis}`, (store) => store.purge(millis), old.length]
    }
  }
}

for (const [name, layer] of Object.entries(stores)) {
  describe(`conversations ${name}`, () => {
    it.effect.each([0, 4, 8, 12, 16, 20])(
      "answer each operation as their service says: programs from %i on",
      (first) =>
        Effect.gen(function*() {
          for (let seed = first; seed < first + 4; seed++) {
            const next = random(seed)
            const pick = <A>(of: ReadonlyArray<A>): A => of[Math.floor(next() * of.length)]!
            const all = new Map<string, Model>()
            const done: Array<string> = []
            let now = 1_000_000
            const program = Effect.gen(function*() {
              const store = yield* Conversation.Conversations
              for (let step = 0; step < 50; step++) {
                now += pick([1, 500, 10_000])
                yield* TestClock.setTime(now)
                const [name, ask, answer] = drawn(pick, all, now)
                done.push(name)
                const told = yield* Effect.match(ask(store), {
                  onSuccess: (value) => value,
                  onFailure: (error) => {
                    const { _tag, actual, expected, message } = error as Conversation.VersionConflict
                    return { _tag, message, ...(actual === undefined ? {} : { actual, expected }) }
                  }
                })
                assert.deepStrictEqual(told, answer, `seed ${seed}: ${done.join("; ")}`)
              }
            })
            yield* Effect.provide(program, Layer.fresh(layer))
          }
        })
    )

    it.effect("list behind each thread those with earlier or equal update times", () =>
      Effect.gen(function*() {
        const store = yield* Conversation.Conversations
        for (let n = 0; n < 12; n++) {
          yield* TestClock.setTime(1_700_000_000_000 + Math.floor(n / 2))
          yield* store.create({ owner: "ada", thread: `${n}` })
        }
        const { threads } = yield* store.list({ owner: "ada" })
        assert.deepStrictEqual(
          threads.map(({ updatedAt }) => updatedAt - 1_700_000_000_000),
          [5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0]
        )
        const read: Array<string> = []
        let after: string | undefined
        for (let pages = 0; pages < 13; pages++) {
          const page: Conversation.ThreadList = yield* store.list({ owner: "ada", limit: 1, after })
          read.push(...page.threads.map(({ id }) => id))
          after = page.next
          if (after === undefined) break
        }
        assert.deepStrictEqual(read, threads.map(({ id }) => id))
      }).pipe(Effect.provide(Layer.fresh(layer))))

    it.effect("give a thread to another run only after the lease", () =>
      Effect.gen(function*() {
        const store = yield* Conversation.Conversations
        const key = { owner: "ada", thread: "1", events: [] }
        yield* store.create(key)
        yield* store.append({ ...key, claim: { id: "one", lease } })
        yield* TestClock.adjust(Duration.millis(9_999))
        const busy = yield* Effect.flip(store.append({ ...key, claim: { id: "two", lease } }))
        assert.strictEqual(busy._tag, "ThreadBusy")
        yield* TestClock.adjust(Duration.millis(1))
        assert.isTrue((yield* store.append({ ...key, claim: { id: "two", lease } })).isRunning)
        assert.isFalse(yield* store.renew(key, { id: "one", lease }))
      }).pipe(Effect.provide(Layer.fresh(layer))))

    it.effect("list each thread once over pages of at most 200, also equal times", () =>
      Effect.gen(function*() {
        const store = yield* Conversation.Conversations
        for (let n = 0; n < 230; n++) yield* store.create({ owner: "ada", thread: `${n}` })
        const paged = Effect.fnUntraced(function*(limit: number | undefined) {
          const sizes: Array<number> = []
          const read: Array<string> = []
          for (let after: string | undefined = "", isFirst = true; isFirst || after !== undefined; isFirst = false) {
            const page: Conversation.ThreadList = yield* store.list({ owner: "ada", limit, after })
            sizes.push(page.threads.length)
            read.push(...page.threads.map(({ id }) => id))
            after = page.next
          }
          return { sizes, read }
        })
        const whole = yield* paged(1_000)
        assert.deepStrictEqual(whole.sizes, [200, 30])
        assert.strictEqual(new Set(whole.read).size, 230)
        assert.deepStrictEqual((yield* paged(23)).read, whole.read)
        assert.deepStrictEqual((yield* paged(115)).sizes, [115, 115])
        assert.deepStrictEqual((yield* paged(undefined)).sizes, [50, 50, 50, 50, 30])
        // Threads deleted in between do not matter.
        for (let n = 0; n < 230; n += 2) yield* store.delete({ owner: "ada", thread: `${n}` })
        assert.deepStrictEqual((yield* paged(100)).read, whole.read.filter((id) => Number(id) % 2 === 1))
        yield* store.create({ owner: "ada", thread: "0" })
        yield* store.create({ owner: "ada", thread: "1" })
        assert.lengthOf((yield* paged(200)).read, 116)
        yield* TestClock.adjust("1 hour")
        assert.strictEqual(yield* store.purge(1), 116)
        assert.lengthOf((yield* paged(200)).read, 0)
      }).pipe(Effect.provide(Layer.fresh(layer))))
  })
}

describe("a key/value store that fails", () => {
  it.effect("is an error that names the operation, and no owner", () =>
    Effect.gen(function*() {
      const reason = new Error("disk full")
      const failing = KeyValueStore.make({
        get: () => Effect.fail(new KeyValueStore.KeyValueStoreError({ method: "get", message: "x", cause: reason })),
        getUint8Array: () => Effect.die("not here"),
        set: () => Effect.die("not here"),
        remove: () => Effect.die("not here"),
        clear: Effect.die("not here"),
        size: Effect.die("not here"),
        keys: Effect.die("not here")
      })
      const key = { owner: "ada-secret", thread: "t" }
      const claim = { id: "c", lease }
      yield* Effect.gen(function*() {
        const store = yield* Conversation.Conversations
        const operations: Readonly<Record<string, Effect.Effect<unknown, unknown>>> = {
          create: store.create(key),
          list: store.list(key),
          read: store.read(key),
          rename: store.rename({ ...key, title: "x" }),
          delete: store.delete(key),
          append: store.append({ ...key, events: [] }),
          renew: store.renew(key, claim),
          purge: store.purge(0)
        }
        for (const [operation, effect] of Object.entries(operations)) {
          const error = yield* Effect.flip(effect)
          assert.instanceOf(error, Conversation.ConversationError)
          const { message, operation: named } = error as Conversation.ConversationError
          assert.deepStrictEqual([named, message], [operation, `The conversation store failed (${operation})`])
          assert.notProperty(error, "isTransient")
          assert.notInclude(String(error), "ada-secret")
        }
      }).pipe(
        Effect.provide(
          Conversation.layerKeyValueStore().pipe(Layer.provide(Layer.succeed(KeyValueStore.KeyValueStore, failing)))
        )
      )
    }))
})

describe("readings of a thread", () => {
  it("show people their messages with the run of each", () => {
    const entry = (position: number, event: Conversation.Event, runId?: string): Conversation.Entry => ({
      position,
      at: position * 10,
      event,
      ...(runId === undefined ? {} : { runId })
    })
    const shown = Conversation.visibleMessages(
      pieces.map(([event], n) => entry(n + 1, event, n === 1 ? "run" : undefined))
    )
    assert.deepStrictEqual(
      shown.map(({ at, message, position, runId }) => [position, at, message.role, runId]),
      [
        [1, 10, "user", undefined],
        [2, 20, "assistant", "run"],
        [3, 30, "user", undefined],
        [6, 60, "tool", undefined],
        [
          7,
          70,
          "user",
          undefined
        ]
      ]
    )
    assert.deepStrictEqual(shown.map((one) => "runId" in one), [false, true, false, false, false])
  })

  it("show the model its messages, with replacements before later ones", () => {
    const of = (...events: ReadonlyArray<Conversation.Event>) =>
      Conversation.toPrompt(events.map((event, n) => ({ position: n + 1, at: 0, event }))).content.map((
        { content, role }
      ) =>
        `${role} ${
          typeof content === "string" ? content : content.map((part) => part.type === "text" ? part.text : "")
        }`
      )
    const [one] = Conversation.toEvents([user("1")])
    const [two] = Conversation.toEvents([user("2")], "people")
    const [three] = Conversation.toEvents([user("3")], "model")
    const [four] = Conversation.toEvents([Prompt.assistantMessage({ content: [text("4")] })])
    const by = (through: number, ...said: ReadonlyArray<string>): Conversation.Event => ({
      _tag: "HistoryCompacted",
      through,
      by: Conversation.toEvents(said.map(user)).map(({ message }) => message)
    })
    assert.deepStrictEqual(of(one!, two!, three!, four!), ["user 1", "user 3", "assistant 4"])
    assert.deepStrictEqual(of(one!, three!, by(1, "s"), four!), ["user s", "user 3", "assistant 4"])
    assert.deepStrictEqual(of(one!, by(0, "s"), three!), ["user s", "user 1", "user 3"])
    assert.deepStrictEqual(of(one!, three!, by(2, "s", "t"), four!, by(3, "u")), ["user u", "assistant 4"])
    // A replacement of entries is removed when others replace those.
    assert.deepStrictEqual(of(one!, three!, by(2, "s"), by(1, "u")), ["user u", "user s"])
    assert.deepStrictEqual(of(one!, by(1), four!), ["assistant 4"])
  })
})

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
