/** Call types: how the options of `Tool.make` change a call's error and service types. */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { IdempotencyLedger } from "../idempotency/ledgerService.ts"
import type { NotApproved, NotApprovedOnceTainted } from "../../ToolError.ts"
import {
  type ExecutionError,
  type IdempotencyConflict,
  type LedgerUnavailable,
  type OutcomeUnknown,
  type Timeout
} from "../../ToolError.ts"
import type { PassThrough } from "../call/execute/passThrough.ts"
import type { Among, TagOf } from "../foundation/errorTags.ts"
import type { IdempotencyOptions } from "../idempotency/idempotencyOptions.ts"
import type { TransactionFailed } from "../../Journal.ts"

/** Whether a call needs an approval, or what finds out. */
export type Approves = boolean | Effect.Effect<boolean, never, unknown>

/** What `needsApproval` may be: as in `effect/ai`, and an Effect. */
export type NeedsApproval<Params, A> = A | ((params: Params, context: { readonly toolCallId: string }) => A)

/** What `needsApproval` and `trust` add to what a call can fail with. */
export type ApprovalError<A, Tr> = [A] extends [undefined | false]
  ? Tr extends "untrusted" ? NotApprovedOnceTainted : never
  : NotApproved

/** What `asks` adds to what a call can fail with: a run that may wait for a call within the executor. */
export type AsksError<O> = "asks" extends keyof O ? NotApproved : never

/** Asks that a tool whose executor fails because a call within it waits says so: the run has to know it, and types are gone by then. */
export type DeclaresAsks<D, O> = [Exclude<Extract<D, NotApproved>, NotApprovedOnceTainted>] extends [never] ? unknown
  : O extends { readonly asks: unknown } ? unknown
  : {
    readonly asks: {
      readonly "execute calls a tool that may need an approval: say `asks: true`, or handle NotApproved": never
    }
  }

/** Asks that a tool has an executor. */
export type HasExecute<O> = O extends { readonly execute: unknown } ? unknown
  : "A tool needs `execute`: the function that runs it."

/** Refuses to undo what is not done. */
export type UndoesWrites<Eff, O> = [Eff] extends ["read"]
  ? "compensate" extends keyof O
    ? { readonly compensate: "compensate is for tools that do something, and this one only reads." }
  : unknown
  : unknown

/** The type of an option that may be there only sometimes: `undefined` is a part of it then, and all of it without one. */
export type Given<O, Key extends string, Value> = O extends { readonly [_ in Key]: unknown } ? Value
  : Key extends keyof O ? Value | undefined
  : undefined

/** What `needsApproval` needs. */
export type ApprovalServices<A> = A extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

/**
 * What the executor's error type becomes in the error type of the call: an error that already says what is to happen stays
 * what it is. A wide error (`Error`, `unknown`) may be one of those, and so lists them.
 */
export type ExecuteError<D> = {
  readonly error:
    | Among<D, PassThrough>
    | Extract<D, NotApprovedOnceTainted>
    | ([Exclude<D, PassThrough>] extends [never] ? never : ExecutionError<Exclude<D, PassThrough>>)
}["error"]

/** What a timeout of one attempt becomes in the error type of the call. Of a write without an answer nobody knows. */
export type TimeoutError<Eff, T, Id = undefined> = [T] extends [undefined] ? never
  : Eff extends "write" ? OutcomeUnknown
  : Eff extends undefined ? Id extends undefined ? Timeout : OutcomeUnknown
  : Timeout

/** What a write can fail with once its executor has begun, however it is run: interrupted, raced, timed. */
export type WriteError<Eff> = Eff extends "write" ? OutcomeUnknown : never

/** What `transaction` adds to the error type of the call: it may be rolled back, and then nothing is done. */
export type TransactionError<O, T> = O extends { readonly transaction: unknown }
  ? ExecutionError<TransactionFailed> | ([T] extends [undefined] ? never : Timeout)
  : never

/** What `idempotency` may be. Left out, it is the whole of this type: see {@link Given}. */
export type AnyIdempotency<P extends Schema.Top, S extends Schema.Top, D> =
  | true
  | IdempotencyOptions<P["Type"], S["Type"], TagOf<D>>
  | undefined

/** What `idempotency` adds to the error type of the call. */
export type IdempotencyError<Id> = [Id] extends [undefined] ? never
  : OutcomeUnknown | IdempotencyConflict | LedgerUnavailable

/** What `idempotency` needs. */
export type IdempotencyServices<Id> = [Id] extends [undefined] ? never
  :
    | IdempotencyLedger
    | (Id extends { readonly reconcile: (...args: never) => Effect.Effect<infer _A, infer _E, infer R> } ? R : never)

/** The question for the state of a task. */
export type StatusOf<A> = (taskId: string) => Effect.Effect<A, unknown, unknown>

/** What `status` adds to the error type of the call: recovery is one for both. */
export type StatusError<St, T> = St extends (...args: never) => Effect.Effect<infer _A, infer D, infer _R> ?
  ExecuteError<D> | TimeoutError<"read", T>
  : never

/** What `status` needs. */
export type StatusServices<St> = St extends (...args: never) => Effect.Effect<infer _A, infer _E, infer R> ? R
  : never

/** What results need: they are encoded for the model, and decoded where a ledger or a person gives them. */
export type ResultServices<S extends Schema.Top> = S["EncodingServices"] | S["DecodingServices"]

/** The schema services that a tool needs. */
export type SchemaServices<P extends Schema.Top, S extends Schema.Top> = P["DecodingServices"] | ResultServices<S>
