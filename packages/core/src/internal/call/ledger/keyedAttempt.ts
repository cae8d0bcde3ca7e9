/** Keyed attempt: an attempt under an idempotency key, with its state. */
import type * as Duration from "effect/Duration"
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { Idempotency } from "../../idempotency/idempotencyOptions.ts"
import type { Run } from "../../run/run.ts"
import type { Call } from "../call.ts"
import { isEnd, type KeyEvent, type KeyState, keyTransitions } from "./keyStates.ts"

/** The attempt that asks. */
export interface Asking {
  readonly call: Call
  readonly run: Run | undefined
  readonly tool: string
  readonly params: unknown
  readonly raw: Readonly<Record<string, unknown>>
  readonly success: Schema.Top
  /** Time limit of an attempt; default: none. */
  readonly timeout?: Duration.Duration | undefined
}

/** Ends of an attempt that may not run. */
export interface Refusals<E> {
  readonly conflict: (entry: string) => Effect.Effect<never, E>
  readonly unavailable: (reason: unknown) => Effect.Effect<never, E>
  readonly unknown: (sinceMillis: number) => Effect.Effect<never, E>
}

/** A key, the id of its entry in the ledger, and the hash of the arguments. */
export interface Identity {
  readonly key: string
  readonly id: string
  readonly hash: string
}

/** The attempt, or the rest of it. */
export type UnderKey = Effect.Effect<unknown, unknown, unknown>

export interface KeyedOptions {
  readonly idempotency: Idempotency
  readonly asking: Asking
  readonly identity: Identity
  readonly refusals: Refusals<unknown>
  readonly execute: (key: string, isAgain: boolean) => UnderKey
  /** From the intent on, only waits, `reconcile` and the execution can be interrupted. */
  readonly restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}

export class KeyedAttempt {
  readonly idempotency: Idempotency
  readonly asking: Asking
  readonly identity: Identity
  readonly refusals: Refusals<unknown>
  readonly execute: KeyedOptions["execute"]
  readonly restore: KeyedOptions["restore"]
  private now: KeyState = "unclaimed"

  constructor({ asking, execute, idempotency, identity, refusals, restore }: KeyedOptions) {
    this.idempotency = idempotency
    this.asking = asking
    this.identity = identity
    this.refusals = refusals
    this.execute = execute
    this.restore = restore
  }

  get state(): KeyState {
    return this.now
  }

  /** Makes a transition. One that the state does not have is a defect of the machine. */
  move(event: KeyEvent): void {
    const { from, to } = keyTransitions[event]
    if (!(from as ReadonlyArray<KeyState>).includes(this.now)) {
      throw new Error(`An attempt under a key cannot ${event} in the state "${this.now}"`)
    }
    this.now = to
  }

  /** Makes a transition, unless the attempt has ended already: it is lost or refused. */
  end(event: KeyEvent): void {
    if (!isEnd(this.now)) this.move(event)
  }

  /** Ends the attempt because the ledger gives no answer. */
  unavailable(error: { readonly reason: unknown }): Effect.Effect<never, unknown> {
    this.move("refuse")
    return this.refusals.unavailable(error.reason)
  }

  /** Ends the attempt because the key has other arguments. */
  conflict(): Effect.Effect<never, unknown> {
    this.move("refuse")
    return this.refusals.conflict(this.identity.id)
  }

  /** Ends the attempt because the outcome of its key is not known. */
  unknown(sinceMillis: number): Effect.Effect<never, unknown> {
    this.move("doubt")
    return this.refusals.unknown(sinceMillis)
  }
}
