/** Step of an attempt: reads the arguments and decodes them by the schema of the tool. */
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import { valueOf } from "../../foundation/effect/sequence.ts"
import { fromIssue } from "../../foundation/schema/schemaIssues.ts"
import * as Arguments from "../arguments/rawArguments.ts"
import { refuseUnlessStarted } from "../replay/resolveKey.ts"
import type { Step } from "./attemptState.ts"
import { invalidArguments } from "../arguments/invalidArguments.ts"

export const readArguments: Step = (next) => (attempt) => {
  const { call, tool } = attempt
  const read = Arguments.readSized(call.arguments)
  if (Result.isFailure(read)) return refuseUnlessStarted(attempt.today, invalidArguments(attempt, read.failure))
  attempt.raw = read.success.object
  const decoded = tool.decode(read.success)
  const continueWith = (params: unknown) => {
    attempt.params = params
    return next(attempt)
  }
  const known = valueOf(decoded)
  if (known !== undefined) return continueWith(known.value)
  return Effect.matchEffect(decoded, {
    onFailure: ({ issue }) =>
      refuseUnlessStarted(attempt.today, invalidArguments(attempt, fromIssue(issue, { messages: true }))),
    onSuccess: continueWith
  })
}
