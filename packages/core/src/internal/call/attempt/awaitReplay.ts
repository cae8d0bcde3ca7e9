/**
 * Step of an attempt: a write that would diverge waits until the recorded writes are matched. The order in which fibers
 * start may differ. So it is denied only after a long wait: then no other work can run in the outer call.
 */
import * as Effect from "effect/Effect"
import type { Changes } from "../../run/changes.ts"
import { changesOf } from "../../run/state/counts.ts"
import { isDivergent } from "../replay/divergence.ts"
import { stopped } from "../stop.ts"
import type { AttemptState, Step } from "./attemptState.ts"

/** Time limit for other fibers of an executor to match the recorded writes. */
const longestWait = "10 seconds"

const divergent = {
  _tag: "Denied",
  policy: "approval",
  reason: "It diverges from the call that it repeats, whose effects stay"
} as const

/** Succeeds once the attempt would not diverge any more. */
const matched = ({ attempted }: Pick<AttemptState, "attempted">, changes: Changes): Effect.Effect<void> =>
  Effect.suspend(() =>
    isDivergent(attempted) ? Effect.andThen(changes.next, matched({ attempted }, changes)) : Effect.void
  )

export const awaitReplay: Step = (next) => (attempt) => {
  const { call, run, tool: { info } } = attempt
  if (info.effects !== "write" || !isDivergent(attempt.attempted)) return next(attempt)
  if (run === undefined) return stopped(call, divergent)
  const wait = matched(attempt, changesOf(run))
  return Effect.flatMap(
    Effect.timeoutOption(wait, longestWait),
    (isMatched) => isMatched._tag === "Some" ? next(attempt) : stopped(call, divergent)
  )
}
