/** Combinators that judge answers: the best of several, the most frequent one, and one that is revised until it will do. */
import * as Effect from "effect/Effect"
import { InvalidOutput } from "../../../AgentError.ts"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { canonicalJson } from "../../foundation/json/canonicalJson.ts"
import type { Agent, Error, Services } from "../agent.ts"
import { decided, type Decides, withDecider } from "./combinators.ts"
import { compose, type Composed, type StartError, type StartErrorOf } from "./composedAgent.ts"
import type { Judging } from "./agentFit.ts"
import { anyOf, formsOf, plain } from "../resume/storedValue.ts"
import type { Steps } from "./steps.ts"

const checkCount = (agent: string, combinator: string, count: number): void => {
  if (!Number.isInteger(count) || count < 1) {
    throw new ConfigurationError({ subject: `Agent "${agent}"`, problem: `${combinator} needs an integer >= 1` })
  }
}

/** The answers of several runs on the same input, in parallel: those that succeeded. Fails if none did, with all failures. */
const answersOf = <In, Out, E, R>(
  steps: Steps,
  agent: Agent<In, Out, E, R>,
  input: In,
  n: number
): Effect.Effect<readonly [Out, ...ReadonlyArray<Out>], E, R> =>
  steps.succeeding(Array.from({ length: n }, () => steps.agent(agent, input)))

/**
 * Input of a judge: the input of the agents, and the candidate answers.
 *
 * @category models
 * @since 0.2.0
 */
export interface Candidates<out In, out Out> {
  readonly input: In
  readonly answers: ReadonlyArray<Out>
}

/**
 * Runs an agent `n` times in parallel, and answers with the choice of a judge. The judge is an agent: it receives the
 * input and the answers, and answers with the number of the best, from 0. Failed runs are left out; it fails if all
 * fail. A single answer is not judged. A number without an answer is `InvalidOutput`.
 *
 * **Example** (The longest)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * let drafts = 0
 * const writer = Agent.fromFunction("writer", (topic: string) => Effect.sync(() => topic + "!".repeat(++drafts)))
 * const judge = Agent.fromFunction("judge", ({ answers }: Agent.Candidates<string, string>) =>
 *   Effect.succeed(answers.reduce((best, text, n) => text.length > answers[best]!.length ? n : best, 0)))
 *
 * await Effect.runPromise(Agent.bestOf(writer, { n: 3, judge }).run("sea")) // => "sea!!!"
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const bestOf = <In, Out, E, R, Judge, Self>(
  self: Agent<In, Out, E, R> & Self,
  options: { readonly n: number; readonly judge: Judging<Judge, Candidates<In, Out>> }
): Composed<
  In,
  Out,
  E | Error<Judge> | InvalidOutput,
  R | Services<Judge>,
  StartError<Self> | StartError<Judge> | InvalidOutput
> => {
  type E2 = Error<Judge>
  type R2 = Services<Judge>
  const { n } = options
  const agent: Agent<In, Out, E, R> = self
  const judge = options.judge as Agent<Candidates<In, Out>, number, E2, R2>
  checkCount(agent.name, "bestOf", n)
  return compose(`best of ${n} ${agent.name}`, [agent, judge], formsOf(agent), (steps, input) =>
    Effect.flatMap(
      answersOf(steps, agent, input, n),
      (answers): Effect.Effect<Out, E2 | InvalidOutput, R2> =>
        answers.length === 1 ?
          Effect.succeed(answers[0]) :
          Effect.flatMap(steps.agent(judge, { input, answers }), (best) =>
            Number.isInteger(best) && best >= 0 && best < answers.length
              ? Effect.succeed(answers[best]!)
              : Effect.fail(
                new InvalidOutput({
                  agent: judge.name,
                  issues: [{
                    path: [],
                    expected: `expected an integer from 0 to ${answers.length - 1}`,
                    problem: "invalid"
                  }]
                })
              ))
    )) as never
}

/**
 * Runs an agent `n` times in parallel, and answers with the most frequent answer: equal answers have equal JSON. Of
 * equally frequent answers the first counts. Failed runs are left out; it fails if all fail.
 *
 * **Example** (Two of three)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * let runs = 0
 * const guess = Agent.fromFunction("guess", (_: string) => Effect.sync(() => ({ answer: ++runs === 1 ? 41 : 42 })))
 *
 * await Effect.runPromise(guess.pipe(Agent.vote(3)).run("6 * 7?")) // => { answer: 42 }
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const vote = (n: number) =>
<In, Out, E, R, Self>(
  self: Agent<In, Out, E, R> & Self
): Composed<In, Out, E, R, StartError<Self>> => {
  const agent: Agent<In, Out, E, R> = self
  checkCount(agent.name, "vote", n)
  return compose(
    `vote of ${n} ${agent.name}`,
    [agent],
    formsOf(agent),
    (steps, input) =>
      Effect.map(answersOf(steps, agent, input, n), (answers) => {
        const counts = new Map<string, { readonly answer: Out; count: number }>()
        for (const answer of answers) {
          const text = canonicalJson(answer)
          const known = counts.get(text)
          if (known === undefined) counts.set(text, { answer, count: 1 })
          else known.count++
        }
        return [...counts.values()].reduce((best, other) => other.count > best.count ? other : best).answer
      })
  ) as never
}

/**
 * Input of a {@link revise} judge that is an agent.
 *
 * @category models
 * @since 0.2.0
 */
export interface Judged<out In, out Out> {
  readonly input: In
  readonly output: Out
}

/**
 * Runs an agent until a judge is satisfied, at most `times` times; then answers with the last output, satisfying or
 * not. The judge answers `undefined` to accept, and otherwise the next input, with its feedback in it. It may be an
 * Effect, or an agent with the input `{ input, output }`; its errors and services are those of the whole.
 *
 * **Example** (A critic)
 *
 * ```ts
 * import { Effect } from "effect"
 * import { Agent } from "@recourse/core"
 *
 * const writer = Agent.fromFunction("writer", (task: string) => Effect.succeed(`${task}.`))
 * const critic = Agent.fromFunction("critic", (draft: string) => Effect.succeed(draft.length < 8 ? "longer" : "fine"))
 *
 * const revised = Agent.revise(writer, {
 *   times: 5,
 *   judge: (draft) => Effect.map(critic.run(draft), (verdict) => verdict === "fine" ? undefined : `${draft} ${verdict}`)
 * })
 * await Effect.runPromise(revised.run("sea")) // => "sea. longer."
 * ```
 *
 * @category combinators
 * @since 0.2.0
 */
export const revise = <In, Out, E, R, Start, E2 = never, R2 = never, Judge = unknown>(
  self: Agent<In, Out, E, R> & { readonly start?: Start },
  options: {
    readonly times: number
    readonly judge:
      | ((output: Out, input: In) => In | undefined | Effect.Effect<In | undefined, E2, R2>)
      | (Agent<Judged<In, Out>, In | undefined, E2, R2> & { readonly start?: Judge })
  }
): Composed<In, Out, E | E2, R | R2, StartErrorOf<E, Start> | StartErrorOf<E2, Judge>> => {
  const { judge, times } = options
  const agent: Agent<In, Out, E, R> = self
  checkCount(agent.name, "revise", times)
  const forms = formsOf(agent)
  const decide: Decides<Judged<In, Out>, In | undefined, E2, R2, unknown> = typeof judge === "function"
    ? ({ input, output }) => judge(output, input)
    : judge
  /** The next input, or `undefined`. */
  const next = anyOf([plain, forms.input])
  const step = (steps: Steps, input: In, left: number): Effect.Effect<Out, E | E2, R | R2> =>
    Effect.flatMap(steps.agent(agent, input), (output) =>
      left <= 1 ? Effect.succeed(output) : Effect.flatMap(
        decided(steps, "judge", decide, { input, output }, next),
        (next) => next === undefined ? Effect.succeed(output) : step(steps, next, left - 1)
      ))
  return compose(
    `${agent.name} revised`,
    withDecider([agent], judge),
    forms,
    (steps, input) => step(steps, input, times)
  ) as never
}
