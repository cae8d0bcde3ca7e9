/** Answers from elsewhere. */
import { Effect } from "effect"
import { CurrentRun, emit } from "../internal/run.ts"
import { ToolCall } from "../ToolCall.ts"
import { catchTags, type HasTags, type Tagged } from "./tags.ts"

/** Failures that another answer may take the place of. `OutcomeUnknown` is not among them: nobody knows what happened. */
export type FallbackTag = "InvalidArgs" | "ExecutionError" | "Timeout"

/**
 * Answers from another effect in place of failures with the given tags.
 *
 * **Example** (A cached answer when the service is down)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "recourse"
 *
 * const Rate = Tool.make("rate", {
 *   success: Schema.Number,
 *   effects: "read",
 *   execute: () => Effect.fail("down" as const)
 * }).pipe(Tool.onError(Recovery.fallback("ExecutionError", Effect.succeed(1.1))))
 *
 * await Effect.runPromise(
 *   Rate.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: {} })))
 * ) // => 1.1
 * ```
 */
export const fallback = <const Tag extends FallbackTag, A2, E2, R2>(
  tag: Tag | ReadonlyArray<Tag>,
  effect: Effect.Effect<A2, E2, R2>
) =>
<A, E, R>(
  call: Effect.Effect<A, E, R> & HasTags<E, Tag>
): Effect.Effect<A | A2, Exclude<E, Tagged<Tag>> | E2, R | R2 | ToolCall> =>
  catchTags(
    call as Effect.Effect<A, E, R>,
    Array.isArray(tag) ? tag : [tag],
    (error) =>
      Effect.flatMap(ToolCall, (current) =>
        Effect.flatMap(CurrentRun, (run) =>
          Effect.andThen(
            emit(run, () => ({
              _tag: "ToolFallback",
              callId: current.id,
              tool: current.record.tool?.name ?? "",
              error: error._tag
            })),
            effect
          )))
  ) as never
