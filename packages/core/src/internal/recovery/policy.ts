/**
 * Recovery policies: a table by error tag for every tool. The policy's type says which errors it removes and which it
 * adds.
 */
import * as Effect from "effect/Effect"
import * as Function from "effect/Function"
import { ToolCall } from "../call/call.ts"
import { rethrowError } from "../call/repetition.ts"
import type { Escalation, ExecutionError, OutcomeUnknown, Timeout } from "../../ToolError.ts"
import { anObject, checkOptions, either, type Kind, oneOf } from "../foundation/options/optionCheck.ts"
import { escalate } from "./escalate.ts"
import type { Fixer, FixInput, FixOptions, TextFixer } from "./fix.ts"
import type { FixTag } from "./fixRequest.ts"
import { isTransient, mayRepeat, retryBy, type RetryOptions, type Rule, ruleOf } from "./retry.ts"
import type { OptionOf } from "../foundation/options/inferredOptions.ts"
import { catchTags, isTagged, type Tagged } from "../foundation/errorTags.ts"

/**
 * The errors that a policy can decide about.
 *
 * @category models
 * @since 0.2.0
 */
export type PolicyTag =
  | "InvalidArgs"
  | "ExecutionError"
  | "Timeout"
  | "OutcomeUnknown"
  | "InvalidResult"
  | "IdempotencyConflict"
  | "LedgerUnavailable"
  | "CircuitOpen"
  | "PartialSuccess"

/**
 * Ending of one error: escalate it to the model, or let it pass. A rethrown error is neither retried nor fixed by an
 * outer level; an outer level that escalates or catches it still does.
 *
 * @category models
 * @since 0.2.0
 */
export type Ending = "escalate" | "rethrow"

/**
 * Retry of one error, and the ending after it. A write with an idempotency key and an unknown outcome is retried by the
 * failure of its attempt: by the entry for `Timeout` if it did not answer in time, and by that for `ExecutionError`
 * otherwise.
 *
 * @category models
 * @since 0.2.0
 */
export interface RetryEntry<E = ExecutionError | Timeout> {
  /** `while` says which of the errors are retried. Default: those that are not declared as permanent. */
  readonly retry: RetryOptions<E | OutcomeUnknown>
  readonly otherwise: Ending
}

/**
 * Fix of one error, and the ending after it.
 *
 * @category models
 * @since 0.2.0
 */
export interface FixEntry<Tag extends FixTag, FE, FR> {
  readonly fix: Fixer<FixInput<Tag>, string, FE, FR> | TextFixer<string, FE, FR>
  readonly times?: FixOptions["times"]
  readonly otherwise: Ending
}

/**
 * A table by error tag. Results are never retried, and neither is an unknown outcome of a write without a key. `FE` and
 * `FR` are the errors and services of its fixers.
 *
 * @category models
 * @since 0.2.0
 */
export interface Table<out FE = never, out FR = never> {
  readonly InvalidArgs?: Ending | FixEntry<"InvalidArgs", FE, FR>
  readonly ExecutionError?: Ending | RetryEntry<ExecutionError> | FixEntry<"ExecutionError", FE, FR>
  readonly Timeout?: Ending | RetryEntry<Timeout>
  readonly OutcomeUnknown?: Ending
  readonly InvalidResult?: Ending
  readonly IdempotencyConflict?: Ending
  readonly LedgerUnavailable?: Ending
  readonly CircuitOpen?: Ending
  readonly PartialSuccess?: Ending
}

/**
 * Any table.
 *
 * @category models
 * @since 0.2.0
 */
export interface AnyTable extends Table<unknown, unknown> {}

/** A table without fixes. */
export type TableWithoutFixes = { readonly [K in keyof Table]?: Exclude<Table[K], { readonly fix: unknown }> }

/**
 * The brand of policies.
 *
 * @category type IDs
 * @since 0.2.0
 */
export const PolicyTypeId = "~@recourse/core/Recovery/Policy" as const

/** Effect of a policy on an error type. */
interface Decides<in out Handles extends string, out Adds, out R> {
  readonly handles: (handles: Handles) => Handles
  readonly adds: Adds
  readonly services: R
}

/**
 * Recovery for every tool. `Handles` are the escalated tags, `Adds` its further errors, `R` its services. It is a
 * function from call to call, so it can be used for one tool too.
 *
 * A policy is invariant: it handles exactly the errors in its type.
 *
 * @category models
 * @since 0.2.0
 */
export interface RecoveryPolicy<in out Handles extends string, out Adds, out R> {
  /** @internal Its effect on an error type. */
  readonly [PolicyTypeId]: Decides<Handles, Adds, R>
  readonly table: AnyTable
  <A, E, R2>(call: Effect.Effect<A, E, R2>): Effect.Effect<A, Recovered<E, Handles, Adds>, R | R2 | ToolCall>
}

/**
 * Any policy.
 *
 * @category models
 * @since 0.2.0
 */
export interface AnyPolicy {
  /** @internal */
  readonly [PolicyTypeId]: { readonly handles: unknown; readonly adds: unknown; readonly services: unknown }
  readonly table: AnyTable
  <A, E, R2>(call: Effect.Effect<A, E, R2>): Effect.Effect<A, unknown, unknown>
}

/**
 * The empty policy.
 *
 * @category models
 * @since 0.2.0
 */
export type NoPolicy = RecoveryPolicy<never, never, never>

/**
 * An error type after a policy.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Recovered<E, Handles extends string, Adds> = {
  readonly error:
    | Exclude<E, Tagged<Handles>>
    | ([Extract<E, Tagged<Handles>>] extends [never] ? never : Escalation)
    | Adds
}["error"]

/**
 * Declaration for all tools. The second type is a sentence: no value has it, and the compiler shows it.
 *
 * @category models
 * @since 0.2.0
 */
export interface Defaults {
  readonly onError?:
    | AnyPolicy
    | { readonly "recovery of all tools is a table by tag: use Recovery.policy({ ... })": never }
    | undefined
}

/**
 * The policy that is declared for all tools, of several any of them.
 *
 * @category utility types
 * @since 0.2.0
 */
export type DefaultOf<O> = Exclude<OptionOf<OptionOf<O, "defaults">, "onError">, undefined>

/**
 * An error type after the policy that is declared for all tools, which may be there only sometimes.
 *
 * @category utility types
 * @since 0.2.0
 */
export type AfterDefaults<E, O> = [DefaultOf<O>] extends [never] ? E
  :
    | (DefaultOf<O> extends infer P
      ? P extends RecoveryPolicy<infer Handles, infer Adds, infer _R> ? Recovered<E, Handles, Adds> : E
      : never)
    | ((O extends Record<"defaults", infer D> ? [D] extends [Record<"onError", {}>] ? true : false : false) extends true
      ? never
      : E)

/**
 * Services of one of several policies.
 *
 * @category utility types
 * @since 0.2.0
 */
export type PolicyServices<P> = P extends RecoveryPolicy<infer _Handles, infer _Adds, infer R> ? R : never

/**
 * Tags that end with the model, in each branch of a condition. A conditional entry handles none.
 *
 * @category utility types
 * @since 0.2.0
 */
export type HandledTags<T> = {
  [K in keyof T & string]-?: [T[K]] extends ["escalate" | Record<"otherwise", "escalate">] ? K : never
}[keyof T & string]

/**
 * The ending of an entry of a table.
 *
 * @category utility types
 * @since 0.2.0
 */
export type EndingOf<Entry> = Entry extends Record<"otherwise", infer Otherwise> ? Otherwise : Entry

/**
 * Additions of a policy that escalates an error only conditionally.
 *
 * @category utility types
 * @since 0.2.0
 */
export type SometimesEscalates<T, Certain = HandledTags<T>> = T extends unknown ? {
    [K in Exclude<keyof T & string, Certain>]-?: "escalate" extends EndingOf<T[K]> ? Escalation : never
  }[Exclude<keyof T & string, Certain>]
  : never

/** A step of a policy on a call. */
export type Step = (call: Effect.Effect<unknown, unknown, unknown>) => Effect.Effect<unknown, unknown, unknown>

const fails = (tag: PolicyTag) => (error: unknown): boolean =>
  isTagged(error, [tag]) || (mayRepeat(error) && error.causes.at(-1)?.error === tag)

const ruleFor = (tag: PolicyTag, { retry }: RetryEntry<never>): Rule => {
  const applies = (retry.while ?? isTransient) as Rule["applies"]
  return ruleOf(`Recovery.policy, ${tag}`, retry, (error) => fails(tag)(error) && applies(error))
}

/** Passes an error that no outer level retries or fixes. */
const rethrow = (tag: PolicyTag): Step => (call) =>
  catchTags(call, [tag], (error) =>
    Effect.flatMap(ToolCall, ({ record }) => {
      rethrowError(record, error)
      return Effect.fail(error)
    }))

const ends = (tag: PolicyTag, entry: Exclude<AnyTable[PolicyTag], undefined>): Step => {
  if (entry === "rethrow") return rethrow(tag)
  return (typeof entry === "string" ? entry : entry.otherwise) === "escalate"
    ? escalate(tag) as never
    : Function.identity
}

const endings = oneOf("escalate", "rethrow")

/** An entry with steps before its ending. The steps check themselves. */
const someSteps: Kind = {
  is: (value) => {
    if (!anObject.is(value)) return false
    const { fix, otherwise, retry } = value as Readonly<Record<string, unknown>>
    return (retry !== undefined || fix !== undefined) && endings.is(otherwise)
  },
  called: "{ retry: { times: 2 }, otherwise: \"escalate\" }"
}

const anEntry = either(endings, someSteps)

const tableOptions = {
  kinds: {
    InvalidArgs: anEntry,
    ExecutionError: anEntry,
    Timeout: anEntry,
    OutcomeUnknown: endings,
    InvalidResult: endings,
    IdempotencyConflict: endings,
    LedgerUnavailable: endings,
    CircuitOpen: endings,
    PartialSuccess: endings
  } satisfies Readonly<Record<PolicyTag, Kind>>,
  otherNames: {}
}

/** Makes a policy of a table and of its fixing steps. Errors that the table does not mention pass unchanged. */
export const policyOf = (table: AnyTable, fixes: ReadonlyArray<Step>): AnyPolicy => {
  checkOptions("Recovery.policy", table, tableOptions)
  const tags = (Object.keys(table) as ReadonlyArray<PolicyTag>).filter((tag) => table[tag] !== undefined)
  const rules = tags.flatMap((tag) => {
    const entry = table[tag]!
    return typeof entry !== "string" && "retry" in entry ? [ruleFor(tag, entry)] : []
  })
  // Fixes are around retries, so that a retry has the arguments of the fixer.
  const all = [...rules.length === 0 ? [] : [retryBy(rules)], ...fixes, ...tags.map((tag) => ends(tag, table[tag]!))]
  const apply = (call: Effect.Effect<unknown, unknown, unknown>) =>
    all.reduce((recovered, step) => step(recovered), call)
  return Object.assign(apply, { [PolicyTypeId]: PolicyTypeId, table }) as never
}

/** Makes a policy of a table without fixes. */
export const policyWithoutFixes = <const T extends TableWithoutFixes>(
  table: T
): RecoveryPolicy<HandledTags<T>, SometimesEscalates<T>, never> => policyOf(table, []) as never
