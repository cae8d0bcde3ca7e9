/** Runs the tool calls of one answer: in parallel, each with exactly one result, in the order of the calls. */
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { type RoundContext } from "./roundContext.ts"
import type { RequestedCall } from "../run/callResult.ts"
import { after } from "../foundation/effect/sequence.ts"

import type { Round } from "./roundCalls.ts"
import { commit } from "./roundResults.ts"

/**
 * Runs calls with a limit, in fibers that are all forked at the start: each takes one call after the other. A fiber
 * that `forEach` forks later is not interrupted if its first steps interrupt the run.
 */
const inLanes = (
  round: Round,
  raws: ReadonlyArray<RequestedCall>,
  concurrency: RoundContext["concurrency"]
): Effect.Effect<unknown, unknown, unknown> => {
  if (raws.length === 1) return round.run(raws[0]!, 0)
  let next = 0
  const lane = Effect.whileLoop({
    while: () => next < raws.length,
    body: () => {
      const index = next++
      return round.run(raws[index]!, index)
    },
    step: () => undefined
  })
  const lanes = concurrency === "unbounded" ? raws.length : Math.min(concurrency, raws.length)
  return lanes <= 1
    ? lane
    : Effect.forEach(Array.from({ length: lanes }), () => lane, { concurrency: "unbounded", discard: true })
}

/**
 * Starts the calls of one answer: the effect runs them, once, and commits their results. When one of them ends the run,
 * or the run is interrupted, completed calls keep their results and all others receive a result with the reason. A call
 * that waits for an approval lets the others run; its result reports the wait.
 */
export const runAll = (
  round: Round,
  restore: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
): Effect.Effect<unknown, unknown, unknown> =>
  after(
    restore(inLanes(round, round.raws, round.calls.concurrency)),
    (exit) => commit(round, Exit.isFailure(exit))
  )
