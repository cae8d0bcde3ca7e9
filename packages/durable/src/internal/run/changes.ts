/** Changes of runs, notified within this process: waiting fibers need not poll the store at each moment. */
import * as Effect from "effect/Effect"
import type * as Duration from "effect/Duration"
import * as Latch from "effect/Latch"
import type * as Scope from "effect/Scope"
import type { WakeUp } from "../store/store.ts"

/** The name under which those hear of a run who read its events; by its id alone, of its beginnings, waits and ends. */
export const eventsOf = (runId: string): string => `events ${runId}`

/** The name under which the runner hears that there may be something to do. */
export const wakeUp = ""

/** The name under which a run's owner is notified of events for its readers. */
export const pendingOf = (runId: string): string => `pending ${runId}`

/** Notifications under one name. */
export interface Subscription {
  /**
   * Waits for a notification, at most for the given time if there is one. One that has arrived since the last wait ends this one at once:
   * whoever reads the store between two waits misses no change.
   */
  readonly next: (atMost?: Duration.Input) => Effect.Effect<void>
}

/** Subscriptions by name. */
export class Changes {
  private readonly subscriptions = new Map<string, Set<Latch.Latch>>()
  private readonly readers = new Map<string, number>()

  private readonly listeners: Array<(runId: string) => void> = []

  /** Hears of each change. */
  onChange(listener: (runId: string) => void): void {
    this.listeners.push(listener)
  }

  /** A run has changed. */
  notify(runId: string): void {
    for (const listener of this.listeners) listener(runId)
    for (const latch of this.subscriptions.get(runId) ?? []) latch.openUnsafe()
  }

  /** Receives a store's notification of any process's change. */
  receive(wakeUp: WakeUp): void {
    if (wakeUp._tag === "Queued" || wakeUp._tag === "Read") return
    if (wakeUp._tag !== "Recorded") this.notify(wakeUp.runId)
    this.notify(eventsOf(wakeUp.runId))
  }

  /** Subscribes to the notifications under a name. */
  subscribe(name: string): Effect.Effect<Subscription, never, Scope.Scope> {
    const acquire = Effect.sync(() => {
      const latch = Latch.makeUnsafe()
      const all = this.subscriptions.get(name) ?? new Set()
      this.subscriptions.set(name, all.add(latch))
      return latch
    })
    const release = (latch: Latch.Latch) =>
      Effect.sync(() => {
        const all = this.subscriptions.get(name)!
        all.delete(latch)
        if (all.size === 0) this.subscriptions.delete(name)
      })
    return Effect.map(Effect.acquireRelease(acquire, release), (latch) => ({
      next: (atMost) =>
        Effect.map(
          atMost === undefined ? latch.await : Effect.raceFirst(latch.await, Effect.sleep(atMost)),
          () => void latch.closeUnsafe()
        )
    }))
  }

  /** Adds a reader of a run's events in this process, until the scope is closed. */
  reading(runId: string): Effect.Effect<void, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => {
        this.readers.set(runId, (this.readers.get(runId) ?? 0) + 1)
        this.notify(pendingOf(runId))
      }),
      () =>
        Effect.sync(() => {
          const left = this.readers.get(runId)! - 1
          if (left > 0) this.readers.set(runId, left)
          else this.readers.delete(runId)
        })
    )
  }

  /** True if a run's events have a reader in this process. */
  isRead(runId: string): boolean {
    return this.readers.has(runId)
  }
}
