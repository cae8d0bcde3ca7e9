/**
 * Guarded words: the output guard checks a tool's words about its failure before a fixer or a listener reads them, like
 * before a model does.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { OutputGuard, type UnsafeOutput } from "../../OutputGuard.ts"
import { Redaction } from "../../Redaction.ts"
import type { Escalation, ExecutionError, InvalidArgs } from "../../ToolError.ts"
import type { Call } from "../call/call.ts"
import { noteAudited } from "../call/auditedCall.ts"
import { type CallRecord, toolName } from "../call/record/record.ts"
import { randomId } from "../foundation/digest.ts"
import { shownToModel, userTextsOf } from "../projection/audiences.ts"
import { isOwn, toolFailure } from "../projection/failures.ts"
import { entryOf } from "../projection/codeTexts.ts"
import type { ToolFailure } from "../projection/toolFailure.ts"
import { CurrentRun } from "../run/run.ts"
import type { FixRequest } from "./fixRequest.ts"

/** Asks the guard, if there is one; answers why it blocks. */
const blockedBy = (
  context: Context.Context<never>,
  record: CallRecord,
  content: ToolFailure
): Effect.Effect<UnsafeOutput | undefined> => {
  const guard = Context.get(context, OutputGuard)
  if (guard === undefined) return Effect.undefined
  const { callId, marks: { read = [] }, attempts: { tool } } = record
  const trust = tool?.results.areUntrusted === true || read.length > 0 ? "untrusted" : "trusted"
  return Effect.matchEager(guard({ tool: toolName(record), callId, trust, content }), {
    onSuccess: () => undefined,
    onFailure: (unsafe) => unsafe
  })
}

const failureOf = (context: Context.Context<never>, { callId }: CallRecord, error: unknown): ToolFailure =>
  toolFailure(error, Context.get(context, CurrentRun)?.id ?? callId, userTextsOf(context))

const blockedCode = "unsafe_output"

/** Event fields of an escalation. */
export interface Escalating {
  readonly code: string
  readonly reason: string
}

/** Event fields of the model's text of an escalation. */
export const escalating = (
  context: Context.Context<never>,
  { record }: Call,
  escalated: Escalation
): Effect.Effect<Escalating> => {
  const failure = failureOf(context, record, escalated)
  const { code } = escalated
  const shown = { code, reason: shownToModel(Context.get(context, Redaction), failure) }
  return isOwn(failure, userTextsOf(context))
    ? Effect.succeed(shown)
    : Effect.map(
      blockedBy(context, record, failure),
      (unsafe) => unsafe === undefined ? shown : { code: blockedCode, reason: entryOf(blockedCode).model }
    )
}

/** A request without the words of a tool, if the guard blocks them. The fixer still runs: it has the arguments. */
export const looked = (
  context: Context.Context<never>,
  { record }: Call,
  error: InvalidArgs | ExecutionError,
  request: FixRequest
): Effect.Effect<FixRequest> =>
  request.message === undefined ? Effect.succeed(request) : Effect.flatMap(
    blockedBy(context, record, failureOf(context, record, error)),
    (unsafe) =>
      unsafe === undefined ? Effect.succeed(request) : Effect.map(randomId, (referenceId) => {
        noteAudited(record, { decision: "blocked", referenceId, by: unsafe.category, security: true })
        const { message: _, untrusted: __, ...rest } = request
        return { ...rest, code: blockedCode }
      })
  )
