/**
 * Agent combinators: agents made of agents. Thin, because `agent.run` is an Effect and Effect's own operators stay the
 * first choice.
 */
import * as Effect from "effect/Effect"
import * as Function from "effect/Function"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { type Agent, type Any, around, type Error, type Input, type Output, type Services } from "./agent.ts"
import type { IsStored } from "../foundation/errorTags.ts"
import type { AgentList, AllTaking, InputOfAll, NotEmpty, Repeatable, Taking, Unrepeatable } from "./fitting.ts"
import { plain } from "./mode.ts"

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
 */
export const andThen: {
  <Known, That>(
    that: IsStored<Known> extends true ? That & Any : Taking<That, Output<Known>>
  ): <In, E, R>(
    self: Agent<In, unknown extends Known ? Input<That> : Output<Known>, E, R> & Known
  ) => Agent<In, Output<That>, E | Error<That>, R | Services<That>>
  <In, Out, E, R, That>(
    self: Agent<In, Out, E, R>,
    that: Taking<That, Out>
  ): Agent<In, Output<That>, E | Error<That>, R | Services<That>>
} = Function.dual(
  2,
  <In, Out, E, R, Out2, E2, R2>(
    self: Agent<In, Out, E, R>,
    that: Agent<Out, Out2, E2, R2>
  ): Agent<In, Out2, E | E2, R | R2> =>
    around(`${self.name} > ${that.name}`, (input) => Effect.flatMap(self.run(input), that.run))
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
 */
export const all = <const Agents extends AgentList>(
  name: string,
  agents: Agents
): Agent<
  InputOfAll<Agents>,
  { readonly [K in keyof Agents]: Output<Agents[K]> },
  Error<Agents[number]>,
  Services<Agents[number]>
> =>
  around(
    name,
    (input: InputOfAll<Agents>) =>
      Effect.forEach(agents, (agent, position) => agent.runIn(input as never, { ...plain, position }), {
        concurrency: "unbounded"
      })
  ) as never

const race = <In, Out, E, R>(name: string, agents: ReadonlyArray<Agent<In, Out, E, R>>): Agent<In, Out, E, R> => {
  if (agents.length === 0) {
    throw new ConfigurationError({ subject: `Agent "${name}"`, problem: "there is no agent to run" })
  }
  return around(
    name,
    (input) => Effect.raceAll(agents.map((agent, position) => agent.runIn(input, { ...plain, position })))
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
 */
export const firstOf = <const Agents extends AgentList>(
  name: string,
  agents: Agents & NotEmpty<Agents>
): Agent<InputOfAll<Agents>, Output<Agents[number]>, Error<Agents[number]>, Services<Agents[number]>> =>
  race(name, agents as never) as never

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
 */
export const speculative = (n: number) => <In, Out, E, R>(self: Agent<In, Out, E, R>): Agent<In, Out, E, R> => {
  if (!Number.isInteger(n) || n < 1) {
    throw new ConfigurationError({ subject: `Agent "${self.name}"`, problem: "speculative needs an integer >= 1" })
  }
  return race(`${self.name} × ${n}`, Array.from({ length: n }, () => self))
}

/**
 * Runs an agent again on its own output until that satisfies a predicate, at most `times` times; then answers with the
 * last output, satisfying or not. The predicate may be an Effect. To tell the agent what is wrong, use `revise`.
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
 */
export const loopUntil = <InOut, Known, E2 = never, R2 = never>(
  predicate: (output: NoInfer<InOut>) => boolean | Effect.Effect<boolean, E2, R2>,
  options: Repeatable<Known> & { readonly times: number }
) =>
<E, R>(
  given: (Agent<InOut, InOut, E, R> & Known) | Unrepeatable<Known>
): Agent<InOut, InOut, E | E2, R | R2> => {
  const self = given as Agent<InOut, InOut, E, R>
  const satisfied = (output: InOut): Effect.Effect<boolean, E2, R2> => {
    const answer = predicate(output)
    return Effect.isEffect(answer) ? answer : Effect.succeed(answer)
  }
  const step = (input: InOut, left: number): Effect.Effect<InOut, E | E2, R | R2> =>
    Effect.flatMap(self.run(input), (output) =>
      left <= 1 ? Effect.succeed(output) : Effect.flatMap(
        satisfied(output),
        (isDone) => isDone ? Effect.succeed(output) : step(output, left - 1)
      ))
  return around(`${self.name} until`, (input) => step(input, options.times))
}

/**
 * Runs one of two agents, as the input decides.
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
 */
export const branch = <In, True, False>(
  name: string,
  predicate: (input: In) => boolean,
  agents: {
    readonly onTrue: Taking<True, In>
    readonly onFalse: Taking<False, In>
  }
): Agent<In, Output<True> | Output<False>, Error<True> | Error<False>, Services<True> | Services<False>> => {
  const { onFalse, onTrue } = agents as { readonly onTrue: Any; readonly onFalse: Any }
  return around(name, (input: In) => (predicate(input) ? onTrue : onFalse).run(input as never)) as never
}

/**
 * Runs the agent of several whose name the input decides: by a function, or by an Effect such as the run of an agent. A name that
 * no agent has, which types rule out, is a `ConfigurationError`.
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
 */
export const route = <
  const Agents,
  In,
  E2 = never,
  R2 = never
>(
  name: string,
  choose: (input: In) => (keyof Agents & string) | Effect.Effect<keyof Agents & string, E2, R2>,
  agents: AllTaking<Agents, In>
): Agent<In, Output<Agents[keyof Agents]>, E2 | Error<Agents[keyof Agents]>, R2 | Services<Agents[keyof Agents]>> =>
  around(name, (input: In) =>
    Effect.suspend(() => {
      const chosen = choose(input)
      return Effect.flatMap(Effect.isEffect(chosen) ? chosen : Effect.succeed(chosen), (key) => {
        if (!Object.hasOwn(agents, key)) {
          throw new ConfigurationError({ subject: `Agent "${name}"`, problem: `it has no agent "${key}" to run` })
        }
        return (agents[key] as Any).run(input as never)
      })
    })) as never
