/** Faulty stores, which processes share and which outlive them. */
import { Data, Duration, Effect, Layer } from "effect"
import { Approval, IdempotencyLedger, Runs } from "@recourse/core"
import type { Store } from "../../FaultPlan.ts"
import type { Operations } from "./storeFaults.ts"

/** The defect of a store of resumptions that is made to fail. */
class StoreDown extends Data.TaggedError("StoreDown") {}

interface Resumed {
  readonly leasedUntil: number
  readonly isEnded: boolean
}

const lease = 60_000

/** The store's own clock: processes' wall clocks do not change it. */
const storeTime = Effect.clockWith((clock) => Effect.sync(() => Math.floor(Runs.monotonicMillis(clock))))

const until = (now: number, duration: Duration.Duration): number => now + Duration.toMillis(duration)

/** Faults of each store's operations. */
type OperationsOf = (store: Store) => Operations

/** Stored data, by the store's own clock. */
export class SharedStores {
  private readonly entries = new Map<string, IdempotencyLedger.Entry>()
  private readonly resumed = new Map<string, Resumed>()

  /** Number of unanswered claims of snapshots. */
  unansweredClaims = 0

  /** Returns the entries of the ledger. */
  all(): ReadonlyArray<IdempotencyLedger.Entry> {
    return [...this.entries.values()]
  }

  /** One process's view of the stores, with the faults of its operations. */
  layer(operations: OperationsOf): Layer.Layer<IdempotencyLedger.IdempotencyLedger> {
    return Layer.merge(this.layerLedger(operations), this.layerResumptions(operations))
  }

  layerLedger(operations: OperationsOf): Layer.Layer<IdempotencyLedger.IdempotencyLedger> {
    const stored = Layer.suspend(() => IdempotencyLedger.layer(this.ledger(operations("ledger"))))
    // A simulated run has a drawn id, and no process that has to find its keys again.
    return Layer.effect(
      IdempotencyLedger.IdempotencyLedger,
      Effect.map(IdempotencyLedger.IdempotencyLedger, (ledger) => ({ ...ledger, isPersistent: false }))
    ).pipe(Layer.provide(stored))
  }

  layerResumptions(operations: OperationsOf): Layer.Layer<never> {
    return Layer.sync(Approval.Resumptions, () => this.resumptions(operations("resumptions")))
  }

  private ledger(at: Operations): IdempotencyLedger.Store {
    const { entries } = this
    const during = <A>(operation: IdempotencyLedger.LedgerError["operation"], change: (now: number) => A) =>
      at(Effect.map(storeTime, change), () => new IdempotencyLedger.LedgerError({ operation, reason: "drawn" }))
    return {
      begin: (intent, leased) =>
        during("begin", (now) => {
          const entry = entries.get(intent.id)
          if (entry !== undefined && (entry.expiresAt ?? Infinity) > now) return { entry, now: now }
          entries.set(intent.id, { ...intent, startedAt: now, leasedUntil: until(now, leased) })
          return undefined
        }),
      renew: (intent, leased) =>
        during("renew", (now) => {
          const entry = entries.get(intent.id)
          if (entry?.claim !== intent.claim || entry.outcome !== undefined) return false
          entries.set(intent.id, { ...entry, callId: intent.callId, leasedUntil: until(now, leased) })
          return true
        }),
      take: (from, intent, leased) =>
        during("take", (now) => {
          const entry = entries.get(from.id)
          if (entry?.claim !== from.claim || entry.outcome !== undefined || entry.leasedUntil > now) return false
          entries.set(from.id, { ...entry, claim: intent.claim, leasedUntil: until(now, leased) })
          return true
        }),
      complete: (intent, outcome, timeToLive) =>
        during("complete", (now) => {
          const entry = entries.get(intent.id)
          if (entry !== undefined && entry.claim !== intent.claim) return "lost"
          const { leasedUntil, startedAt } = entry ?? { startedAt: now, leasedUntil: now }
          entries.set(intent.id, {
            ...intent,
            startedAt,
            leasedUntil,
            outcome,
            ...(Duration.isFinite(timeToLive) ? { expiresAt: until(now, timeToLive) } : undefined)
          })
          return entry === undefined ? "restored" : "recorded"
        }),
      release: (intent) =>
        during("release", () => {
          const entry = entries.get(intent.id)
          if (entry?.claim === intent.claim && entry.outcome === undefined) entries.delete(intent.id)
        })
    }
  }

  private resumptions(at: Operations): Approval.ResumptionStore {
    const { resumed } = this
    const claim = (now: number, id: string): boolean | Approval.Resumption => {
      const earlier = resumed.get(id)
      if (earlier !== undefined && (earlier.isEnded || earlier.leasedUntil > now)) return false
      resumed.set(id, { leasedUntil: now + lease, isEnded: false })
      return {
        isTakenOver: earlier !== undefined,
        end: (fate) =>
          during((now) => {
            if (fate === "free") resumed.delete(id)
            else resumed.set(id, { leasedUntil: now, isEnded: fate === "used" })
          })
      }
    }
    const during = <A>(change: (now: number) => A) =>
      Effect.orDie(at(Effect.map(storeTime, change), () => new StoreDown()))
    return {
      claim: (id) =>
        Effect.suspend(() => {
          this.unansweredClaims++
          return Effect.tap(during((now) => claim(now, id)), () => Effect.sync(() => void this.unansweredClaims--))
        })
    }
  }
}
