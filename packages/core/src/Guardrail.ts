/**
 * Guardrails: effects that check an agent's input and its final answer. A guard passes, replaces the value, or fails
 * with an error of its own. The error ends the run and is in the agent's error type.
 *
 * The input guard runs in parallel to the first model request, so that a slow guard costs no time. Until it has passed,
 * no part of the model's answer is emitted and no call runs. If it fails or replaces the input, the request is
 * interrupted. The output guard checks the final answer before it is emitted; streamed text of the agent is emitted at
 * the end of its turn.
 *
 * `OutputGuard` checks outputs of tools with the same vocabulary: an effect that succeeds with `undefined` passes.
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * The checked value is replaced.
 *
 * @category models
 * @since 0.2.0
 */
export class Change<out A> {
  readonly _tag = "Change"
  readonly value: A
  constructor(value: A) {
    this.value = value
  }
}

/**
 * Replaces the checked value: the input before the model reads it, the answer before the caller does.
 *
 * @category constructors
 * @since 0.2.0
 */
export const change = <A>(value: A): Change<A> => new Change(value)

/**
 * Checks an input or an answer: succeeds with `undefined` to pass, with {@link change} to replace it, or fails to end
 * the run.
 *
 * **Example** (An input that is refused, and an answer that is changed)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent, Guardrail } from "@recourse/core"
 * import { ScriptedModel } from "@recourse/testing"
 *
 * const clerk = Agent.make("clerk", {
 *   guardInput: (text) =>
 *     text.includes("password") ? Effect.fail(new Guardrail.UnsafeInput({ category: "secrets" })) : Effect.void,
 *   guardOutput: (text) => Effect.succeed(Guardrail.change(text.replaceAll("Ada", "[name]")))
 * }).pipe(Agent.provide(ScriptedModel.layer(() => ScriptedModel.text("Ada called."))))
 *
 * await Effect.runPromise(clerk.run("Who called?")) // => "[name] called."
 * const refused = await Effect.runPromise(Effect.flip(clerk.run("My password is x")))
 * refused._tag // => "UnsafeInput"
 * ```
 *
 * @category models
 * @since 0.2.0
 */
export type Guard<A, E = never, R = never> = (value: A) => Effect.Effect<void | Change<A>, E, R>

/**
 * The run that a final answer is of.
 *
 * @category models
 * @since 0.2.0
 */
export interface Answered {
  /**
   * All messages, including the answer and the run's first conversation. `History.claims` reports the known state of
   * its calls.
   */
  readonly transcript: Prompt.Prompt
}

/**
 * Checks a final answer, as a {@link Guard} does, together with the transcript of the run.
 *
 * @category models
 * @since 0.2.0
 */
export type AnswerGuard<A, E = never, R = never> = (
  answer: A,
  run: Answered
) => Effect.Effect<void | Change<A>, E, R>

/** @internal Any guard. */
export type AnyGuard = Guard<unknown, unknown, unknown>

/** @internal Any guard of a final answer. */
export type AnyAnswerGuard = AnswerGuard<unknown, unknown, unknown>

/**
 * An input that must not reach the model; guards fail with it. `category` names the finding, in the guard's own words.
 *
 * @category errors
 * @since 0.2.0
 */
export class UnsafeInput extends Schema.TaggedError<UnsafeInput>()("UnsafeInput", {
  category: Schema.String
}) {
  override get message(): string {
    return `Unsafe input: ${this.category}`
  }
}
