/** Changes of the calls of a run: a call that can only continue when another one has ended, or was matched, waits for the next change. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

export class Changes {
  /** Calls that wait for a person, once no write runs in parallel to them. */
  readonly blocked = new Set<object>()
  private waiting: Deferred.Deferred<void> | undefined

  /** Succeeds at the next change. */
  readonly next: Effect.Effect<void> = Effect.suspend(() =>
    Deferred.await(this.waiting ??= Deferred.makeUnsafe<void>())
  )

  /** Notes a change. */
  note(): void {
    const { waiting } = this
    if (waiting === undefined) return
    this.waiting = undefined
    Deferred.doneUnsafe(waiting, Effect.void)
  }
}
