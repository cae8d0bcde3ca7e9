/**
 * Agent combinators: agents made of agents. Thin, because `agent.run` is an Effect and Effect's own operators stay the
 * first choice. If an inner agent waits for an approval, the whole waits and resumes there.
 */
import * as Effect from "effect/Effect"
import * as Function from "effect/Function"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import type { Agent, Any, Error, Input, Output, Services } from "../agent.ts"
import type { IsStored } from "../../foundation/errorTags.ts"
import { compose, type Composed, type StartError, type StartErrorOf } from "./composedAgent.ts"
import type { Form, Forms } from "../resume/valueCodec.ts"
import { anyOf, formsOf, plain, tuple } from "../resume/storedValue.ts"
import type { Steps } from "./steps.ts"
import type { AgentList, AllTaking, InputOfAll, Repeatable, Taking } from "./agentFit.ts"
import { resultOrEffect } from "../../foundation/options/hookResult.ts"
import { aLimit, anObject, checkArgument, type Kind } from "../../foundation/options/optionCheck.ts"
import { isPromiseLike } from "../../foundation/options/valueKind.ts"

/** Codecs of the input and output of one of several agents. */
const oneOf = (agents: ReadonlyArray<Any>): Forms => {
  const forms = agents.map(formsOf)
  return { input: anyOf(forms.map(({ input }) => input)), output: anyOf(forms.map(({ output }) => output)) }
}

const anAnswer: Kind = { is: (value) => !isPromiseLike(value), called: "an answer" }

/**
 * A decider: a function that may return an Effect, or an agent, which may wait like the others.
 *
 * @category models
 * @since 0.2.0
 */
export type Decides<In, Answer, E, R, Start> =
  | ((input: In) => Answer | Effect.Effect<Answer, E, R>)
  | (Agent<In, Answer, E, R> & { readonly start?: Start })

/** A decision as a step of its own: it runs once, however often the run is resumed. */
export const decided = <In, A, E, R>(
  steps: Steps,
  name: string,
  decide: Decides<In, A, E, R, unknown>,
  input: In,
  form: Form = plain
): Effect.Effect<A, E, R> =>
  typeof decide === "function"
    ? steps.value(
      name,
      resultOrEffect({ subject: `Agent, ${name}`, name: "the function", kind: anAnswer }, () => decide(input)),
      form
    )
    : steps.agent<In, A, E, R>(decide, input)

/** The agents of a combinator, with its decider if that is one. */
export const withDecider = (parts: ReadonlyArray<Any>, decide: object): ReadonlyArray<Any> =>
  typeof decide === "function" ? parts : [...parts, decide as Any]

/**
 * Runs one agent on the output of another.
 *
 * **Example** (Two steps)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * const trim = Agent.fromFunction("trim", (text: string) => Effect.succeed(text.trim()))
 * const length = Agent.fromFunction("length", (text: string) => Effect.succeed(text.length))
 *
 * await Effect.runPromise(trim.pipe(Agent.andThen(length)).run("  abc ")) // => 3
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const andThen: {
  <Known, That>(
    that: IsStored<Known> extends true ? That & Any : Taking<That, Output<Known>>
  ): <In, E, R>(
    self: Agent<In, unknown extends Known ? Input<That> : Output<Known>, E, R> & Known
  ) => Composed<In, Output<That>, E | Error<That>, R | Services<That>, StartError<Known> | StartError<That>>
  <In, Out, E, R, That, Self>(
    self: Agent<In, Out, E, R> & Self,
    that: Taking<That, Out>
  ): Composed<In, Output<That>, E | Error<That>, R | Services<That>, StartError<Self> | StartError<That>>
} = Function.dual(
  2,
  <In, Out, E, R, Out2, E2, R2>(
    self: Agent<In, Out, E, R>,
    that: Agent<Out, Out2, E2, R2>
  ): Composed<In, Out2, E | E2, R | R2> => {
    const forms = { input: formsOf(self).input, output: formsOf(that).output }
    return compose(
      `${self.name} > ${that.name}`,
      [self, that],
      forms,
      (steps, input) => Effect.flatMap(steps.agent(self, input as In), (output) => steps.agent(that, output))
    ) as never
  }
)

/**
 * Runs several agents on the same input, in parallel, and answers with all outputs, in the order of the agents.
 *
 * **Example** (Three opinions)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * const plus = (n: number) => Agent.fromFunction(`plus ${n}`, (x: number) => Effect.succeed(x + n))
 *
 * await Effect.runPromise(Agent.all("sums", [plus(1), plus(2), plus(3)]).run(10)) // => [11, 12, 13]
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const all = <const Agents extends AgentList>(
  name: string,
  agents: Agents
): Composed<
  InputOfAll<Agents>,
  { readonly [K in keyof Agents]: Output<Agents[K]> },
  Error<Agents[number]>,
  Services<Agents[number]>,
  StartError<Agents[number]>
> =>
  compose(
    name,
    agents,
    { input: oneOf(agents).input, output: tuple(agents.map((agent) => formsOf(agent).output)) },
    (steps, input) => steps.together(agents.map((agent) => steps.agent(agent, input)))
  ) as never

const race = (name: string, agents: ReadonlyArray<Any>) => {
  if (agents.length === 0) {
    throw new ConfigurationError({ subject: `Agent "${name}"`, problem: "there is no agent to run" })
  }
  return compose(
    name,
    agents,
    oneOf(agents),
    (steps, input) => steps.race(agents.map((agent) => steps.agent(agent, input)))
  )
}

/**
 * Runs several agents on the same input, in parallel, and answers with the first success; the others are interrupted and
 * awaited. Fails if all fail.
 *
 * **Example** (The first that knows)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * const broken = Agent.fromFunction("broken", (_: string) => Effect.fail("down" as const))
 * const works = Agent.fromFunction("works", (text: string) => Effect.succeed(text.length))
 *
 * await Effect.runPromise(Agent.firstOf("any", [broken, works]).run("abc")) // => 3
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const firstOf = <const Agents extends AgentList>(
  name: string,
  agents:
    & Agents
    & (AgentList extends Agents ? unknown
      : 0 extends Agents["length"] ? "There has to be one agent at least, in a list whose length is known."
      : unknown)
): Composed<
  InputOfAll<Agents>,
  Output<Agents[number]>,
  Error<Agents[number]>,
  Services<Agents[number]>,
  StartError<Agents[number]>
> => race(name, agents) as never

/**
 * Runs the same agent `n` times in parallel and answers with the first success.
 *
 * **Example** (Three tries at once)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * let tries = 0
 * const third = Agent.fromFunction("third", (_: string) =>
 *   Effect.suspend(() => ++tries === 3 ? Effect.succeed(tries) : Effect.fail("not yet" as const)))
 *
 * await Effect.runPromise(third.pipe(Agent.speculative(3)).run("")) // => 3
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const speculative = (n: number) =>
<In, Out, E, R, Self>(
  self: Agent<In, Out, E, R> & Self
): Composed<In, Out, E, R, StartError<Self>> => {
  if (!Number.isInteger(n) || n < 1) {
    throw new ConfigurationError({ subject: `Agent "${self.name}"`, problem: "speculative needs an integer >= 1" })
  }
  return race(`${self.name} × ${n}`, Array.from({ length: n }, () => self)) as never
}

/**
 * Runs an agent again on its own output until that satisfies a predicate, at most `times` times; then answers with the
 * last output, satisfying or not. The predicate may be an Effect, or an agent. To give the agent feedback, use
 * `revise`.
 *
 * **Example** (Until it is short enough)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * const halve = Agent.fromFunction("halve", (text: string) => Effect.succeed(text.slice(0, text.length / 2)))
 *
 * await Effect.runPromise(halve.pipe(Agent.loopUntil((text) => text.length < 3, { times: 10 })).run("abcdefgh")) // => "ab"
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const loopUntil = <InOut, Known, E2 = never, R2 = never, Judge = unknown>(
  predicate: Decides<NoInfer<InOut>, boolean, E2, R2, Judge>,
  options: Repeatable<Known> & { readonly times: number }
) =>
<E, R>(
  given:
    | (Agent<InOut, InOut, E, R> & Known)
    // An agent that does not fit is accepted, because the compiler reports the error at the other arguments.
    | (unknown extends Repeatable<Known> ? never : Pick<Any, "name">)
): Composed<InOut, InOut, E | E2, R | R2, StartError<Known> | StartErrorOf<E2, Judge>> => {
  const agent = given as Agent<InOut, InOut, E, R>
  checkArgument(`Agent.loopUntil of "${agent.name}"`, "times", options.times, aLimit)
  const step = (steps: Steps, input: InOut, left: number): Effect.Effect<InOut, E | E2, R | R2> =>
    Effect.flatMap(steps.agent(agent, input), (output) =>
      left <= 1 ? Effect.succeed(output) : Effect.flatMap(
        decided<InOut, boolean, E2, R2>(steps, "until", predicate, output),
        (isEnough) => isEnough ? Effect.succeed(output) : step(steps, output, left - 1)
      ))
  return compose(
    `${agent.name} until`,
    withDecider([agent], predicate),
    formsOf(agent),
    (steps, input) => step(steps, input, options.times)
  ) as never
}

/**
 * Runs one of two agents, depending on the input.
 *
 * **Example** (Short and long)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * const say = (text: string) => Agent.fromFunction(text, (_: string) => Effect.succeed(text))
 * const size = Agent.branch("size", (text: string) => text.length > 3, { onTrue: say("long"), onFalse: say("short") })
 *
 * await Effect.runPromise(size.run("abcdef")) // => "long"
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const branch = <In, True, False>(
  name: string,
  predicate: (input: In) => boolean,
  agents: {
    readonly onTrue: Taking<True, In>
    readonly onFalse: Taking<False, In>
  }
): Composed<
  In,
  Output<True> | Output<False>,
  Error<True> | Error<False>,
  Services<True> | Services<False>,
  StartError<True> | StartError<False>
> => {
  const { onFalse, onTrue } = agents as { readonly onTrue: Any; readonly onFalse: Any }
  const parts = [onTrue, onFalse]
  return compose(name, parts, oneOf(parts), (steps, input: In) =>
    Effect.flatMap(
      decided<In, boolean, never, never>(steps, "branch", predicate, input),
      (chosen) => steps.agent<never, unknown, unknown, unknown>(chosen ? onTrue : onFalse, input as never)
    )) as never
}

/**
 * Runs the agent of several whose name the input decides: by a function, an Effect, or an agent such as a model whose `output` is
 * `Schema.Literals` of the names. A name that no agent has, which types rule out, is a `ConfigurationError`.
 *
 * **Example** (By language)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * const say = (text: string) => Agent.fromFunction(text, (_: string) => Effect.succeed(text))
 * const hello = Agent.route("hello", (text: string) => Effect.succeed(text === "Ada" ? "en" as const : "de" as const), {
 *   en: say("Good morning"),
 *   de: say("Guten Morgen")
 * })
 *
 * await Effect.runPromise(hello.run("Ada")) // => "Good morning"
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const route = <
  const Agents,
  In,
  E2 = never,
  R2 = never,
  Chooser = unknown
>(
  name: string,
  choose: Decides<In, keyof Agents & string, E2, R2, Chooser>,
  agents: AllTaking<Agents, In>
): Composed<
  In,
  Output<Agents[keyof Agents]>,
  E2 | Error<Agents[keyof Agents]>,
  R2 | Services<Agents[keyof Agents]>,
  StartErrorOf<E2, Chooser> | StartError<Agents[keyof Agents]>
> => {
  checkArgument("Agent.route", "its agents", agents, anObject)
  const parts: ReadonlyArray<Any> = Object.values(agents)
  return compose(
    name,
    withDecider(parts, choose),
    oneOf(parts),
    (steps, input: In) =>
      Effect.flatMap(decided<In, keyof Agents & string, E2, R2>(steps, "route", choose, input), (key) => {
        if (!Object.hasOwn(agents, key)) {
          throw new ConfigurationError({ subject: `Agent "${name}"`, problem: `it has no agent "${key}" to run` })
        }
        return steps.agent<never, unknown, unknown, unknown>(agents[key] as Any, input as never)
      })
  ) as never
}
