/**
 * Index of an owner's threads in a key/value store, in pages: the cost of a new thread does not grow with the number of
 * threads.
 */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"

const Page = Schema.fromJsonString(Schema.Array(Schema.String))
const decodePage = Schema.decodeEffect(Page)

/** Maximum of threads on a page; the first one may have more, because it was once the only one. */
const size = 64

/** The keys of an owner's threads. Crashes leave keys behind of threads that there are not. */
export const ownerIndex = (store: KeyValueStore.KeyValueStore) => {
  const pageKey = (owner: string, page: number) => page === 0 ? `owner/${owner}` : `owner/${owner}/${page}`
  const lastKey = (owner: string) => `owner/${owner}/last`

  const lastOf = (owner: string) => Effect.map(store.get(lastKey(owner)), (text) => Number(text ?? 0))
  const get = (owner: string, page: number) =>
    Effect.flatMap(
      store.get(pageKey(owner, page)),
      (text) => text === undefined ? Effect.succeed<ReadonlyArray<string>>([]) : decodePage(text)
    )
  const set = (owner: string, page: number, keys: ReadonlyArray<string>) =>
    store.set(pageKey(owner, page), JSON.stringify(keys))
  const pages = (owner: string) =>
    Effect.flatMap(
      lastOf(owner),
      (last) => Effect.forEach(Array.from({ length: last + 1 }, (_, page) => page), (page) => get(owner, page))
    )

  return {
    /** Answers whether it is the first one of its page. */
    add: Effect.fnUntraced(function*(owner: string, key: string) {
      const last = yield* lastOf(owner)
      const keys = yield* get(owner, last)
      if (keys.includes(key)) return false
      const isFull = keys.length >= size
      yield* set(owner, isFull ? last + 1 : last, isFull ? [key] : [...keys, key])
      if (isFull) yield* store.set(lastKey(owner), String(last + 1))
      return isFull || keys.length === 0
    }),
    remove: Effect.fnUntraced(function*(owner: string, key: string) {
      for (const [page, keys] of (yield* pages(owner)).entries()) {
        if (keys.includes(key)) yield* set(owner, page, keys.filter((other) => other !== key))
      }
    }),
    /** Each key once. */
    all: (owner: string) => Effect.map(pages(owner), (all) => [...new Set(all.flat())])
  }
}
