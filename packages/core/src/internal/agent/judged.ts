/** Combinators that judge answers: the best of several, the most frequent one, and one that is revised until it will do. */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { InvalidOutput } from "../../AgentError.ts"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { canonicalJson } from "../foundation/canonicalJson.ts"
import { type Agent, around, type Error, type Services } from "./agent.ts"
import { plain } from "./mode.ts"
import type { Judging } from "./fitting.ts"

const checkCount = (agent: string, combinator: string, count: number): void => {
  if (!Number.isInteger(count) || count < 1) {
    throw new ConfigurationError({ subject: `Agent "${agent}"`, problem: `${combinator} needs an integer >= 1` })
  }
}

/** The answers of several runs on the same input, in parallel: those that succeeded. Fails if none did, with all failures. */
const answersOf = <In, Out, E, R>(
  agent: Agent<In, Out, E, R>,
  input: In,
  n: number
): Effect.Effect<readonly [Out, ...ReadonlyArray<Out>], E, R> =>
  Effect.flatMap(
    Effect.forEach(
      Array.from({ length: n }),
      (_, position) => Effect.exit(agent.runIn(input, { ...plain, position })),
      { concurrency: "unbounded" }
    ),
    (exits) => {
      const [first, ...others] = exits.filter(Exit.isSuccess).map(({ value }) => value)
      if (first !== undefined || exits.some(Exit.isSuccess)) return Effect.succeed([first as Out, ...others] as const)
      return Effect.failCause(exits.filter(Exit.isFailure).map(({ cause }) => cause).reduce(Cause.combine))
    }
  )

/** What a judge is given: what was asked, and the answers that it chooses among. */
export interface Candidates<out In, out Out> {
  readonly input: In
  readonly answers: ReadonlyArray<Out>
}

/**
 * Runs an agent `n` times in parallel, and answers with what a judge chooses. The judge is an agent: it is given the input and the
 * answers, and answers with the number of the best, from 0. Runs that fail are left out; it fails if all do. A single answer is
 * not judged. A number that is none of an answer is `InvalidOutput`.
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
 */
export const bestOf = <In, Out, E, R, Judge>(
  self: Agent<In, Out, E, R>,
  options: { readonly n: number; readonly judge: Judging<Judge, Candidates<In, Out>> }
): Agent<In, Out, E | Error<Judge> | InvalidOutput, R | Services<Judge>> => {
  type E2 = Error<Judge>
  type R2 = Services<Judge>
  const { n } = options
  const judge = options.judge as Agent<Candidates<In, Out>, number, E2, R2>
  checkCount(self.name, "bestOf", n)
  return around(`best of ${n} ${self.name}`, (input) =>
    Effect.flatMap(
      answersOf(self, input, n),
      (answers): Effect.Effect<Out, E2 | InvalidOutput, R2> =>
        answers.length === 1 ?
          Effect.succeed(answers[0]) :
          Effect.flatMap(judge.run({ input, answers }), (best) =>
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
    ))
}

/**
 * Runs an agent `n` times in parallel, and answers with what most runs answered: equal answers have equal JSON. Of answers that are
 * equally frequent the first counts. Runs that fail are left out; it fails if all do.
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
 */
export const vote = (n: number) => <In, Out, E, R>(self: Agent<In, Out, E, R>): Agent<In, Out, E, R> => {
  checkCount(self.name, "vote", n)
  return around(`vote of ${n} ${self.name}`, (input) =>
    Effect.map(answersOf(self, input, n), (answers) => {
      const counts = new Map<string, { readonly answer: Out; count: number }>()
      for (const answer of answers) {
        const text = canonicalJson(answer)
        const known = counts.get(text)
        if (known === undefined) counts.set(text, { answer, count: 1 })
        else known.count++
      }
      return [...counts.values()].reduce((best, other) => other.count > best.count ? other : best).answer
    }))
}

/**
 * Runs an agent until a judge is satisfied, at most `times` times; then answers with the last output, satisfying or not. The judge
 * answers `undefined` for what will do, and otherwise the next input, with its feedback in it. It may be an Effect, such as the run of
 * an agent; its errors and services are those of the whole.
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
 */
export const revise = <In, Out, E, R, E2 = never, R2 = never>(
  self: Agent<In, Out, E, R>,
  options: {
    readonly times: number
    readonly judge: (output: Out, input: In) => In | undefined | Effect.Effect<In | undefined, E2, R2>
  }
): Agent<In, Out, E | E2, R | R2> => {
  const { judge, times } = options
  checkCount(self.name, "revise", times)
  const step = (input: In, left: number): Effect.Effect<Out, E | E2, R | R2> =>
    Effect.flatMap(self.run(input), (output) => {
      if (left <= 1) return Effect.succeed(output)
      const next = judge(output, input)
      const asked: Effect.Effect<In | undefined, E2, R2> = Effect.isEffect(next)
        ? next as Effect.Effect<In | undefined, E2, R2>
        : Effect.succeed(next)
      return Effect.flatMap(asked, (next) => next === undefined ? Effect.succeed(output) : step(next, left - 1))
    })
  return around(`${self.name} revised`, (input) => step(input, times))
}
