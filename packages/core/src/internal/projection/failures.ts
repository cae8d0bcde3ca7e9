/** Failed results: of an error, and of calls without one (denied, not run, blocked, waiting, repeated). */
import * as Catalogue from "../../Catalogue.ts"
import { cutText } from "../foundation/json/jsonShape.ts"
import { body, textOfIssues, unknownOutcomeBody } from "./errorBody.ts"
import { type Body, byCode, entries, entryOf } from "./codeTexts.ts"
import type { ToolFailure } from "./toolFailure.ts"

/**
 * The user's text by the code alone.
 *
 * @category models
 * @since 0.2.0
 */
export type UserTexts = (code: string) => string

const english: UserTexts = (code) => Catalogue.text({}, "en", code)

const complete = (body: Body, traceId: string, user: UserTexts = english): ToolFailure => ({
  status: "error",
  ...body,
  message_for_user: body.message_for_user ?? user(body.code),
  trace_id: traceId
})

/** Errors with words that a guard has blocked: no later reader receives them. */
const blockedErrors = new WeakSet<object>()

/** @internal Records that a guard has blocked an error's words. */
export const blockWords = (error: unknown): void => {
  blockedErrors.add(Object(error) as object)
}

/**
 * Returns the model's projection of an error that ended a tool call; the user's text is in English without `user`.
 *
 * **Example** (An executor's error stays opaque)
 *
 * ```ts
 * import { ErrorProjection, ToolError } from "@recourse/core"
 *
 * const error = new ToolError.ExecutionError({
 *   tool: "query",
 *   callId: "c1",
 *   attempt: 1,
 *   causes: [],
 *   reason: new Error("connect postgres://root:hunter2@10.0.0.7")
 * })
 *
 * ErrorProjection.toolFailure(error, "run-1").message_for_model // => "Tool execution failed."
 * ```
 *
 * @category constructors
 * @since 0.2.0
 */
export const toolFailure = (error: unknown, traceId: string, user?: UserTexts): ToolFailure =>
  complete(
    blockedErrors.has(error as object) ? byCode("unsafe_output") : body(error),
    traceId,
    user
  )

/** @internal The mark of a success in place of an unknown outcome. */
export const unknownOutcomeText =
  "A write of this call may have happened: no answer came back. Do not call again. Check first whether it happened."

/** @internal A call that failed, or was cut off, and may have done something all the same. */
export const unknownOutcome = (
  error: unknown,
  isRepeatable: boolean,
  isOwn: boolean,
  traceId: string,
  user?: UserTexts
): ToolFailure => complete(unknownOutcomeBody(error, isRepeatable, isOwn), traceId, user)

/**
 * A call of a tool that the agent does not have.
 *
 * @category constructors
 * @since 0.2.0
 */
export const toolNotFound = (
  name: string,
  available: ReadonlyArray<string>,
  traceId: string,
  user?: UserTexts
): ToolFailure =>
  complete(
    {
      code: "tool_not_found",
      message_for_model: `There is no tool "${cutText(name, 64)}".`,
      safe_to_retry: false,
      instruction: "Use one of the available tools.",
      available_tools: available
    },
    traceId,
    user
  )

const notRunSentence = (started: boolean): string =>
  started ? "Not finished: the run ended while the tool was running." : "Not run: the run ended before."

/**
 * Failure of a call that was not run because the run ended before its turn, or before it could have an effect.
 *
 * @category constructors
 * @since 0.2.0
 */
export const notRun = (started: boolean, traceId: string, user?: UserTexts): ToolFailure =>
  complete(
    {
      code: "not_run",
      message_for_model: notRunSentence(started),
      safe_to_retry: !started
    },
    traceId,
    user
  )

/**
 * A call that a policy denied. The policy's reason is for the audit.
 *
 * @category constructors
 * @since 0.2.0
 */
export const denied = (traceId: string, user?: UserTexts): ToolFailure =>
  complete(byCode("permission_denied"), traceId, user)

const compensationNotice = { instruction: "Earlier writes of this run are compensated when you have answered: say so." }

/**
 * Failure of a call that a person rejected, with that person's reason. `compensates`: true if the run's earlier writes are
 * compensated at its end.
 *
 * @category constructors
 * @since 0.2.0
 */
export const rejected = (reason: string, traceId: string, user?: UserTexts, compensates = false): ToolFailure =>
  complete(
    {
      ...byCode("permission_denied", `A person rejected this call: ${reason}`),
      ...(compensates ? compensationNotice : undefined)
    },
    traceId,
    user
  )

/** Failure of a call that was partly completed when a person rejected an inner one. */
export const rejectedInPart = (reason: string, traceId: string, user?: UserTexts, compensates = false): ToolFailure =>
  complete(
    {
      ...byCode("outcome_unknown", `A part of this call was done. A person rejected another: ${reason}`),
      ...(compensates ? compensationNotice : undefined)
    },
    traceId,
    user
  )

/**
 * Output that a guard blocked: a fixed notice and an id to refer to.
 *
 * @category constructors
 * @since 0.2.0
 */
export const blocked = (referenceId: string, traceId: string, user?: UserTexts): ToolFailure =>
  complete(
    byCode("unsafe_output", `${entries["unsafe_output"]!.model} Reference: ${referenceId}`),
    traceId,
    user
  )

/** @internal Whether the model's text is the fixed sentence of the code. */
export const isFixed = ({ code, message_for_model }: ToolFailure): boolean => message_for_model === entryOf(code).model

/** @internal Whether the model's text is made of a schema alone. */
export const isOfSchema = ({ issues, message_for_model }: ToolFailure): boolean =>
  issues !== undefined && message_for_model === textOfIssues(issues)

/** @internal True if a failure consists of this library's own texts: its code, and the texts for model and user. */
export const isOwn = (failure: ToolFailure, user: UserTexts): boolean => {
  const { code, message_for_model, message_for_user } = failure
  if (message_for_user !== user(code)) return false
  if (isOfSchema(failure)) return true
  return Object.hasOwn(entries, code)
    ? isFixed(failure)
    : code === "not_run" && [true, false].map(notRunSentence).includes(message_for_model)
}

/**
 * A call that waits for an approval.
 *
 * @category constructors
 * @since 0.2.0
 */
export const waiting = (traceId: string, user?: UserTexts): ToolFailure =>
  complete(byCode("approval_required"), traceId, user)

/** Failure of a client tool's call without an effect: the page has it, and has not answered. */
export const unanswered = (traceId: string, user?: UserTexts): ToolFailure => complete(byCode("timeout"), traceId, user)

/** A call of which a part was done, and another part waits for a decision, or gets none. */
export const doneInPart = (traceId: string, user?: UserTexts): ToolFailure =>
  complete(byCode("outcome_unknown", "A part of this call was done. Another part has no approval."), traceId, user)

/** A call of an answer that is equal to an earlier one of the same answer, whose tool is not executed twice. */
export const duplicateCall = (traceId: string, user?: UserTexts): ToolFailure =>
  complete(byCode("duplicate_call"), traceId, user)

/** The same call with the same arguments gave the same result too often, and no other call gave a new one. */
export const sameResult = (times: number, traceId: string, user?: UserTexts): ToolFailure =>
  complete(
    {
      code: "repeated_call",
      message_for_model:
        `This call was not made: it gave the same result ${times} times, and no call since then has given anything new.`,
      safe_to_retry: false,
      instruction: "Use the result that is already here, change the arguments, use another tool, or answer without it."
    },
    traceId,
    user
  )

/**
 * The same call with the same arguments failed in the same way too often.
 *
 * @category constructors
 * @since 0.2.0
 */
export const repeatedCall = (times: number, code: string, traceId: string, user?: UserTexts): ToolFailure =>
  complete(
    {
      code: "repeated_call",
      message_for_model: `This call failed ${times} times with the same arguments and the same error (${code}).`,
      safe_to_retry: false,
      instruction: "Do not make this call again. Change the arguments, use another tool, or answer without it."
    },
    traceId,
    user
  )
