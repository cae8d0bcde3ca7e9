/** Leases: the runs that a process executes. They are renewed in time, and left when they are lost or cancelled. */
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import { type Changes, pendingOf } from "../run/changes.ts"
import type { Execution } from "../run/execution.ts"
import type { Lease, LeasedRun, Store, StoredRun } from "../store/store.ts"
import type { makeQuietly } from "./ignoreFailures.ts"

/** A reading of both clocks: one jumps, the other pauses while the machine is suspended. */
interface Moment {
  readonly wall: number
  readonly monotonic: bigint
}

/** A run that this process executes. */
export interface Executed extends Pick<StoredRun, "runId" | "epoch" | "startedAt" | "isCancelled"> {
  readonly leave: Execution["leave"]
  readonly fiber: Fiber.Fiber<void>
}

/** Wake-ups about a run that came before the answer to its claim. */
interface Early {
  readonly at: Moment
  readonly isCancelled: boolean
  readonly isRead: boolean
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
  /** Wake-ups about runs that this process does not have, or not yet, by run; the oldest first. */
  private readonly early = new Map<string, Early>()
  private renewedAt: Moment

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

  get now(): Moment {
    return { wall: this.clock.currentTimeMillisUnsafe(), monotonic: this.clock.monotonicTimeNanosUnsafe() }
  }

  /** Milliseconds since a reading, by the clock that has run further. */
  private millisSince(from: Moment): number {
    const { monotonic, wall } = this.now
    return Math.max(wall - from.wall, Number(monotonic - from.monotonic) / 1e6)
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
    const { fiber, runId } = executed
    // This process has lost its earlier execution of the run, and has taken it again.
    this.runs.get(runId)?.leave("lost")
    this.runs.set(runId, executed)
    const early = this.early.get(runId)
    this.early.delete(runId)
    if (early?.isCancelled === true && !executed.isCancelled) executed.leave("cancelled")
    if (early?.isRead === true) this.addReader(runId)
    if (fiber.pollUnsafe() !== undefined) this.runs.delete(runId)
  }

  remove(hold: Lease): void {
    if (this.isExecuted(hold)) this.runs.delete(hold.runId)
  }

  private isExecuted({ epoch, runId, startedAt }: Lease): boolean {
    const executed = this.runs.get(runId)
    return executed?.epoch === epoch && executed.startedAt === startedAt
  }

  /** True if the claim of that request is still valid: an answer behind the lease names runs that others may have. */
  isInTime(requestedAt: Moment): boolean {
    return this.millisSince(requestedAt) < this.millis
  }

  isReadElsewhere(runId: string): boolean {
    return this.readElsewhere.has(runId)
  }

  /** A run was cancelled, or has a reader in another process. */
  receive(tag: "Cancelled" | "Read", runId: string): void {
    const executed = this.runs.get(runId)
    if (executed === undefined) this.keep(tag, runId)
    else if (tag === "Cancelled") executed.leave("cancelled")
    else this.addReader(runId)
  }

  /** Keeps a wake-up for as long as the answer to a claim may take. */
  private keep(tag: "Cancelled" | "Read", runId: string): void {
    for (const [runId, { at }] of this.early) {
      if (this.isInTime(at)) break
      this.early.delete(runId)
    }
    const before = this.early.get(runId)
    this.early.delete(runId)
    this.early.set(runId, {
      at: this.now,
      isCancelled: tag === "Cancelled" || before?.isCancelled === true,
      isRead: tag === "Read" || before?.isRead === true
    })
  }

  private addReader(runId: string): void {
    this.setRead(new Set([...this.readElsewhere, runId]))
  }

  /** Looks at the runs, and renews their leases in time. */
  readonly renew: Effect.Effect<void> = Effect.suspend(() => {
    const now = this.now
    const isDue = this.millisSince(this.renewedAt) >= this.millis / 3
    const executed = this.all
    if (executed.length === 0) {
      this.renewedAt = now
      return Effect.void
    }
    const taken = this.store.take({
      leases: executed.map(({ epoch, runId, startedAt }) => ({ epoch, runId, startedAt })),
      leaseMillis: isDue ? this.millis : undefined
    })
    return Effect.map(
      this.quietly("leases could not be renewed", Effect.timeout(taken, this.millis / 3)),
      (answer) => {
        if (answer !== undefined) {
          if (isDue) this.renewedAt = now
          return this.note(executed, answer.leases)
        }
        // Others may have them by now.
        if (!this.isInTime(this.renewedAt)) { for (const { leave } of executed) leave("lost") }
      }
    )
  })

  private note(executed: ReadonlyArray<Executed>, leased: ReadonlyArray<LeasedRun>): void {
    const still = new Map(leased.map((one) => [one.runId, one]))
    this.setRead(new Set(leased.flatMap(({ isRead, runId }) => isRead ? [runId] : [])))
    for (const { leave, ...hold } of executed) {
      if (!this.isExecuted(hold)) continue
      const one = still.get(hold.runId)
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
