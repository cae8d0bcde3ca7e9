/** Handling the executor's own errors one by one. */
import { Effect } from "effect"
import type { ExecutionError } from "../ToolError.ts"
import { type HasTags, isTagged, type Tagged, type TagOf } from "./tags.ts"

const hasReason = (error: unknown, tags: ReadonlyArray<string>): boolean =>
  isTagged(error, ["ExecutionError"]) && isTagged(reasonOf(error), tags)

const reasonOf = (error: unknown): Tagged<string> => (error as ExecutionError<Tagged<string>>).reason

type ReasonOf<E> = E extends ExecutionError<infer D> ? D : never

/** What is left of an error type when the executor's errors with the given tags have been handled. */
export type ExcludeReason<E, Tag extends string> =
  | Exclude<E, Tagged<"ExecutionError">>
  | ([Exclude<ReasonOf<E>, Tagged<Tag>>] extends [never] ? never : ExecutionError<Exclude<ReasonOf<E>, Tagged<Tag>>>)

/**
 * Like `Effect.catchReason("ExecutionError", …)`, exact in its type: when the last of the executor's errors has been
 * handled, `ExecutionError` is gone. (Effect's own operator leaves it there.)
 *
 * **Example** (Handling the only error there is)
 *
 * ```ts
 * import { Data, Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "recourse"
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
 */
export const catchReason = <E, const Tag extends TagOf<ReasonOf<NoInfer<E>>>, A2, E2, R2>(
  tag: Tag,
  handle: (reason: Extract<ReasonOf<NoInfer<E>>, Tagged<Tag>>) => Effect.Effect<A2, E2, R2>
) =>
<A, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A | A2, ExcludeReason<E, Tag> | E2, R | R2> =>
  Effect.catchIf(
    call,
    (error) => hasReason(error, [tag]),
    (error) => handle(reasonOf(error) as never)
  ) as never

/** {@link catchReason} for several of the executor's errors, as a record of handlers. */
export const catchReasons = <
  E,
  Cases extends {
    readonly [Tag in TagOf<ReasonOf<NoInfer<E>>>]?: (
      reason: Extract<ReasonOf<NoInfer<E>>, Tagged<Tag>>
    ) => Effect.Effect<unknown, unknown, unknown>
  }
>(cases: Cases) =>
<A, R>(
  call: Effect.Effect<A, E, R> & HasTags<ReasonOf<E>, Extract<keyof Cases, string>>
): Effect.Effect<
  A | CaseSuccess<Cases>,
  ExcludeReason<E, Extract<keyof Cases, string>> | CaseError<Cases>,
  R | CaseServices<Cases>
> =>
  Effect.catchIf(
    call as Effect.Effect<A, E, R>,
    (error) => hasReason(error, Object.keys(cases)),
    (error) => {
      const reason = reasonOf(error)
      return (cases as Record<string, (reason: never) => Effect.Effect<unknown, unknown, unknown>>)[reason._tag]!(reason as never)
    }
  ) as never

type CaseSuccess<Cases> = {
  [K in keyof Cases]: Cases[K] extends (...args: never) => Effect.Effect<infer A, infer _E, infer _R> ? A : never
}[keyof Cases]
type CaseError<Cases> = {
  [K in keyof Cases]: Cases[K] extends (...args: never) => Effect.Effect<infer _A, infer E, infer _R> ? E : never
}[keyof Cases]
type CaseServices<Cases> = {
  [K in keyof Cases]: Cases[K] extends (...args: never) => Effect.Effect<infer _A, infer _E, infer R> ? R : never
}[keyof Cases]
