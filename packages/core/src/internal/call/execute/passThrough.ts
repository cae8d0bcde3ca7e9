/** Executions: errors that pass an executor unchanged, and whether a failed execution may have done something. */
import {
  AgentException,
  Escalated,
  Escalation,
  type OutcomeUnknown,
  PartialSuccess,
  Pending
} from "../../../ToolError.ts"
import type { ToolInfo } from "../tool/toolInfo.ts"

/**
 * Errors of an executor that pass unchanged: they already define the next step.
 *
 * @category errors
 * @since 0.2.0
 */
export type PassThrough = Escalation | Escalated | AgentException | PartialSuccess | Pending | OutcomeUnknown

export const isPassThrough = (u: unknown): u is Exclude<PassThrough, OutcomeUnknown> =>
  u instanceof Escalation || u instanceof Escalated || u instanceof AgentException || u instanceof PartialSuccess ||
  u instanceof Pending

export const mayBeRepeated = ({ effects }: ToolInfo): boolean => effects === "read" || effects === "idempotent"

/** True if a failed execution is `OutcomeUnknown`, unless the tool declares that it was not done. */
export const isWrite = ({ effects, passesKey }: ToolInfo): boolean =>
  effects === "write" || (effects === undefined && passesKey)
