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
import type { PassThrough } from "../call/execute/effects.ts"
import type { Among, TagOf } from "../foundation/errorTags.ts"
import type { HookError, HookServices, HookSuccess, OptionOf } from "../foundation/options/inferredOptions.ts"
import type { IdempotencyOptions } from "../idempotency/idempotencyOptions.ts"
import type { TransactionFailed } from "../../Journal.ts"

/**
 * True if a call needs an approval, or the Effect that decides it.
 *
 * @category models
 * @since 0.2.0
 */
export type Approves = boolean | Effect.Effect<boolean, never, unknown>

/**
 * Possible `needsApproval`: like in `effect/ai`, and an Effect.
 *
 * @category models
 * @since 0.2.0
 */
export type NeedsApproval<Params, A> = A | ((params: Params, context: { readonly toolCallId: string }) => A)

/**
 * Errors of a call by `needsApproval` and `trust`.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ApprovalError<A, Tr> = [A] extends [undefined | false]
  ? Tr extends "untrusted" ? NotApprovedOnceTainted : never
  : NotApproved

/**
 * Requires that a tool whose executor fails because a call within it waits says so: the run has to know it, and types are gone by then.
 *
 * @category utility types
 * @since 0.2.0
 */
export type DeclaresApprovalRequests<D, O> = [Exclude<Extract<D, NotApproved>, NotApprovedOnceTainted>] extends
  [never] ? unknown
  : O extends { readonly mayRequestApproval: unknown } ? unknown
  : {
    readonly mayRequestApproval: {
      readonly "execute calls a tool that may need an approval: say `mayRequestApproval: true`, or handle NotApproved":
        never
    }
  }

/**
 * Requires that a tool has an executor, and a schema of its result if it has one: without `success` the model reads `null`.
 *
 * @category utility types
 * @since 0.2.0
 */
export type HasExecute<O> = O extends Record<"execute", unknown> ? "success" extends keyof O ? unknown
  : [HookSuccess<O, "execute">] extends [void] ? unknown
  : "`execute` has a result, and `success` is missing: add its Schema, or end with Effect.asVoid."
  : "A tool needs `execute`: the function that runs it."

/**
 * Refuses to compensate reads.
 *
 * @category utility types
 * @since 0.2.0
 */
export type CompensatesWrites<Eff, O> = [Eff] extends ["read"]
  ? "compensate" extends keyof O
    ? { readonly compensate: "compensate is for tools that do something, and this one only reads." }
  : unknown
  : unknown

/**
 * Type of an option that may be there only sometimes: `undefined` is a part of it then, and all of it without one.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Given<O, Key extends string, Value> = O extends Record<Key, unknown> ? Value
  : Key extends keyof O ? Value | undefined
  : undefined

/**
 * Services of `needsApproval`.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ApprovalServices<A> = A extends Effect.Effect<infer _A, infer _E, infer R> ? R : never

/**
 * Error of the call for the executor's error type: an error that already defines the next step stays. A wide error
 * (`Error`, `unknown`) may be one of those, and so lists them.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ExecuteError<D> = {
  readonly error:
    | Among<D, PassThrough>
    | Extract<D, NotApprovedOnceTainted>
    | ([Exclude<D, PassThrough>] extends [never] ? never : ExecutionError<Exclude<D, PassThrough>>)
}["error"]

/**
 * Error of the call for a timeout of one attempt. For a write without an answer the outcome is unknown.
 *
 * @category utility types
 * @since 0.2.0
 */
export type TimeoutError<Eff, O, Id = undefined> = [OptionOf<O, "timeout">] extends [undefined] ? never
  : Eff extends "write" ? OutcomeUnknown
  : Eff extends undefined ? Id extends undefined ? Timeout : OutcomeUnknown
  : Timeout

/**
 * Errors of a started write in any composition: interrupted, raced, timed.
 *
 * @category utility types
 * @since 0.2.0
 */
export type WriteError<Eff> = Eff extends "write" ? OutcomeUnknown : never

/**
 * Errors of the call by `transaction`: it may be rolled back, and then it is not done.
 *
 * @category utility types
 * @since 0.2.0
 */
export type TransactionError<O> = O extends Record<"transaction", unknown>
  ? ExecutionError<TransactionFailed> | ([OptionOf<O, "timeout">] extends [undefined] ? never : Timeout)
  : never

/**
 * Possible `idempotency`. If absent, it is the whole of this type: see {@link Given}.
 *
 * @category models
 * @since 0.2.0
 */
export type AnyIdempotency<P extends Schema.Top, S extends Schema.Top, D> =
  | true
  | IdempotencyOptions<P["Type"], S["Type"], TagOf<D>>
  | undefined

/**
 * Errors of the call by `idempotency`.
 *
 * @category utility types
 * @since 0.2.0
 */
export type IdempotencyError<Id> = [Id] extends [undefined] ? never
  : OutcomeUnknown | IdempotencyConflict | LedgerUnavailable

/**
 * Services of `idempotency`.
 *
 * @category utility types
 * @since 0.2.0
 */
export type IdempotencyServices<Id> = [Id] extends [undefined] ? never
  :
    | IdempotencyLedger
    | (Id extends Record<"reconcile", (...args: never) => Effect.Effect<infer _A, infer _E, infer R>> ? R : never)

/**
 * The question for the state of a task.
 *
 * @category utility types
 * @since 0.2.0
 */
export type StatusOf<A, O = {}> = (
  taskId: string
) => Effect.Effect<A, HookError<O, "status">, HookServices<O, "status">>

/**
 * Errors of the call by `status`: both have one recovery.
 *
 * @category utility types
 * @since 0.2.0
 */
export type StatusError<O> = [OptionOf<O, "status">] extends [undefined] ? never
  : ExecuteError<HookError<O, "status">> | TimeoutError<"read", O>

/**
 * The schema services that a tool needs: results are encoded for the model, and decoded from a ledger or a person.
 *
 * @category utility types
 * @since 0.2.0
 */
export type SchemaServices<P extends Schema.Top, S extends Schema.Top> =
  | P["DecodingServices"]
  | S["EncodingServices"]
  | S["DecodingServices"]
