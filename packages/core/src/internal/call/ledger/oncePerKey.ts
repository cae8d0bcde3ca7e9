/** Execution of a call once for each idempotency key, over all processes that share a ledger. */
import * as Effect from "effect/Effect"
import type { Idempotency } from "../../idempotency/idempotencyOptions.ts"
import { claimOnce } from "./askLedger.ts"
import { identify } from "./identifyCall.ts"
import { type Asking, KeyedAttempt, type KeyedOptions, type Refusals } from "./keyedAttempt.ts"

/**
 * Runs an attempt under the call's key: records the intent before it and the outcome after it. If the key has an outcome, the attempt ends with that. If the
 * attempt may not run, it fails with one of the refusals.
 */
export const oncePerKey = <A, E, R, E2>(
  idempotency: Idempotency,
  asking: Asking,
  refusals: Refusals<E2>,
  execute: (key: string, isAgain: boolean) => Effect.Effect<A, E, R>
): Effect.Effect<A, E | E2, R> =>
  Effect.uninterruptibleMask((restore) =>
    Effect.flatMap(identify(idempotency, asking), (identity) =>
      claimOnce(
        new KeyedAttempt({
          asking,
          execute: execute as KeyedOptions["execute"],
          idempotency,
          identity,
          refusals,
          restore
        })
      ))
  ) as Effect.Effect<A, E | E2, R>
