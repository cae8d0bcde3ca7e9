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

/** Errors that an executor may fail with as they are: they already say what is to happen. */
export type PassThrough = Escalation | Escalated | AgentException | PartialSuccess | Pending | OutcomeUnknown

export const isPassThrough = (u: unknown): u is Exclude<PassThrough, OutcomeUnknown> =>
  u instanceof Escalation || u instanceof Escalated || u instanceof AgentException || u instanceof PartialSuccess ||
  u instanceof Pending

export const mayBeRepeated = ({ effects }: ToolInfo): boolean => effects === "read" || effects === "idempotent"

/** Whether the failure of an execution is `OutcomeUnknown`, unless the tool declares that nothing was done. */
export const isWrite = ({ effects, passesKey }: ToolInfo): boolean =>
  effects === "write" || (effects === undefined && passesKey)
