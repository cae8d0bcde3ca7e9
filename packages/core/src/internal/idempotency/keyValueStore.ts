/** Entries in a key/value store of `effect/persistence`. */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as KeyValueStore from "effect/persistence/KeyValueStore"
import { Entry, isExpired, LedgerError, type Store } from "./store.ts"

const Stored = Schema.fromJsonString(Entry)
const decode = Schema.decodeUnknownEffect(Stored)
const encode = Schema.encodeEffect(Stored)

/**
 * A store on a key/value store. Key/value stores cannot compare and set, so it is one process's: where several processes
 * may use the same key at the same time, use SQL.
 */
export const keyValueStore = (store: KeyValueStore.KeyValueStore): Store => {
  const get = (id: string) =>
    Effect.flatMap(store.get(id), (text) => text === undefined ? Effect.undefined : decode(text))
  const put = (entry: Entry) => Effect.flatMap(encode(entry), (text) => store.set(entry.id, text))
  const during = (operation: LedgerError["operation"]) =>
    Effect.mapError((reason: unknown) => new LedgerError({ operation, reason }))
  return {
    begin: (intent) =>
      get(intent.id).pipe(
        Effect.flatMap((entry) =>
          entry !== undefined && !isExpired(entry, intent.startedAt)
            ? Effect.succeed(entry)
            : Effect.as(put(intent), undefined)
        ),
        during("begin")
      ),
    take: (from, intent) =>
      get(from.id).pipe(
        Effect.flatMap((entry) => entry?.claim === from.claim ? Effect.as(put(intent), true) : Effect.succeed(false)),
        during("take")
      ),
    complete: (intent, outcome, expiresAt) => put({ ...intent, outcome, expiresAt }).pipe(during("complete")),
    release: (intent) => store.remove(intent.id).pipe(during("release"))
  }
}
