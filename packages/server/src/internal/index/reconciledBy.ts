/** Answers of people in the place of a tool's `reconcile`. */
import * as Effect from "effect/Effect"
import type { CheckOutcome } from "@recourse/core/IdempotencyLedger"
import type { RunIndexService } from "./types.ts"

/**
 * Finds the answer for an entry. Without a result, a call that happened stays unknown, because its answer is missing.
 */
export const reconciledBy = ({ checked }: Pick<RunIndexService, "checked">): CheckOutcome => (entry) =>
  Effect.map(checked(entry), (check) => {
    if (check?.answer === "not_happened") return { _tag: "NotStarted" }
    return check?.answer === "happened" && check.result !== undefined
      ? { _tag: "Completed", result: check.result }
      : { _tag: "Unknown" }
  })
