/** Leases: the runs that a process executes. They are renewed in time, and left when they are lost or cancelled. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { type Changes, pendingOf } from "../changes.ts"
import type { Execution } from "../execution.ts"
import type { Lease, LeasedRun, Store } from "../store.ts"
import type { makeQuietly } from "./ignoreFailures.ts"

/** A run that this process executes. */
export interface Executed extends Lease {
  readonly leave: Execution["leave"]
  readonly fiber: Fiber.Fiber<void>
}

/** The leases of a process. */
export class Leases {
  readonly millis: number
  private readonly store: Store
  private readonly changes: Changes
  private readonly clock: Clock.Clock
  private readonly quietly: ReturnType<typeof makeQuietly>
  private readonly runs = new Map<string, Executed>()
  /** Runs with a reader in another process. */
  private readElsewhere: ReadonlySet<string> = new Set()
  private renewedAt: number

  constructor(
    store: Store,
    changes: Changes,
    clock: Clock.Clock,
    quietly: ReturnType<typeof makeQuietly>,
    millis: number
  ) {
    this.store = store
    this.changes = changes
    this.clock = clock
    this.quietly = quietly
    this.millis = millis
    this.renewedAt = this.now
  }

  get now(): number {
    return this.clock.currentTimeMillisUnsafe()
  }

  get size(): number {
    return this.runs.size
  }

  get all(): ReadonlyArray<Executed> {
    return [...this.runs.values()]
  }

  has(runId: string): boolean {
    return this.runs.has(runId)
  }

  add(executed: Executed): void {
    this.runs.set(executed.runId, executed)
    if (executed.fiber.pollUnsafe() !== undefined) this.runs.delete(executed.runId)
  }

  remove({ epoch, runId }: Lease): void {
    if (this.runs.get(runId)?.epoch === epoch) this.runs.delete(runId)
  }

  /** True if the claim of that request is still valid: an answer behind the lease names runs that others may have. */
  isInTime(requestedAt: number): boolean {
    return this.now - requestedAt < this.millis
  }

  isReadElsewhere(runId: string): boolean {
    return this.readElsewhere.has(runId)
  }

  cancel(runId: string): void {
    this.runs.get(runId)?.leave("cancelled")
  }

  addReader(runId: string): void {
    if (this.runs.has(runId)) this.setRead(new Set([...this.readElsewhere, runId]))
  }

  /** Looks at the runs, and renews their leases in time. */
  readonly renew: Effect.Effect<void> = Effect.suspend(() => {
    const now = this.now
    const isDue = now - this.renewedAt >= this.millis / 3
    const executed = this.all
    if (executed.length === 0) {
      this.renewedAt = now
      return Effect.void
    }
    const taken = this.store.take({
      held: executed.map(({ epoch, runId }) => ({ epoch, runId })),
      leaseMillis: isDue ? this.millis : undefined
    })
    return Effect.map(
      this.quietly("leases could not be renewed", Effect.timeout(taken, this.millis / 3)),
      (answer) => {
        if (answer !== undefined) {
          if (isDue) this.renewedAt = now
          return this.note(executed, answer.held)
        }
        // Others may have them by now.
        if (!this.isInTime(this.renewedAt)) { for (const { leave } of executed) leave("lost") }
      }
    )
  })

  private note(executed: ReadonlyArray<Executed>, leased: ReadonlyArray<LeasedRun>): void {
    const still = new Map(leased.map((one) => [one.runId, one]))
    this.setRead(new Set(leased.flatMap(({ isRead, runId }) => isRead ? [runId] : [])))
    for (const { epoch, leave, runId } of executed) {
      if (this.runs.get(runId)?.epoch !== epoch) continue
      const one = still.get(runId)
      if (one === undefined) leave("lost")
      else if (one.isCancelled) leave("cancelled")
    }
  }

  private setRead(read: ReadonlySet<string>): void {
    const before = this.readElsewhere
    this.readElsewhere = read
    for (const runId of read) if (!before.has(runId)) this.changes.notify(pendingOf(runId))
  }
}
