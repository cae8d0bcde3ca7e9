/** Fitting agents: an agent if it fits the combinator's input, and otherwise a sentence that the compiler shows. */
import type * as Prompt from "effect/ai/Prompt"
import type { IsStored } from "../../foundation/errorTags.ts"
import type { Any, Input, Output } from "../agent.ts"

/**
 * A value in a sentence of the compiler.
 *
 * @category utility types
 * @since 0.2.0
 */
export type ValueName<T> = [T] extends [string] ? "a string"
  : [T] extends [number] ? "a number"
  : [T] extends [boolean] ? "a boolean"
  : [T] extends [ReadonlyArray<unknown>] ? "an array"
  : unknown extends T ? "unknown"
  : "an object"

/**
 * Sentence for a value that is no agent.
 *
 * @category utility types
 * @since 0.2.0
 */
export type NoAgent = "This is no agent: see Agent.make and Agent.fromFunction."

/**
 * An agent that takes the given input, or a sentence about one that takes another.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Taking<A, Given> = [A] extends [Any] ? [Given] extends [Input<A>] ? A
  : ValueName<Input<A>> extends ValueName<Given> ?
    `This agent takes ${ValueName<Input<A>>} of another type than it is given.`
  : `This agent takes ${ValueName<Input<A>>}, and is given ${ValueName<Given>}.`
  : NoAgent

/**
 * Agents, each of which takes the given input.
 *
 * @category utility types
 * @since 0.2.0
 */
export type AllTaking<Agents, Given> = { readonly [K in keyof Agents]: Taking<Agents[K], Given> }

/**
 * An agent that takes a conversation.
 *
 * @category models
 * @since 0.2.0
 */
export type TakesConversation<A> = [A] extends [Any]
  ? [Prompt.Prompt] extends [Input<A>] ? A : "This agent has to take a conversation: give it `input: Prompt.Prompt`."
  : NoAgent

/**
 * Requires that an agent takes its own output, which is its next input.
 *
 * @category utility types
 * @since 0.2.0
 */
export type Repeatable<Known> = IsStored<Known> extends true ? unknown
  : [Known] extends [Any] ? ReadonlyArray<Output<Known>> extends ReadonlyArray<Input<Known>> ? unknown
    : "This agent does not take its own output."
  : NoAgent

/**
 * Agents. No value has the property: it is a sentence, which the compiler shows for a value that is no agent.
 *
 * @category models
 * @since 0.2.0
 */
export type AgentList = ReadonlyArray<Any & { readonly "An agent is made by Agent.make or Agent.fromFunction"?: never }>

/**
 * Common input of several agents. A sentence if no input fits all: no value has it.
 *
 * @category utility types
 * @since 0.2.0
 */
export type InputOfAll<Agents extends ReadonlyArray<unknown>> =
  (Agents[number] extends infer A ? A extends Any ? (input: Input<A>) => void : never : never) extends
    (input: infer In) => void ?
      | In
      | ([In] extends [never] ? { readonly "No input fits all of these agents: each takes another type": never }
        : never)
    : never

/**
 * A judge of answers.
 *
 * @category models
 * @since 0.2.0
 */
export type Judging<A, Candidates> = [A] extends [Any]
  ? [Candidates] extends [Input<A>]
    ? [Output<A>] extends [number] ? A : "The judge has to answer the number of the best answer."
  : "The judge has to take the candidates: Agent.Candidates<input, output>."
  : NoAgent
