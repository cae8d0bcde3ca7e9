/** Conversations in the memory of the process: values in maps, each operation in one step. Times are by the clock of the process. */
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { steadyClock } from "../../foundation/monotonicTime.ts"
import { ThreadNotFound } from "../conversationErrors.ts"
import type { Conversations, ThreadKey } from "../conversationService.ts"
import { claimOf, cursorOf, cursorText, latestFirst, millis, pageSize, refusal, searched } from "./storeParts.ts"
import type { Entry, Thread } from "../thread.ts"
import { searchText } from "../threadView.ts"

/** A thread in its stored form. */
interface StoredThread {
  /** Orders threads with the same time of update, like a cursor. */
  readonly key: string
  readonly id: string
  readonly owner: string
  readonly createdAt: number
  title: string | undefined
  updatedAt: number
  claim: string | undefined
  leasedUntil: number
  snapshot: Schema.Json | undefined
  readonly entries: Array<Entry>
}

const isLeased = ({ claim, leasedUntil }: StoredThread, now: number): boolean =>
  claim !== undefined && leasedUntil > now

const threadOf = (stored: StoredThread, now: number): Thread => ({
  id: stored.id,
  owner: stored.owner,
  ...(stored.title === undefined ? undefined : { title: stored.title }),
  version: stored.entries.length,
  createdAt: stored.createdAt,
  updatedAt: stored.updatedAt,
  isRunning: isLeased(stored, now),
  isWaiting: stored.snapshot !== undefined
})

const matches = ({ entries, title }: StoredThread, search: string | undefined): boolean =>
  search === undefined || title?.toLowerCase().includes(search) === true ||
  entries.some(({ event }) => searchText(event).includes(search))

/** Conversations that end with the process. */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its maps
export const memoryConversations = (): Conversations["Service"] => {
  const owners = new Map<string, Map<string, StoredThread>>()
  let made = 0
  const clock = steadyClock()

  const find = ({ owner, thread }: ThreadKey): StoredThread | undefined => owners.get(owner)?.get(thread)
  const inStep = <A, E = never>(step: (now: number) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Effect.flatMap(clock, step)
  const onThread = <A, E = never>(
    key: ThreadKey,
    step: (stored: StoredThread, now: number) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | ThreadNotFound> =>
    inStep((now): Effect.Effect<A, E | ThreadNotFound> => {
      const stored = find(key)
      return stored === undefined ? Effect.fail(new ThreadNotFound({ thread: key.thread })) : step(stored, now)
    })
  const forget = ({ id, owner }: StoredThread): void => {
    const own = owners.get(owner)
    own?.delete(id)
    if (own?.size === 0) owners.delete(owner)
  }

  return {
    create: ({ owner, thread, title }) =>
      inStep((now) => {
        const own = owners.get(owner) ?? new Map<string, StoredThread>()
        const stored = own.get(thread) ?? {
          key: String(++made).padStart(64, "0"),
          id: thread,
          owner,
          title,
          createdAt: now,
          updatedAt: now,
          claim: undefined,
          leasedUntil: 0,
          snapshot: undefined,
          entries: []
        }
        owners.set(owner, own.set(thread, stored))
        return Effect.succeed(threadOf(stored, now))
      }),

    list: (options) =>
      inStep((now) => {
        const size = pageSize(options)
        const search = searched(options)
        const found = latestFirst([...owners.get(options.owner)?.values() ?? []], cursorOf(options.after))
          .filter((stored) => matches(stored, search))
        const last = found.length > size ? found[size - 1] : undefined
        return Effect.succeed({
          threads: found.slice(0, size).map((stored) => threadOf(stored, now)),
          ...(last === undefined ? undefined : { next: cursorText(last) })
        })
      }),

    read: (options) =>
      onThread(options, (stored, now) =>
        Effect.succeed({
          thread: threadOf(stored, now),
          entries: stored.entries.slice(Math.max(0, options.after ?? 0)),
          ...(stored.snapshot === undefined ? undefined : { snapshot: stored.snapshot }),
          ...claimOf(stored, now)
        })),

    rename: (options) =>
      onThread(options, (stored, now) => {
        stored.title = options.title
        stored.updatedAt = now
        return Effect.succeed(threadOf(stored, now))
      }),

    delete: (key) => onThread(key, (stored) => Effect.sync(() => forget(stored))),

    append: (options) =>
      onThread(options, (stored, now) => {
        const { claim, events, release, runId, snapshot } = options
        const { entries } = stored
        const refused = refusal(options, {
          version: entries.length,
          claim: stored.claim,
          leasedUntil: stored.leasedUntil
        }, now)
        if (refused !== undefined) return Effect.fail(refused)
        for (const event of events) {
          entries.push({
            position: entries.length + 1,
            at: now,
            ...(runId === undefined ? undefined : { runId }),
            event
          })
        }
        if (events.length > 0) stored.updatedAt = now
        if (claim !== undefined) {
          stored.claim = claim.id
          stored.leasedUntil = now + millis(claim.lease)
        } else if (stored.claim === release) {
          stored.claim = undefined
        }
        if (snapshot !== undefined) stored.snapshot = snapshot ?? undefined
        return Effect.succeed(threadOf(stored, now))
      }),

    purge: (olderThanMillis) =>
      inStep((now) => {
        const old = [...owners.values()].flatMap((own) => [...own.values()])
          .filter((stored) => stored.updatedAt <= now - olderThanMillis && !isLeased(stored, now))
        for (const stored of old) forget(stored)
        return Effect.succeed(old.length)
      }),

    renew: (key, { id, lease }) =>
      inStep((now) => {
        const stored = find(key)
        if (stored === undefined || stored.claim !== id) return Effect.succeed(false)
        stored.leasedUntil = now + millis(lease)
        return Effect.succeed(true)
      })
  }
}
