/** End of an attempt whose arguments do not fit the schema of its tool. */
import * as Effect from "effect/Effect"
import { InvalidArgs } from "../../../ToolError.ts"
import { announceAttempt, failAttempt } from "../attemptLog.ts"
import type { AttemptError } from "../attemptError.ts"
import type { ErrorFields } from "../record/record.ts"
import { noteUntrusted } from "../children/untrustedContent.ts"
import type { AttemptState } from "../attempt/attemptState.ts"

/** Announces the attempt and fails it with `InvalidArgs`. A reader of the issues reads the schema, and a fixer reads the description. */
export const invalidArguments = (
  attempt: AttemptState,
  issues: InvalidArgs["issues"]
): Effect.Effect<never, AttemptError> => {
  const { description, effects, name } = attempt.tool.info
  if (description.isForeign) noteUntrusted(attempt, name)
  const isRead = effects === "read" ? { isRead: true } as const : undefined
  const make = (fields: ErrorFields) => new InvalidArgs({ ...fields, issues, ...isRead })
  return Effect.flatMapEager(announceAttempt(attempt), () => failAttempt(attempt, { error: "InvalidArgs" }, make))
}
