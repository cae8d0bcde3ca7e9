/** A store of the idempotency ledger that outlives its processes. */
import { Duration, Effect } from "effect"
import type { IdempotencyLedger } from "@recourse/core"

const now = Effect.clockWith((clock) => Effect.sync(() => Math.floor(Number(clock.monotonicTimeNanosUnsafe()) / 1e6)))

export const ledgerStore = (): IdempotencyLedger.Store => {
  const entries = new Map<string, IdempotencyLedger.Entry>()
  const at = <A>(change: (now: number) => A) => Effect.map(now, change)
  const open = ({ claim, id }: IdempotencyLedger.Intent) => {
    const entry = entries.get(id)
    return entry?.claim === claim && entry.outcome === undefined ? entry : undefined
  }
  return {
    begin: (intent, lease) =>
      at((now) => {
        const entry = entries.get(intent.id)
        if (entry !== undefined) return { entry, now }
        entries.set(intent.id, { ...intent, startedAt: now, leasedUntil: now + Duration.toMillis(lease) })
        return undefined
      }),
    renew: (intent, lease) =>
      at((now) => {
        const entry = open(intent)
        if (entry !== undefined) entries.set(intent.id, { ...entry, leasedUntil: now + Duration.toMillis(lease) })
        return entry !== undefined
      }),
    take: (from, intent, lease) =>
      at((now) => {
        const entry = open(from)
        if (entry === undefined || entry.leasedUntil > now) return false
        entries.set(from.id, { ...entry, claim: intent.claim, leasedUntil: now + Duration.toMillis(lease) })
        return true
      }),
    complete: (intent, outcome) =>
      at((now) => {
        const entry = entries.get(intent.id)
        if (entry !== undefined && entry.claim !== intent.claim) return "lost"
        entries.set(intent.id, { ...intent, startedAt: entry?.startedAt ?? now, leasedUntil: now, outcome })
        return entry === undefined ? "restored" : "recorded"
      }),
    release: (intent) => Effect.sync(() => void (open(intent) && entries.delete(intent.id)))
  }
}
