/**
 * Waiters for the ends of runs: one read of the store serves all of them, and an event emitted here serves its run at
 * once.
 */
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import { monotonicMillis, RunsUnavailable } from "@recourse/core/Runs"
import type { Changes, Subscription } from "../run/changes.ts"
import type { Store } from "../store/store.ts"

/** The name under which those hear that wait for ends. */
const ends = "ends"

/** Number of runs in one request. */
const most = 500

type Ended = Deferred.Deferred<void, RunsUnavailable>

/** Waits for the ends of runs. */
export class Waiting {
  private readonly store: Store
  private readonly changes: Changes
  private readonly poll: Duration.Duration
  private readonly waiting = new Map<string, Set<Ended>>()
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

  /**
   * Watches a run, until the scope is closed. The effect that it returns waits for the end; an end since the beginning of
   * the watch counts, too.
   */
  watch(runId: string): Effect.Effect<Effect.Effect<void, RunsUnavailable>, never, Scope.Scope> {
    const begin = Effect.sync(() => {
      const ended: Ended = Deferred.makeUnsafe()
      const all = this.waiting.get(runId) ?? new Set()
      this.waiting.set(runId, all.add(ended))
      return ended
    })
    const end = (ended: Ended) =>
      Effect.sync(() => {
        const all = this.waiting.get(runId)
        all?.delete(ended)
        if (all?.size === 0) this.waiting.delete(runId)
      })
    return Effect.map(
      Effect.acquireRelease(begin, end),
      (ended) => Effect.andThen(this.startAsking, Deferred.await(ended))
    )
  }

  private readonly startAsking = Effect.contextWith((context: Context.Context<never>) =>
    Effect.sync(() => {
      if (this.isAsking) return
      this.isAsking = true
      Effect.runForkWith(context)(this.asking)
    })
  )

  /** Reads the store as long as there is a waiter. */
  private get asking(): Effect.Effect<void> {
    const ask = Effect.clockWith((clock) => this.ask(this.asked(monotonicMillis(clock))))
    const askedBy = (change: Subscription): Effect.Effect<void> =>
      Effect.suspend(() => {
        if (this.waiting.size > 0) {
          const wait = this.notified.size > 0 ? Effect.void : change.next(this.poll)
          return Effect.andThen(Effect.andThen(wait, ask), askedBy(change))
        }
        this.isAsking = false
        return Effect.void
      })
    return Effect.scoped(Effect.flatMap(this.changes.subscribe(ends), askedBy))
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
        this.store.ended(part).pipe(
          Effect.mapError(({ operation, reason }) => new RunsUnavailable({ operation, reason })),
          Effect.exit,
          Effect.map((exit) => Exit.isSuccess(exit) ? this.resume(exit.value, Exit.void) : this.resume(part, exit))
        ),
      { discard: true }
    )
  }

  private resume(runIds: ReadonlyArray<string>, exit: Exit.Exit<void, RunsUnavailable>): void {
    for (const runId of runIds) {
      const all = this.waiting.get(runId)
      this.waiting.delete(runId)
      for (const ended of all ?? []) Deferred.doneUnsafe(ended, exit)
    }
  }
}
