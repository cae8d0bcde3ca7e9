/** Look-up of an attempt that an earlier execution of the run may have started under a key that the tool of today does not give. */
import * as Effect from "effect/Effect"
import { noteMet } from "../hiddenBeginning.ts"
import { underEarlierKeys } from "../earlierKeys.ts"
import type { Attempting, AttemptState } from "./attemptState.ts"
import { ledgerRefusals } from "./ledgerRefusals.ts"

/** Returns the outcome of the earlier attempt, or `otherwise()` if there is none. */
export const unlessStartedUnderEarlierKey = (attempt: AttemptState, otherwise: () => Attempting): Attempting => {
  const { run, tool } = attempt
  const found = run?.journal && underEarlierKeys(tool, attempt, run, run.journal, ledgerRefusals(attempt))
  return found === undefined
    ? otherwise()
    : Effect.flatMap(found, (found) => {
      if (found === undefined) return otherwise()
      noteMet(run!, attempt.intended)
      return Effect.succeed(found.value)
    })
}
