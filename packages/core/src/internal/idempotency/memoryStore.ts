/** Entries in the memory of the process: nothing is left of them after a restart. */
import * as Effect from "effect/Effect"
import { type Entry, isExpired, type Store } from "./store.ts"

const sweepEvery = 60_000

/** A store in memory. Forgets expired entries about once a minute. */
export const memoryStore = (): Store => {
  const entries = new Map<string, Entry>()
  let swept = 0
  const sweep = (now: number) => {
    if (now - swept < sweepEvery) return
    swept = now
    for (const [id, entry] of entries) if (isExpired(entry, now)) entries.delete(id)
  }
  return {
    begin: (intent) =>
      Effect.sync(() => {
        sweep(intent.startedAt)
        const entry = entries.get(intent.id)
        if (entry !== undefined && !isExpired(entry, intent.startedAt)) return entry
        entries.set(intent.id, intent)
        return undefined
      }),
    take: (from, intent) =>
      Effect.sync(() => {
        const isHeld = entries.get(from.id)?.claim === from.claim
        if (isHeld) entries.set(intent.id, intent)
        return isHeld
      }),
    complete: (intent, outcome, expiresAt) =>
      Effect.sync(() => {
        if (entries.get(intent.id)?.claim === intent.claim) entries.set(intent.id, { ...intent, outcome, expiresAt })
      }),
    release: (intent) =>
      Effect.sync(() => {
        if (entries.get(intent.id)?.claim === intent.claim) entries.delete(intent.id)
      })
  }
}
