/** Fallback: another effect answers in the tool's place. */
import * as Effect from "effect/Effect"
import type * as Types from "effect/Types"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { inPlace, overtaken } from "../call/execute/effects.ts"
import { noteDegraded } from "../call/record/marks.ts"
import type { Degraded } from "../projection/degradedMark.ts"
import { checkArgument, either, listOf, oneOf } from "../foundation/options/optionCheck.ts"
import { CurrentRun, emit } from "../run/run.ts"
import { ToolCall } from "../call/call.ts"
import {
  catchTags,
  type CertainTags,
  type HasTags,
  type KnownCall,
  type Misplaced,
  type OtherTags,
  type Single,
  type Tagged,
  type TagOf
} from "../foundation/errorTags.ts"
import { subjectOf } from "../call/record/record.ts"
import type { HandlerParams } from "./catchReason.ts"

/**
 * Failures that another answer may replace. `OutcomeUnknown` is excluded, because the write may have happened. A write
 * that may have happened fails with no other tag, also if a later attempt was refused.
 *
 * @category models
 * @since 0.2.0
 */
export type FallbackTag = "InvalidArgs" | "ExecutionError" | "Timeout" | "CircuitOpen" | "LedgerUnavailable"

/**
 * The tags that are named, alone or in a list.
 *
 * @category utility types
 * @since 0.2.0
 */
export type NamedIn<Tags> = Tags extends ReadonlyArray<infer Tag extends string> ? Tag : Extract<Tags, string>

/**
 * The tags that are named, whatever a condition says.
 *
 * @category utility types
 * @since 0.2.0
 */
export type CertainlyNamedIn<Tags> = Single<Tags> extends infer Certain
  ? Certain extends ReadonlyArray<string> ? Extract<CertainTags<Certain>, string> : Extract<Certain, string>
  : never

/**
 * Mark of an answer from another source.
 *
 * @category options
 * @since 0.2.0
 */
export interface FallbackOptions<in A> {
  /**
   * Marks the result as `degraded`: the model is given `{ degraded: { source, asOf? }, result }`, and events say so to the
   * user. Code that uses the answer sees it without the mark. Default: no mark.
   */
  readonly degraded?: Degraded | ((answer: A) => Degraded) | undefined
}

/** The compiler's message for an answer that is no Effect: no value has the property. */
interface NoAnswer {
  readonly "a fallback is an Effect, or a function that answers one: Effect.succeed(value)": never
}

const aFallbackTag = oneOf(
  ...["InvalidArgs", "ExecutionError", "Timeout", "CircuitOpen", "LedgerUnavailable"] satisfies ReadonlyArray<
    FallbackTag
  >
)

/**
 * An invalid answer would otherwise blame a later operator. A value that is defined below its use is `undefined` there.
 */
const checkAnswer = (tags: string | ReadonlyArray<string>, answer: unknown): void => {
  checkArgument("Recovery.fallback", "its tag", tags, either(aFallbackTag, listOf(aFallbackTag)))
  if (typeof answer === "function" || Effect.isEffect(answer)) return
  throw new ConfigurationError({
    subject: `Recovery.fallback of ${typeof tags === "string" ? tags : tags.join(", ")}`,
    problem: `a fallback is an Effect, or a function that answers one, and this is ${
      answer === undefined ? "undefined: is it declared below this line?" : `a value of type ${typeof answer}`
    }`
  })
}

const answerFor = <A, E, R, Params extends ReadonlyArray<unknown>>(
  effect: Effect.Effect<A, E, R> | ((error: never, ...params: Params) => Effect.Effect<A, E, R>) | NoAnswer,
  error: unknown,
  params: Params
): Effect.Effect<A, E, R> =>
  typeof effect === "function"
    ? Effect.suspend(() => effect(error as never, ...params))
    : effect as Effect.Effect<A, E, R>

/**
 * Answers from another effect instead of failures with the given tags, or from a function of the error and of the last
 * decoded arguments. The arguments are an Effect, which fails with `InvalidArgs` if none fitted. `Tool.onError` and
 * `onToolError` provide them; a piped call does not: use those of `Tool.onError` there.
 *
 * **Example** (A cached answer when the service is down)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
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
 *
 * **Example** (Stored data of the same article)
 *
 * ```ts
 * import { Effect, Schema } from "effect"
 * import { Recovery, Tool, ToolCall } from "@recourse/core"
 *
 * const known = new Map([["tea", 3]])
 * const Price = Tool.make("price", {
 *   parameters: Schema.Struct({ article: Schema.String }),
 *   success: Schema.Number,
 *   effects: "read",
 *   execute: () => Effect.fail("down" as const)
 * }).pipe(
 *   Tool.onError(
 *     Recovery.fallback("ExecutionError", (_, params) => Effect.map(params, ({ article }) => known.get(article) ?? 0))
 *   )
 * )
 *
 * await Effect.runPromise(
 *   Price.call.pipe(Effect.provideService(ToolCall.ToolCall, ToolCall.make({ id: "c1", arguments: { article: "tea" } })))
 * ) // => 3
 * ```
 *
 * **Example** (Marking the cached answer for the model)
 *
 * ```ts
 * import { DateTime, Effect, Schema } from "effect"
 * import { Agent, Recovery, Tool } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const Price = Tool.make("price", {
 *   success: Schema.Number,
 *   effects: "read",
 *   execute: () => Effect.fail("down" as const)
 * }).pipe(
 *   Tool.onError(
 *     Recovery.fallback("ExecutionError", Effect.succeed(9), {
 *       degraded: { source: "cache", asOf: DateTime.makeUnsafe("2026-01-01T00:00:00Z") }
 *     })
 *   )
 * )
 *
 * const told = Agent.make("buyer", { tools: [Price] }).run("What does it cost?").pipe(
 *   Effect.andThen(ScriptedModel.ScriptedModel),
 *   Effect.flatMap((script) => script.lastRequest),
 *   Effect.map((request) => JSON.stringify(request.prompt.content.at(-1)).includes(
 *     "{\"degraded\":{\"source\":\"cache\",\"asOf\":\"2026-01-01T00:00:00.000Z\"},\"result\":9}"
 *   ))
 * )
 *
 * await Effect.runPromise(
 *   told.pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("price", {}), ScriptedModel.text("9")])))
 * ) // => true
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const fallback = <
  Known,
  const Tags extends
    | Extract<TagOf<Known>, FallbackTag>
    | OtherTags<Known, FallbackTag>
    | ReadonlyArray<Extract<TagOf<Known>, FallbackTag> | OtherTags<Known, FallbackTag>>,
  A2 = never,
  E2 = never,
  R2 = never,
  Params extends HandlerParams = []
>(
  tags: Tags,
  effect:
    | Effect.Effect<A2, E2, R2>
    | ((
      error:
        | Extract<Types.NoInfer<Known>, Tagged<NamedIn<Types.NoInfer<Tags>>>>
        // Of a recovery that is stored, the tags are known.
        | (unknown extends Types.NoInfer<Known> ? Tagged<NamedIn<Types.NoInfer<Tags>>> : never),
      ...params: Params
    ) => Effect.Effect<A2, E2, R2>)
    | { readonly "a fallback is an Effect, or a function that answers one: Effect.succeed(value)": never },
  options?: FallbackOptions<Types.NoInfer<A2>>
) => {
  checkAnswer(tags, effect)
  return <A, E, R>(
    call: (Effect.Effect<A, E, R> & KnownCall<A, Known, R> & HasTags<E, NamedIn<Tags>>) | Misplaced<Known>,
    ...params: Params
  ): Effect.Effect<A | A2, Exclude<E, Tagged<CertainlyNamedIn<Tags>>> | E2, R | R2 | ToolCall> =>
    catchTags(
      call as Effect.Effect<A, E, R>,
      typeof tags === "string" ? [tags] : tags,
      (error) =>
        Effect.flatMap(ToolCall, ({ record }) =>
          overtaken(record, effect) ?? Effect.flatMap(CurrentRun, (run) => {
            const answered = Effect.suspend(() =>
              overtaken(record, effect) ?? inPlace(record, effect, answerFor(effect, error, params))
            )
            return Effect.andThen(
              emit(run, () => ({ _tag: "ToolFallback", ...subjectOf(record), error: error._tag })),
              Effect.tap(answered, (answer) =>
                Effect.sync(() => {
                  const { degraded } = options ?? {}
                  if (degraded === undefined) return
                  noteDegraded(record, [typeof degraded === "function" ? degraded(answer) : degraded])
                }))
            )
          }))
    ) as never
}
