/** Ledger store in a key/value store of `effect/persistence`. */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"
import { expiry } from "./ledgerMemoryStore.ts"
import { abandonedIn, Entry, isExpired, LedgerError, type Store } from "./ledgerStore.ts"

const Stored = Schema.fromJsonString(Entry)
const decode = Schema.decodeUnknownEffect(Stored)
const encode = Schema.encodeEffect(Stored)

/** Used methods of a key/value store. */
export interface KeyValues extends Pick<KeyValueStore.KeyValueStore, "get" | "remove" | "keys"> {
  readonly set: (key: string, text: string) => Effect.Effect<void, KeyValueStore.KeyValueStoreError>
}

/**
 * A store on a key/value store. Key/value stores cannot compare and set, so it is one process's: if several processes
 * may use the same key at the same time, use SQL or Redis. Times are by the clock of the process.
 */
export const keyValueStore = (store: KeyValues): Store => {
  const get = (id: string) =>
    Effect.flatMap(store.get(id), (text) => text === undefined ? Effect.undefined : decode(text))
  const put = (entry: Entry) => Effect.flatMap(encode(entry), (text) => store.set(entry.id, text))
  const during = (operation: LedgerError["operation"]) =>
    Effect.mapError((reason: unknown) => new LedgerError({ operation, reason }))
  const now = Clock.currentTimeMillis
  return {
    begin: (intent, lease) =>
      Effect.flatMap(
        now,
        (now) =>
          Effect.flatMap(get(intent.id), (entry) =>
            entry !== undefined && !isExpired(entry, now)
              ? Effect.succeed({ entry, now })
              : Effect.as(put({ ...intent, startedAt: now, leasedUntil: now + Duration.toMillis(lease) }), undefined))
      )
        .pipe(during("begin")),
    renew: (intent, lease) =>
      Effect.flatMap(now, (now) =>
        Effect.flatMap(get(intent.id), (entry) => {
          if (entry?.claim !== intent.claim || entry.outcome !== undefined) return Effect.succeed(false)
          const { callId } = intent
          return Effect.as(put({ ...entry, callId, leasedUntil: now + Duration.toMillis(lease) }), true)
        })).pipe(during("renew")),
    take: (from, intent, lease) =>
      Effect.flatMap(now, (now) =>
        Effect.flatMap(get(from.id), (entry) => {
          if (entry?.claim !== from.claim || entry.outcome !== undefined || entry.leasedUntil > now) {
            return Effect.succeed(false)
          }
          return Effect.as(
            put({ ...entry, claim: intent.claim, leasedUntil: now + Duration.toMillis(lease) }),
            true
          )
        })).pipe(during("take")),
    complete: (intent, outcome, timeToLive) =>
      Effect.flatMap(now, (now) =>
        Effect.flatMap(get(intent.id), (entry) => {
          if (entry !== undefined && entry.claim !== intent.claim) return Effect.succeed("lost" as const)
          const { startedAt, leasedUntil } = entry ?? { startedAt: now, leasedUntil: now }
          return Effect.as(
            put({ ...intent, startedAt, leasedUntil, outcome, ...expiry(now, timeToLive) }),
            entry === undefined ? "restored" as const : "recorded" as const
          )
        })).pipe(during("complete")),
    reopen: (intent, lease) =>
      Effect.flatMap(now, (now) =>
        Effect.flatMap(get(intent.id), (entry) => {
          if (entry?.claim !== intent.claim) return Effect.void
          const { expiresAt: _, outcome: __, ...open } = entry
          return put({ ...open, leasedUntil: now + Duration.toMillis(lease) })
        })).pipe(during("reopen")),
    release: (intent) =>
      Effect.flatMap(
        get(intent.id),
        (entry) => entry?.claim === intent.claim && entry.outcome === undefined ? store.remove(intent.id) : Effect.void
      ).pipe(during("release")),
    abandoned: (limit) =>
      Effect.flatMap(now, (now) =>
        Effect.map(
          Effect.flatMap(store.keys, (keys) => Effect.forEach(keys, get)),
          (entries) => abandonedIn(entries.filter((entry) => entry !== undefined), now, limit)
        )).pipe(during("list")),
    purge: Effect.flatMap(
      now,
      (now) =>
        Effect.flatMap(
          store.keys,
          (keys) =>
            Effect.reduce(keys, () =>
              0, (count, key) =>
              Effect.flatMap(get(key), (entry) =>
                entry !== undefined && isExpired(entry, now)
                  ? Effect.as(store.remove(key), count + 1)
                  : Effect.succeed(count)))
        )
    ).pipe(during("purge"))
  }
}
