/** Calls that only the ledger may answer, and its refusals: they are not executed. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Cause from "effect/Cause"
import { signal, signalIn } from "../../foundation/effect/signal.ts"
import { type Call, ToolCall } from "../call.ts"
import { forgetAttempts } from "../record/attempts.ts"
import type { AttemptError } from "../attemptError.ts"

const missing = { _tag: "NotOnRecord" } as const

const isMissing = (value: object): value is typeof missing => value === missing

/** Ends such a call if the ledger has no answer. Recovery does not see it. */
export const notInLedger: Effect.Effect<never> = signal(missing)

/** True if a ledger may answer the attempts of a call. */
export const isKeyed = ({ idempotency, record }: Call): boolean =>
  idempotency !== undefined || record.attempts.tool?.passesKey === true

/** Returns the ledger's outcome of an unattempted call; `undefined` if it would have been executed. */
export const askLedgerOnly = <A, E, R>(
  current: Call,
  call: Effect.Effect<A, E, R>
): Effect.Effect<Exit.Exit<A, E> | undefined, never, Exclude<R, ToolCall>> =>
  Effect.map(
    Effect.exit(Effect.provideService(call, ToolCall, { ...current, lookupOnly: true })),
    (exit) => {
      if (Exit.isSuccess(exit) || signalIn(exit.cause, isMissing) === undefined) return exit
      // No attempt was made: the next attempt is the first.
      forgetAttempts(current.record)
      return undefined
    }
  )

/** The error of the execution of such a call. */
export const notStarted = { _tag: "NotBegun" } as const

export const isOnlyLookedFor = (exit: Exit.Exit<unknown, unknown>): boolean =>
  Exit.isFailure(exit) && exit.cause.reasons.some((reason) => Cause.isFailReason(reason) && reason.error === notStarted)

/** The signal of the ledger's refusal under `Recovery.idempotent`: recovery within that operator does not see it. */
export class LedgerVerdict {
  readonly error: AttemptError
  constructor(error: AttemptError) {
    this.error = error
  }
}
