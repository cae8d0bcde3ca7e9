/** A store of a ledger with scripted answers. */

import { Clock, Duration, Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { IdempotencyLedger } from "@recourse/core"

export type Store = IdempotencyLedger.Store

export type Found = Effect.Success<ReturnType<Store["begin"]>>

export interface Claimed {
  readonly _tag: "Begun" | "Conflict" | "Finished" | "Busy" | "Abandoned"
  readonly sinceMillis?: number
  readonly waited?: boolean
  readonly claim?: IdempotencyLedger.Claim
}

export const { claims } = await import(
  new URL("../../src/internal/idempotency/claims.ts", import.meta.url).href
) as {
  readonly claims: (
    store: Store,
    options: { readonly lease?: Duration.Duration; readonly waitFor: Duration.Duration }
  ) => {
    readonly claim: (
      intent: IdempotencyLedger.Intent,
      onHeld: (settle: Effect.Effect<void>) => void
    ) => Effect.Effect<Claimed, IdempotencyLedger.LedgerError>
  }
}

export const intent = (id: string, claim = `mine ${id}`, args = "hash") => ({
  id,
  tool: "pay",
  callId: id,
  arguments: args,
  claim
})

/** An entry of another process, at work until a time. */
export const entry = (leasedUntil: number, change: object = {}) =>
  ({ ...intent("a", "theirs"), startedAt: -2_000, leasedUntil, ...change }) as unknown as NonNullable<Found>["entry"]

/** A store without behaviour, except for a test's; it records its requests with their times. */
export const scripted = (parts: Partial<Store>) => {
  const asked: Array<string> = []
  const noted =
    <A extends ReadonlyArray<never>, B, E>(name: string, operation: (...args: A) => Effect.Effect<B, E>) =>
    (...args: A) => Effect.flatMap(Clock.currentTimeMillis, (now) => (asked.push(`${name} ${now}`), operation(...args)))
  const store: Store = {
    begin: () => Effect.undefined,
    renew: () => Effect.succeed(true),
    take: () => Effect.succeed(true),
    complete: () => Effect.succeed("recorded" as const),
    release: () => Effect.void,
    ...parts
  }
  return {
    asked,
    store: Object.fromEntries(
      Object.entries(store).map(([name, operation]) => [name, noted(name, operation as never)])
    ) as unknown as Store
  }
}

export const found = (entry: NonNullable<Found>["entry"]) =>
  Effect.map(Clock.currentTimeMillis, (now): NonNullable<Found> => ({ entry, now }))

export const options = { lease: Duration.seconds(10), waitFor: Duration.seconds(3) }

export const claimed = (store: Store, passing: Duration.Input, of = intent("a")) =>
  Effect.gen(function*() {
    const fiber = yield* Effect.forkChild(claims(store, options).claim(of, () => {}), { startImmediately: true })
    for (let waited = 0; waited < Duration.toMillis(passing); waited += 10) {
      yield* TestClock.adjust("10 millis")
    }
    return yield* Fiber.join(fiber)
  })
