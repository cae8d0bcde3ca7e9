/** Ledger store in memory: a restart loses the entries. */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { steadyClock } from "../foundation/monotonicTime.ts"
import { abandonedIn, type Entry, isExpired, type Store } from "./ledgerStore.ts"

const sweepEvery = 60_000

/** Returns the expiry of an entry stored at `now`; an empty object for an unlimited one. */
export const expiry = (now: number, timeToLive: Duration.Duration): { readonly expiresAt?: number } =>
  Duration.isFinite(timeToLive) ? { expiresAt: now + Math.ceil(Duration.toMillis(timeToLive)) } : {}

/** A store in memory. Forgets expired entries about once a minute. */
export const memoryStore = (): Store => {
  const entries = new Map<string, Entry>()
  let swept = 0
  const purge = (now: number): number => {
    const before = entries.size
    for (const [id, entry] of entries) if (isExpired(entry, now)) entries.delete(id)
    return before - entries.size
  }
  const clock = steadyClock()
  const at = <A>(operation: (now: number) => A): Effect.Effect<A> => Effect.map(clock, operation)
  return {
    begin: (intent, lease) =>
      at((now) => {
        if (now - swept >= sweepEvery) {
          swept = now
          purge(now)
        }
        const entry = entries.get(intent.id)
        if (entry !== undefined && !isExpired(entry, now)) return { entry, now }
        entries.set(intent.id, { ...intent, startedAt: now, leasedUntil: now + Duration.toMillis(lease) })
        return undefined
      }),
    renew: (intent, lease) =>
      at((now) => {
        const entry = entries.get(intent.id)
        if (entry?.claim !== intent.claim || entry.outcome !== undefined) return false
        entries.set(intent.id, { ...entry, callId: intent.callId, leasedUntil: now + Duration.toMillis(lease) })
        return true
      }),
    take: (from, intent, lease) =>
      at((now) => {
        const entry = entries.get(from.id)
        if (entry?.claim !== from.claim || entry.outcome !== undefined || entry.leasedUntil > now) return false
        entries.set(from.id, { ...entry, claim: intent.claim, leasedUntil: now + Duration.toMillis(lease) })
        return true
      }),
    complete: (intent, outcome, timeToLive) =>
      at((now) => {
        const entry = entries.get(intent.id)
        if (entry !== undefined && entry.claim !== intent.claim) return "lost"
        const { startedAt, leasedUntil } = entry ?? { startedAt: now, leasedUntil: now }
        entries.set(intent.id, { ...intent, startedAt, leasedUntil, outcome, ...expiry(now, timeToLive) })
        return entry === undefined ? "restored" : "recorded"
      }),
    reopen: (intent, lease) =>
      at((now) => {
        const entry = entries.get(intent.id)
        if (entry?.claim !== intent.claim) return
        const { expiresAt: _, outcome: __, ...open } = entry
        entries.set(intent.id, { ...open, leasedUntil: now + Duration.toMillis(lease) })
      }),
    release: (intent) =>
      Effect.sync(() => {
        const entry = entries.get(intent.id)
        if (entry?.claim === intent.claim && entry.outcome === undefined) entries.delete(intent.id)
      }),
    abandoned: (limit) => at((now) => abandonedIn(entries.values(), now, limit)),
    purge: at(purge)
  }
}
