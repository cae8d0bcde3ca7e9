/** Errors that pass an executor as they are, and which executions may be repeated. */
import { AgentException, Escalated, Escalation, PartialSuccess, Pending } from "../../ToolError.ts"
import type { ToolInfo } from "./record.ts"

/** Errors that an executor may fail with as they are: they already say what is to happen. */
export type PassThrough = Escalation | Escalated | AgentException | PartialSuccess | Pending

export const isPassThrough = (u: unknown): u is PassThrough =>
  u instanceof Escalation || u instanceof Escalated || u instanceof AgentException || u instanceof PartialSuccess ||
  u instanceof Pending

export const mayBeRepeated = ({ effects }: ToolInfo): boolean => effects === "read" || effects === "idempotent"
