/** The index of an owner's threads in a key/value store: pages of 64, of which one is written for each thread that is made or deleted. */
import { assert, it } from "@effect/vitest"
import { Conversation } from "@recourse/core"
import { Effect, Layer } from "effect"
import { KeyValueStore } from "effect/persistence"

/** A store, with its content and its writes. */
const observed = () => {
  const held = new Map<string, string>()
  const written: Array<string> = []
  const layer = Layer.effect(
    KeyValueStore.KeyValueStore,
    Effect.map(KeyValueStore.KeyValueStore, (store) => ({
      ...store,
      set: (key: string, value: string | Uint8Array) => {
        written.push(key)
        held.set(key, String(value))
        return store.set(key, value)
      }
    }))
  ).pipe(Layer.provide(KeyValueStore.layerMemory))
  /** The pages of the one owner there is, by their names. */
  const pages = () =>
    [...held].flatMap(([key, value]) => {
      const page = /owner\/[0-9a-f]{64}(?:\/(\d+))?$/.exec(key)
      return page === null ? [] : [[Number(page[1] ?? 0), (JSON.parse(value) as ReadonlyArray<string>).length] as const]
    })
  /** The pages that were written since it was asked last. */
  const ofIndex = () => written.splice(0).flatMap((key) => /owner\/[0-9a-f]{64}(.*)$/.exec(key)?.[1] ?? [])
  return { layer, ofIndex, pages }
}

const key = (n: number) => ({ owner: "ada", thread: `t${n}` })

it.effect("threads fill one page after another, and each is written once", () => {
  const { layer, ofIndex, pages } = observed()
  return Effect.gen(function*() {
    const { create, delete: remove, list } = yield* Conversation.Conversations
    const made = (from: number, to: number) =>
      Effect.forEach(Array.from({ length: to - from }), (_, n) => create(key(from + n)))
    yield* made(0, 64)
    assert.deepStrictEqual(pages(), [[0, 64]])
    ofIndex()
    yield* create(key(64))
    assert.deepStrictEqual(ofIndex(), ["/1", "/last"])
    yield* create(key(65))
    assert.deepStrictEqual(ofIndex(), ["/1"])
    yield* create(key(65))
    assert.deepStrictEqual(ofIndex(), [], "a thread that is there is not written again")
    yield* made(66, 129)
    assert.deepStrictEqual(pages(), [[0, 64], [1, 64], [2, 1]])
    ofIndex()
    yield* remove(key(70))
    assert.deepStrictEqual(ofIndex(), ["/1"])
    yield* remove(key(0))
    assert.deepStrictEqual(ofIndex(), [""])
    assert.deepStrictEqual(pages(), [[0, 63], [1, 63], [2, 1]])
    const { threads } = yield* list({ owner: "ada", limit: 200 })
    assert.strictEqual(new Set(threads.map(({ id }) => id)).size, 127)
  }).pipe(Effect.provide(Conversation.layerKeyValueStore().pipe(Layer.provide(layer))))
})

it.effect("a page behind an invalid cursor starts at the beginning", () =>
  Effect.gen(function*() {
    const { create, list } = yield* Conversation.Conversations
    yield* Effect.forEach([0, 1, 2], (n) => create(key(n)))
    const first = yield* list({ owner: "ada", limit: 1 })
    const next = first.next ?? assert.fail("there are more")
    assert.strictEqual((yield* list({ owner: "ada", after: next })).threads.length, 2)
    for (const after of [`0${"1".repeat(15)}${next}`, `x${next}`, `${next}0`, "", "1.2", next.toUpperCase() + "!"]) {
      assert.strictEqual((yield* list({ owner: "ada", after })).threads.length, 3, after)
    }
  }).pipe(Effect.provide(Conversation.layerMemory)))
