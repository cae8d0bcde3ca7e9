/** Who may run: one call for each key at a time in this process, and what the store knows of the others. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import type { Entry, Intent, LedgerError, Outcome, Store } from "./store.ts"

/** A call's hold on a key. */
export interface Claim {
  readonly intent: Intent
  /** Puts the call's intent in the place of an entry of which nothing came. */
  readonly take: (from: Entry) => Effect.Effect<boolean, LedgerError>
  readonly complete: (outcome: Outcome, expiresAt: number) => Effect.Effect<void, LedgerError>
  readonly release: Effect.Effect<void, LedgerError>
}

/** What a call that wants to run is told. */
export type Claimed =
  /** The intent is recorded: run. */
  | { readonly _tag: "Begun"; readonly claim: Claim }
  /** An earlier call has begun, and nobody knows what came of it. */
  | { readonly _tag: "Unfinished"; readonly entry: Entry; readonly claim: Claim }
  /** An earlier call has ended. */
  | { readonly _tag: "Finished"; readonly outcome: Outcome; readonly entry: Entry; readonly waited: boolean }
  /** The key belongs to other arguments. */
  | { readonly _tag: "Conflict" }

interface Running {
  readonly arguments: string
  readonly settled: Deferred.Deferred<void>
}

/**
 * Asks to run. `onHeld` is given `settle` at the moment from which others wait for this call, so that no interruption can
 * leave them waiting: whoever claims settles in the end, however it ends.
 */
export type ClaimKey = (
  intent: Intent,
  onHeld: (settle: Effect.Effect<void>) => void
) => Effect.Effect<Claimed, LedgerError>

/** Claims over a store. A call with a key that is running in this process waits for it. */
export const claims = (store: Store): ClaimKey => {
  const running = new Map<string, Running>()

  const claim = (
    intent: Intent,
    onHeld: (settle: Effect.Effect<void>) => void,
    waited: boolean
  ): Effect.Effect<Claimed, LedgerError> =>
    Effect.suspend(() => {
      const other = running.get(intent.id)
      if (other !== undefined) {
        return other.arguments === intent.arguments
          ? Effect.andThen(Deferred.await(other.settled), claim(intent, onHeld, true))
          : Effect.succeed<Claimed>({ _tag: "Conflict" })
      }
      const mine: Running = { arguments: intent.arguments, settled: Deferred.makeUnsafe<void>() }
      running.set(intent.id, mine)
      const settle = Effect.suspend(() => {
        if (running.get(intent.id) === mine) running.delete(intent.id)
        return Effect.asVoid(Deferred.succeed(mine.settled, undefined))
      })
      onHeld(settle)
      const held: Claim = {
        intent,
        take: (from) => store.take(from, intent),
        complete: (outcome, expiresAt) => store.complete(intent, outcome, expiresAt),
        release: store.release(intent)
      }
      return store.begin(intent).pipe(
        Effect.flatMap((entry): Effect.Effect<Claimed> => {
          if (entry === undefined) return Effect.succeed({ _tag: "Begun", claim: held })
          if (entry.arguments !== intent.arguments) return Effect.as(settle, { _tag: "Conflict" })
          return entry.outcome === undefined
            ? Effect.succeed({ _tag: "Unfinished", entry, claim: held })
            : Effect.as(settle, { _tag: "Finished", outcome: entry.outcome, entry, waited })
        })
      )
    })

  return (intent, onHeld) => claim(intent, onHeld, false)
}
