/** Conversations in a key/value store of `effect/persistence`. Times are by the clock of the process. */
/* oxlint-disable max-lines -- the operations of one store */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"
import { ThreadNotFound } from "../conversationErrors.ts"
import type { AppendOptions, Conversations, ListOptions, ThreadKey } from "../conversationService.ts"
import { ownerIndex } from "./ownerIndex.ts"
import {
  claimOf,
  type Cursor,
  cursorOf,
  cursorText,
  during,
  keyHash,
  latestFirst,
  millis,
  ownerHash,
  pageSize,
  refusal,
  searched
} from "./storeParts.ts"
import { Entry, type Thread } from "../thread.ts"
import { searchText } from "../threadView.ts"

/** A stored thread. `batches` are the first positions of entries that were appended at once. */
const Stored = Schema.fromJsonString(Schema.Struct({
  id: Schema.String,
  owner: Schema.String,
  title: Schema.optionalKey(Schema.String),
  version: Schema.Int,
  createdAt: Schema.Finite,
  updatedAt: Schema.Finite,
  claim: Schema.optionalKey(Schema.String),
  leasedUntil: Schema.optionalKey(Schema.Finite),
  snapshot: Schema.optionalKey(Schema.Json),
  batches: Schema.Array(Schema.Int)
}))
type Stored = typeof Stored.Type

const Batch = Schema.fromJsonString(Schema.Array(Entry))

const decodeStored = Schema.decodeEffect(Stored)
const decodeBatch = Schema.decodeEffect(Batch)
const encodeBatch = Schema.encodeEffect(Batch)

const threadOf =
  ({ claim, createdAt, id, leasedUntil = 0, owner, snapshot, title, updatedAt, version }: Stored) =>
  (now: number): Thread => ({
    id,
    owner,
    ...(title === undefined ? undefined : { title }),
    version,
    createdAt,
    updatedAt,
    isRunning: claim !== undefined && leasedUntil > now,
    isWaiting: snapshot !== undefined
  })

/** The thread that an append makes of a thread. */
const appended = (before: Stored, options: AppendOptions, now: number): Stored => {
  const { claim, leasedUntil, snapshot, ...rest } = before
  const isReleased = claim !== undefined && claim === options.release
  const lease = options.claim !== undefined
    ? { claim: options.claim.id, leasedUntil: now + millis(options.claim.lease) }
    : claim === undefined || isReleased
    ? undefined
    : { claim, leasedUntil: leasedUntil ?? 0 }
  const waits = options.snapshot === undefined ? snapshot : options.snapshot ?? undefined
  return {
    ...rest,
    version: before.version + options.events.length,
    ...(options.events.length === 0
      ? undefined
      : { updatedAt: now, batches: [...before.batches, before.version + 1] }),
    ...lease,
    ...(waits === undefined ? undefined : { snapshot: waits })
  }
}

/** The index of all owners, next to those of each. */
const everybody = "*"

/**
 * Conversations in a key/value store. Such stores cannot compare and set, so one process at a time may use one; within it,
 * operations take turns. The thread is written last: an append that a crash cut off has not happened.
 */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its index and its lock
export const keyValueConversations = (store: KeyValueStore.KeyValueStore): Conversations["Service"] => {
  const inTurn = Semaphore.makeUnsafe(1).withPermit
  const threadKey = (hash: string) => `thread/${hash}`
  const batchKey = (hash: string, first: number) => `entries/${hash}/${first}`
  const index = ownerIndex(store)

  const get = (hash: string) =>
    Effect.flatMap(
      store.get(threadKey(hash)),
      (text) => text === undefined ? Effect.undefined : decodeStored(text)
    )
  const found = (hash: string, { thread }: ThreadKey) =>
    Effect.flatMap(
      get(hash),
      (stored) => stored === undefined ? Effect.fail(new ThreadNotFound({ thread })) : Effect.succeed(stored)
    )
  const put = (hash: string, stored: Stored) => store.set(threadKey(hash), JSON.stringify(stored))
  const batch = (hash: string, first: number): Effect.Effect<ReadonlyArray<Entry>, unknown> =>
    Effect.flatMap(
      store.get(batchKey(hash, first)),
      (text): Effect.Effect<ReadonlyArray<Entry>, unknown> =>
        text === undefined ? Effect.fail("entries are missing") : decodeBatch(text)
    )
  const entriesOf = (hash: string, { batches }: Stored) =>
    Effect.map(Effect.forEach(batches, (first) => batch(hash, first)), (all) => all.flat())

  const create: Conversations["Service"]["create"] = Effect.fnUntraced(
    function*(options) {
      const hash = yield* keyHash(options)
      const now = yield* Clock.currentTimeMillis
      const existing = yield* get(hash)
      if (existing !== undefined) return threadOf(existing)(now)
      const stored: Stored = {
        id: options.thread,
        owner: options.owner,
        ...(options.title === undefined ? undefined : { title: options.title }),
        version: 0,
        createdAt: now,
        updatedAt: now,
        batches: []
      }
      const owner = yield* ownerHash(options.owner)
      if (yield* index.add(owner, hash)) yield* index.add(everybody, owner)
      yield* put(hash, stored)
      return threadOf(stored)(now)
    },
    inTurn,
    during("create")
  )

  const matches = (hash: string, stored: Stored, search: string | undefined) =>
    search === undefined || stored.title?.toLowerCase().includes(search) === true
      ? Effect.succeed(true)
      : Effect.map(
        entriesOf(hash, stored),
        (entries) => entries.some(({ event }) => searchText(event).includes(search))
      )

  const list = Effect.fnUntraced(
    function*(options: ListOptions) {
      const now = yield* Clock.currentTimeMillis
      const size = pageSize(options)
      const after = cursorOf(options.after)
      const search = searched(options)
      const all = yield* Effect.forEach(
        yield* index.all(yield* ownerHash(options.owner)),
        (key) =>
          Effect.map(get(key), (stored) => stored === undefined ? [] : [{ key, updatedAt: stored.updatedAt, stored }])
      )
      const page: Array<Cursor & { readonly stored: Stored }> = []
      for (const thread of latestFirst(all.flat(), after)) {
        if (yield* matches(thread.key, thread.stored, search)) page.push(thread)
        if (page.length > size) break
      }
      const last = page.length > size ? page[size - 1] : undefined
      return {
        threads: page.slice(0, size).map(({ stored }) => threadOf(stored)(now)),
        ...(last === undefined
          ? undefined
          : { next: cursorText(last) })
      }
    },
    inTurn,
    during("list")
  )

  const read: Conversations["Service"]["read"] = Effect.fnUntraced(
    function*(options) {
      const hash = yield* keyHash(options)
      const stored = yield* found(hash, options)
      const entries = yield* entriesOf(hash, stored)
      const now = yield* Clock.currentTimeMillis
      return {
        thread: threadOf(stored)(now),
        entries: entries.filter(({ position }) => position > (options.after ?? 0)),
        ...(stored.snapshot === undefined ? undefined : { snapshot: stored.snapshot }),
        ...claimOf({ claim: stored.claim, leasedUntil: stored.leasedUntil ?? 0 }, now)
      }
    },
    inTurn,
    during("read")
  )

  const rename: Conversations["Service"]["rename"] = Effect.fnUntraced(
    function*(options) {
      const hash = yield* keyHash(options)
      const now = yield* Clock.currentTimeMillis
      const stored = { ...(yield* found(hash, options)), title: options.title, updatedAt: now }
      yield* put(hash, stored)
      return threadOf(stored)(now)
    },
    inTurn,
    during("rename")
  )

  const forget = Effect.fnUntraced(function*(owner: string, hash: string, { batches }: Stored) {
    yield* store.remove(threadKey(hash))
    for (const first of batches) yield* store.remove(batchKey(hash, first))
    yield* index.remove(owner, hash)
  })

  const remove: Conversations["Service"]["delete"] = Effect.fnUntraced(
    function*(key) {
      const hash = yield* keyHash(key)
      yield* forget(yield* ownerHash(key.owner), hash, yield* found(hash, key))
    },
    inTurn,
    during("delete")
  )

  const purge: Conversations["Service"]["purge"] = Effect.fnUntraced(
    function*(olderThanMillis) {
      const now = yield* Clock.currentTimeMillis
      let count = 0
      for (const owner of yield* index.all(everybody)) {
        const hashes = yield* index.all(owner)
        let left = hashes.length
        for (const hash of hashes) {
          const stored = yield* get(hash)
          const isOld = stored !== undefined && stored.updatedAt <= now - olderThanMillis &&
            (stored.claim === undefined || (stored.leasedUntil ?? 0) <= now)
          if (!isOld) continue
          yield* forget(owner, hash, stored)
          left--
          count++
        }
        if (left === 0) yield* index.remove(everybody, owner)
      }
      return count
    },
    inTurn,
    during("purge")
  )

  const append = Effect.fnUntraced(
    function*(options: AppendOptions) {
      const hash = yield* keyHash(options)
      const now = yield* Clock.currentTimeMillis
      const before = yield* found(hash, options)
      const { claim, leasedUntil = 0, version } = before
      const refused = refusal(options, { version, claim, leasedUntil }, now)
      if (refused !== undefined) return yield* refused
      if (options.events.length > 0) {
        const entries = options.events.map((event, n): Entry => ({
          position: version + 1 + n,
          at: now,
          ...(options.runId === undefined ? undefined : { runId: options.runId }),
          event
        }))
        yield* store.set(batchKey(hash, version + 1), yield* encodeBatch(entries))
      }
      const stored = appended(before, options, now)
      yield* put(hash, stored)
      return threadOf(stored)(now)
    },
    inTurn,
    during("append")
  )

  const renew: Conversations["Service"]["renew"] = Effect.fnUntraced(
    function*(key, claim) {
      const hash = yield* keyHash(key)
      const stored = yield* get(hash)
      if (stored === undefined || stored.claim !== claim.id) return false
      yield* put(hash, { ...stored, leasedUntil: (yield* Clock.currentTimeMillis) + millis(claim.lease) })
      return true
    },
    inTurn,
    during("renew")
  )

  return { create, list, read, rename, delete: remove, append, renew, purge }
}
