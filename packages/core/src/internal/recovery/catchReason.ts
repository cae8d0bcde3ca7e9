/** `catchReason`: handles the executor's own errors one by one. */
import * as Effect from "effect/Effect"
import type * as Types from "effect/Types"
import { ExecutionError } from "../../ToolError.ts"
import {
  type HasTags,
  type IsStored,
  isTagged,
  type KnownCall,
  type Misplaced,
  type NotOnCalls,
  type OnCalls,
  type OtherTags,
  type Single,
  type Tagged,
  type TagOf
} from "../foundation/errorTags.ts"
import type { HookError, HookServices, HookSuccess } from "../foundation/options/inferredOptions.ts"
import type { OnlyKnown } from "../foundation/options/misspeltName.ts"
import { refusePrototype } from "../foundation/options/plainTable.ts"

type AnyEffect = Effect.Effect<unknown, unknown, unknown>

const hasReason = (error: unknown, tags: ReadonlyArray<string>): error is ExecutionError<Tagged<string>> =>
  error instanceof ExecutionError && isTagged(error.reason, tags)

type Handler = (reason: never, ...params: ReadonlyArray<AnyEffect>) => AnyEffect

type Handlers = Readonly<Record<string, Handler | undefined>>

function handleReasons(call: AnyEffect, cases: Handlers, params: ReadonlyArray<AnyEffect> = []): AnyEffect {
  refusePrototype("Recovery.catchReasons", cases)
  const tags = Object.keys(cases).filter((tag) => cases[tag] !== undefined)
  return Effect.catchIf(
    call,
    (error) => hasReason(error, tags),
    (error) => {
      const { reason } = error as ExecutionError<Tagged<string>>
      return cases[reason._tag]!(reason as never, ...params)
    }
  )
}

/**
 * Any failure of an executor, by a name that readers are shown.
 *
 * @category models
 * @since 0.2.0
 */
export interface AnyExecutionError extends ExecutionError {}

/**
 * The executor's own errors among those of a call.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ReasonOf<E> = E extends ExecutionError<infer D> ? D : never

/**
 * Rest of an error type after the executor's errors with the given tags are handled.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ExcludeReason<E, Tag extends string> = {
  readonly error:
    | Exclude<E, AnyExecutionError>
    | ([Exclude<ReasonOf<E>, Tagged<Tag>>] extends [never] ? never : ExecutionError<Exclude<ReasonOf<E>, Tagged<Tag>>>)
}["error"]

/**
 * Further arguments of a handler: in `Tool.onError` and `onToolError` the decoded arguments of the call.
 *
 * @category models
 * @since 0.2.0
 */
export type HandlerParams = ReadonlyArray<Effect.Effect<unknown, unknown, unknown>>

/**
 * Like `Effect.catchReason("ExecutionError", …)`, exact in its type: when the last of the executor's errors has been
 * handled, `ExecutionError` is gone. (Effect's own operator leaves it there.) In `Tool.onError` and `onToolError` the handler is
 * given the arguments of the call, decoded, after the reason: see `Recovery.fallback`.
 *
 * **Example** (Handling the only error there is)
 *
 * ```ts
 * import { Data, Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * class Empty extends Data.TaggedError("Empty") {}
 *
 * const First = Tool.make("first", {
 *   success: Schema.Int,
 *   execute: () => Effect.fail(new Empty())
 * }).pipe(Tool.onError((call) => call.pipe(Recovery.catchReason("Empty", () => Effect.succeed(0)))))
 *
 * await Effect.runPromise(
 *   First.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })))
 * ) // => 0
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const catchReason: {
  <
    Known,
    const Tag extends
      | TagOf<ReasonOf<Known>>
      | (unknown extends Known ? string
        : unknown extends OnCalls<Known> ? OtherTags<ReasonOf<Known>>
        : NotOnCalls),
    A2 = never,
    E2 = never,
    R2 = never,
    Params extends HandlerParams = []
  >(
    tag: Tag,
    handle: (
      reason:
        | Extract<ReasonOf<Types.NoInfer<Known>>, Tagged<Tag>>
        // Of a recovery that is stored, the tag is known.
        | (unknown extends Types.NoInfer<Known> ? Tagged<Tag> : never),
      ...params: Params
    ) => Effect.Effect<A2, E2, R2>
  ): <A, E, R>(
    call: (Effect.Effect<A, E, R> & KnownCall<A, Known, R> & HasTags<ReasonOf<E>, Tag>) | Misplaced<Known>,
    ...params: Params
  ) => Effect.Effect<A | A2, ExcludeReason<E, Single<Tag>> | E2, R | R2>
  <A, E, R, const Tag extends TagOf<ReasonOf<E>>, A2, E2, R2>(
    call: Effect.Effect<A, E, R>,
    tag: Tag,
    handle: (reason: Extract<ReasonOf<Types.NoInfer<E>>, Tagged<Tag>>) => Effect.Effect<A2, E2, R2>
  ): Effect.Effect<A | A2, ExcludeReason<E, Single<Tag>> | E2, R | R2>
} = ((...of: readonly [AnyEffect, string, Handler] | readonly [string, Handler]) => {
  if (of.length === 3) return handleReasons(of[0], { [of[1]]: of[2] })
  const [tag, handle] = of
  return (call: AnyEffect, ...params: ReadonlyArray<AnyEffect>) => handleReasons(call, { [tag]: handle }, params)
}) as never

/**
 * Handlers by the tags of the executor's errors; of any tags, if those are unknown yet.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Cases<E, Params extends HandlerParams = []> = unknown extends E ? {
    readonly [Tag in string]:
      | ((reason: Tagged<Tag>, ...params: Params) => Effect.Effect<unknown, unknown, unknown>)
      | undefined
  }
  :
    & { readonly [Tag in Exclude<TagOf<ReasonOf<E>>, keyof typeof Object.prototype>]?: CaseHandler<E, Tag, Params> }
    & { readonly [Tag in Extract<TagOf<ReasonOf<E>>, keyof typeof Object.prototype>]?: unknown }

/**
 * Handler of the errors of a tag.
 *
 * @category utility types
 * @since 0.2.0
 */
export type CaseHandler<E, Tag extends string, Params extends HandlerParams> =
  | ((reason: Extract<ReasonOf<E>, Tagged<Tag>>, ...params: Params) => Effect.Effect<unknown, unknown, unknown>)
  | undefined

/**
 * Requires that cases with names of inherited properties take their arguments: TypeScript finds such properties in each
 * table. Derived from the call, because a requirement on the cases would remove their contextual types.
 *
 * @category utility types
 * @since 0.2.0
 */
export type InheritedFit<E, C, Params extends HandlerParams = []> = C extends
  { readonly [Tag in keyof C & TagOf<ReasonOf<E>> & keyof typeof Object.prototype]?: CaseHandler<E, Tag, Params> } ?
  unknown
  : { readonly "A case takes another error than that of its name": never }

/**
 * {@link catchReason} for several of the executor's errors, with a record of handlers.
 *
 * @category combinators
 * @since 0.2.0
 */
export const catchReasons: {
  <Known, C extends Cases<Known, Params>, Params extends HandlerParams = []>(
    cases: unknown extends OnCalls<Known> ?
      C & (IsStored<Known> extends true ? unknown : OnlyKnown<C, TagOf<ReasonOf<Known>>>)
      : OnCalls<Known>
  ): <A, E, R>(
    call:
      | (
        & Effect.Effect<A, E, R>
        & KnownCall<A, Known, R>
        & HasTags<ReasonOf<E>, keyof C & string>
        & InheritedFit<E, C, Params>
      )
      | Misplaced<Known>,
    ...params: Params
  ) => Effect.Effect<
    A | (C extends unknown ? HookSuccess<C, keyof C> : never),
    ExcludeReason<E, CertainCases<C>> | (C extends unknown ? HookError<C, keyof C> : never),
    R | (C extends unknown ? HookServices<C, keyof C> : never)
  >
  <A, E, R, C extends Cases<Types.NoInfer<E>>>(
    call: Effect.Effect<A, E, R> & InheritedFit<NoInfer<E>, C>,
    cases: C & OnlyKnown<C, TagOf<ReasonOf<Types.NoInfer<E>>>>
  ): Effect.Effect<
    A | (C extends unknown ? HookSuccess<C, keyof C> : never),
    ExcludeReason<E, CertainCases<C>> | (C extends unknown ? HookError<C, keyof C> : never),
    R | (C extends unknown ? HookServices<C, keyof C> : never)
  >
} = ((...of: readonly [AnyEffect, Handlers] | readonly [Handlers]) => {
  if (of.length === 2) return handleReasons(...of)
  return (call: AnyEffect, ...params: ReadonlyArray<AnyEffect>) => handleReasons(call, of[0], params)
}) as never

/**
 * The tags that a table handles for certain.
 *
 * @category utility types
 * @since 0.2.0
 */
export type CertainCases<C> = {
  [K in keyof C & string]-?: {} extends Pick<C, K> ? never : undefined extends C[K] ? never : K
}[keyof C & string]
