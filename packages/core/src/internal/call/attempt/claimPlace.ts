/**
 * Step of an attempt: claims the path of a write without a key that an agent within a call makes. Two parallel attempts
 * of that call run two agents, whose writes have one path. The second agent gets an unknown outcome, because the first
 * may have done the write.
 */
import * as Effect from "effect/Effect"
import { recordStart } from "../execute/effects.ts"
import { isPlainWrite, pathOfCall } from "../replay/attemptedCall.ts"
import type { Step } from "./attemptState.ts"
import { ledgerRefusals } from "../ledgerRefusals.ts"
import { placedWrite, placeWrite } from "../../run/state/counts.ts"

export const claimPlace: Step = (next) => (attempt) => {
  const { call: { record }, key, run, tool: { info } } = attempt
  if (run?.start.outerCall === undefined || key !== undefined || !isPlainWrite(info)) return next(attempt)
  const place = pathOfCall(run, attempt.attempted)
  const other = placedWrite(run, place)
  if (
    other !== undefined && other.write !== record.outcome &&
    (other.isRunning || (other.write.happened !== "no" && !other.write.isCompensated))
  ) {
    recordStart(run, record, "unknown", () => run.clock.currentTimeMillisUnsafe())
    return ledgerRefusals(attempt).unknown(0)
  }
  const endWrite = placeWrite(run, place, record.outcome)
  return Effect.onExit(next(attempt), () => Effect.sync(endWrite))
}
