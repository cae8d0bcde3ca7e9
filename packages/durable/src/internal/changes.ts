/** Changes of runs, notified within this process: waiting fibers need not poll the store at each moment. */
import * as Effect from "effect/Effect"
import type * as Duration from "effect/Duration"
import type * as Scope from "effect/Scope"
import type { WakeUp } from "./store.ts"

/** The name under which those hear of a run who read its events; by its id alone, of its beginnings, waits and ends. */
export const eventsOf = (runId: string): string => `events ${runId}`

/** The name under which the runner hears that there may be something to do. */
export const wakeUp = ""

/** The name under which a run's owner is notified of events for its readers. */
export const pendingOf = (runId: string): string => `pending ${runId}`

/** Waiting fibers by run. */
export class Changes {
  private readonly waiting = new Map<string, Set<() => void>>()
  private readonly readers = new Map<string, number>()

  private readonly listeners: Array<(runId: string) => void> = []

  /** Hears of each change. */
  onChange(listener: (runId: string) => void): void {
    this.listeners.push(listener)
  }

  /** A run has changed. */
  notify(runId: string): void {
    for (const listener of this.listeners) listener(runId)
    const waiters = this.waiting.get(runId)
    if (waiters === undefined) return
    this.waiting.delete(runId)
    for (const resume of waiters) resume()
  }

  /** Receives a store's notification of any process's change. */
  receive(wakeUp: WakeUp): void {
    if (wakeUp._tag === "Queued" || wakeUp._tag === "Read") return
    if (wakeUp._tag !== "Recorded") this.notify(wakeUp.runId)
    this.notify(eventsOf(wakeUp.runId))
  }

  /**
   * Waits for the next change in this process; at most for the given time, because another process may have changed the
   * run.
   */
  next(runId: string, atMost: Duration.Duration): Effect.Effect<void> {
    return Effect.raceFirst(this.heard(runId), Effect.sleep(atMost))
  }

  /** Waits for the next change in this process. */
  heard(runId: string): Effect.Effect<void> {
    return Effect.callback<void>((resume) => {
      const waiters = this.waiting.get(runId) ?? new Set()
      this.waiting.set(runId, waiters)
      const one = () => resume(Effect.void)
      waiters.add(one)
      return Effect.sync(() => {
        waiters.delete(one)
        if (waiters.size === 0 && this.waiting.get(runId) === waiters) this.waiting.delete(runId)
      })
    })
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
