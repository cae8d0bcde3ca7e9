/** Forgotten keys: the ledger is told that a write was undone. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import { IdempotencyLedger } from "../idempotency/service.ts"
import type { DoneWrite } from "../run/doneWrites.ts"

/** The key of a write that is undone is free again: the ledger would answer that it is done. */
export const forgotten = ({ callId, intent, tool }: DoneWrite): Effect.Effect<void> =>
  intent === undefined ? Effect.void : Effect.contextWith((context: Context.Context<never>) => {
    const ledger = Context.getOption(context, IdempotencyLedger)
    return Option.isNone(ledger) ?
      Effect.void :
      Effect.catchCause(ledger.value.forget(intent), (cause) =>
        Effect.annotateLogs(
          Effect.logWarning("A write is undone, and the idempotency ledger still answers that it is done", cause),
          { call_id: callId, tool }
        ))
  })
