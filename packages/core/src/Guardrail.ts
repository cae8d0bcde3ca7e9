/**
 * Guardrails: effects that look at an agent's input and at its final answer. A guard passes, changes what it looks at, or fails with an error of
 * its own, which ends the run and stands in the agent's error type.
 *
 * The guard of the input runs beside the first model request, so that a slow one costs no time: until it has passed, nothing of the model's answer
 * is told, and none of its calls runs. When it fails or changes the input, the request is interrupted. The guard of the output looks at the final
 * answer before anybody is told of it; streamed text of the agent is told when its turn is over.
 *
 * Outputs of tools are looked at by `OutputGuard`, with the same vocabulary: an effect that succeeds with nothing lets pass.
 */
import type * as Prompt from "effect/ai/Prompt"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/** What is looked at is replaced. */
export class Change<out A> {
  readonly _tag = "Change"
  readonly value: A
  constructor(value: A) {
    this.value = value
  }
}

/** Replaces what a guard looks at: the input before the model reads it, the answer before the caller does. */
export const change = <A>(value: A): Change<A> => new Change(value)

/**
 * Looks at an input or an answer: succeeds with nothing to let it pass, with {@link change} to replace it, or fails to end the run.
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
 */
export type Guard<A, E = never, R = never> = (value: A) => Effect.Effect<void | Change<A>, E, R>

/** The run that a final answer is of. */
export interface Answered {
  /** All that was said, the answer and the conversation that the run began with included. `History.claims` says what is known of its calls. */
  readonly transcript: Prompt.Prompt
}

/** Looks at a final answer, as a {@link Guard} does, beside what was said and done before it. */
export type AnswerGuard<A, E = never, R = never> = (
  answer: A,
  run: Answered
) => Effect.Effect<void | Change<A>, E, R>

/** @internal Any guard. */
export type AnyGuard = Guard<unknown, unknown, unknown>

/** @internal Any guard of a final answer. */
export type AnyAnswerGuard = AnswerGuard<unknown, unknown, unknown>

/** An input that must not reach the model, for guards to fail with. `category` names what was found, in the guard's own words. */
export class UnsafeInput extends Schema.TaggedError<UnsafeInput>()("UnsafeInput", {
  category: Schema.String
}) {
  override get message(): string {
    return `Unsafe input: ${this.category}`
  }
}
