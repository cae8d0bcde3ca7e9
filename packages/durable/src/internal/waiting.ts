/**
 * Waiters for the ends of runs: one read of the store serves all of them, and an event emitted here serves its run at
 * once.
 */
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import { RunsUnavailable } from "@recourse/core/Runs"
import type { Changes } from "./changes.ts"
import type { Store } from "./store.ts"

/** The name under which those hear that wait for ends. */
const ends = "ends"

/** Number of runs in one request. */
const most = 500

type Resume = (ended: Effect.Effect<void, RunsUnavailable>) => void

/** Waits for the ends of runs. */
export class Waiting {
  private readonly store: Store
  private readonly changes: Changes
  private readonly poll: Duration.Duration
  private readonly waiting = new Map<string, Set<Resume>>()
  private readonly notified = new Set<string>()
  private isAsking = false
  private askedAllAt = -Infinity

  constructor(store: Store, changes: Changes, poll: Duration.Duration) {
    this.store = store
    this.changes = changes
    this.poll = poll
    changes.onChange((runId) => {
      if (!this.waiting.has(runId)) return
      this.notified.add(runId)
      changes.notify(ends)
    })
  }

  /** Comes back when the run has ended. */
  ended(runId: string): Effect.Effect<void, RunsUnavailable> {
    return Effect.contextWith((context) =>
      Effect.callback<void, RunsUnavailable>((resume) => {
        const one: Resume = (ended) => resume(ended)
        const all = this.waiting.get(runId) ?? new Set()
        this.waiting.set(runId, all)
        all.add(one)
        if (!this.isAsking) {
          this.isAsking = true
          Effect.runForkWith(context)(this.asking())
        }
        return Effect.sync(() => {
          all.delete(one)
          if (all.size === 0 && this.waiting.get(runId) === all) this.waiting.delete(runId)
        })
      })
    )
  }

  /** Reads the store as long as there is a waiter. */
  private asking(): Effect.Effect<void> {
    return Effect.suspend(() => {
      if (this.waiting.size === 0) {
        this.isAsking = false
        return Effect.void
      }
      const ask = Effect.clockWith((clock) => this.ask(this.asked(clock.currentTimeMillisUnsafe())))
      return Effect.flatMap(Effect.andThen(this.changes.next(ends, this.poll), ask), () => this.asking())
    })
  }

  /** Runs with notifications in this process; all, at intervals, because other processes notify none. */
  private asked(now: number): ReadonlyArray<string> {
    const notified = [...this.notified]
    this.notified.clear()
    if (now - this.askedAllAt < Duration.toMillis(this.poll)) return notified
    this.askedAllAt = now
    return [...this.waiting.keys()]
  }

  private ask(runIds: ReadonlyArray<string>): Effect.Effect<void> {
    const parts = Array.from(
      { length: Math.ceil(runIds.length / most) },
      (_, n) => runIds.slice(n * most, (n + 1) * most)
    )
    return Effect.forEach(
      parts,
      (part) =>
        Effect.match(this.store.ended(part), {
          onSuccess: (ended) => this.resume(ended, Effect.void),
          onFailure: ({ operation, reason }) =>
            this.resume(part, Effect.fail(new RunsUnavailable({ operation, reason })))
        }),
      { discard: true }
    )
  }

  private resume(runIds: ReadonlyArray<string>, ended: Effect.Effect<void, RunsUnavailable>): void {
    for (const runId of runIds) {
      const all = this.waiting.get(runId)
      this.waiting.delete(runId)
      for (const resume of all ?? []) resume(ended)
    }
  }
}
