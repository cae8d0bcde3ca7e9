/** Stores of conversations follow their service, in random programs, against a short model of it. */

import { assert, describe, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Duration, Effect, Layer } from "effect"
import { KeyValueStore } from "effect/persistence"
import { TestClock } from "effect/testing"
import { random } from "../support/kit.ts"
import { pieces } from "../support/drawnConversations.ts"

type Store = Conversation.Conversations["Service"]

const stores: Readonly<Record<string, Layer.Layer<Conversation.Conversations, unknown>>> = {
  "in memory": Conversation.layerMemory,
  "in a key/value store": Conversation.layerKeyValueStore().pipe(Layer.provide(KeyValueStore.layerMemory))
}

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
      const requiredClaim = pick([undefined, undefined, undefined, ...claims])
      const snapshot = pick([undefined, null, { s: 1 }])
      const runId = pick([undefined, "run"])
      const options = { ...key, events, version, claim, requiredClaim, release, snapshot, runId }
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
      if (isTaken || (requiredClaim !== undefined && held?.id !== requiredClaim)) {
        const until = held === undefined
          ? ""
          : `, or at ${new Date(held.until).toISOString()} if its process has died`
        const message =
          `A run of thread "${key.thread}" is active or waits for a decision. Try again when it has ended${until}`
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
