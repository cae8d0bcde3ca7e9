/** Conversations in the memory of the process: values in maps, each operation in one step. Times are by the clock of the process. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import { ThreadNotFound } from "../conversationErrors.ts"
import type { Conversations, ThreadKey } from "../conversationService.ts"
import { claimOf, cursorOf, cursorText, latestFirst, millis, pageSize, refusal, searched } from "./storeParts.ts"
import type { Entry, Thread } from "../thread.ts"
import { searchText } from "../threadView.ts"

/** A thread as it is kept. */
interface Kept {
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

const isHeld = ({ claim, leasedUntil }: Kept, now: number): boolean => claim !== undefined && leasedUntil > now

const threadOf = (kept: Kept, now: number): Thread => ({
  id: kept.id,
  owner: kept.owner,
  ...(kept.title === undefined ? undefined : { title: kept.title }),
  version: kept.entries.length,
  createdAt: kept.createdAt,
  updatedAt: kept.updatedAt,
  isRunning: isHeld(kept, now),
  isWaiting: kept.snapshot !== undefined
})

const matches = ({ entries, title }: Kept, search: string | undefined): boolean =>
  search === undefined || title?.toLowerCase().includes(search) === true ||
  entries.some(({ event }) => searchText(event).includes(search))

/** Conversations that end with the process. */
// oxlint-disable-next-line max-lines-per-function -- the operations of one store share its maps
export const memoryConversations = (): Conversations["Service"] => {
  const owners = new Map<string, Map<string, Kept>>()
  let made = 0

  const find = ({ owner, thread }: ThreadKey): Kept | undefined => owners.get(owner)?.get(thread)
  const inStep = <A, E = never>(step: (now: number) => Effect.Effect<A, E>): Effect.Effect<A, E> =>
    Clock.clockWith((clock) => step(clock.currentTimeMillisUnsafe()))
  const onThread = <A, E = never>(
    key: ThreadKey,
    step: (kept: Kept, now: number) => Effect.Effect<A, E>
  ): Effect.Effect<A, E | ThreadNotFound> =>
    inStep((now): Effect.Effect<A, E | ThreadNotFound> => {
      const kept = find(key)
      return kept === undefined ? Effect.fail(new ThreadNotFound({ thread: key.thread })) : step(kept, now)
    })
  const forget = ({ id, owner }: Kept): void => {
    const own = owners.get(owner)
    own?.delete(id)
    if (own?.size === 0) owners.delete(owner)
  }

  return {
    create: ({ owner, thread, title }) =>
      inStep((now) => {
        const own = owners.get(owner) ?? new Map<string, Kept>()
        const kept = own.get(thread) ?? {
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
        owners.set(owner, own.set(thread, kept))
        return Effect.succeed(threadOf(kept, now))
      }),

    list: (options) =>
      inStep((now) => {
        const size = pageSize(options)
        const search = searched(options)
        const found = latestFirst([...owners.get(options.owner)?.values() ?? []], cursorOf(options.after))
          .filter((kept) => matches(kept, search))
        const last = found.length > size ? found[size - 1] : undefined
        return Effect.succeed({
          threads: found.slice(0, size).map((kept) => threadOf(kept, now)),
          ...(last === undefined ? undefined : { next: cursorText(last) })
        })
      }),

    read: (options) =>
      onThread(options, (kept, now) =>
        Effect.succeed({
          thread: threadOf(kept, now),
          entries: kept.entries.slice(Math.max(0, options.after ?? 0)),
          ...(kept.snapshot === undefined ? undefined : { snapshot: kept.snapshot }),
          ...claimOf(kept, now)
        })),

    rename: (options) =>
      onThread(options, (kept, now) => {
        kept.title = options.title
        kept.updatedAt = now
        return Effect.succeed(threadOf(kept, now))
      }),

    delete: (key) => onThread(key, (kept) => Effect.sync(() => forget(kept))),

    append: (options) =>
      onThread(options, (kept, now) => {
        const { claim, events, release, runId, snapshot } = options
        const { entries } = kept
        const refused = refusal(options, {
          version: entries.length,
          claim: kept.claim,
          leasedUntil: kept.leasedUntil
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
        if (events.length > 0) kept.updatedAt = now
        if (claim !== undefined) {
          kept.claim = claim.id
          kept.leasedUntil = now + millis(claim.lease)
        } else if (kept.claim === release) {
          kept.claim = undefined
        }
        if (snapshot !== undefined) kept.snapshot = snapshot ?? undefined
        return Effect.succeed(threadOf(kept, now))
      }),

    purge: (olderThanMillis) =>
      inStep((now) => {
        const old = [...owners.values()].flatMap((own) => [...own.values()])
          .filter((kept) => kept.updatedAt <= now - olderThanMillis && !isHeld(kept, now))
        for (const kept of old) forget(kept)
        return Effect.succeed(old.length)
      }),

    renew: (key, { id, lease }) =>
      inStep((now) => {
        const kept = find(key)
        if (kept === undefined || kept.claim !== id) return Effect.succeed(false)
        kept.leasedUntil = now + millis(lease)
        return Effect.succeed(true)
      })
  }
}
