/** Calls that only the ledger may answer: they are not executed. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type Call, ToolCall } from "./call.ts"

const missing = { _tag: "NotOnRecord" } as const

/** Ends such a call where the ledger has no answer: as a defect, which recovery does not see. */
export const notInLedger: Effect.Effect<never> = Effect.die(missing)

/** Whether a ledger may answer the attempts of a call. */
export const isKeyed = ({ idempotency, record }: Call): boolean =>
  idempotency !== undefined || record.tool?.passesKey === true

/** What the ledger lets a call come to that has not been tried; nothing where it would have been executed. */
export const askLedgerOnly = <A, E, R>(
  current: Call,
  call: Effect.Effect<A, E, R>
): Effect.Effect<Exit.Exit<A, E> | undefined, never, Exclude<R, ToolCall>> =>
  Effect.map(
    Effect.exit(Effect.provideService(call, ToolCall, { ...current, lookupOnly: true })),
    (exit) => {
      const isMissing = Exit.isFailure(exit) &&
        exit.cause.reasons.some((reason) => Cause.isDieReason(reason) && reason.defect === missing)
      if (!isMissing) return exit
      // Nothing was tried: the next attempt is the first.
      current.record.attempts = 0
      return undefined
    }
  )
