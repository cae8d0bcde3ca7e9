/** Subject of an event or an error: how it names its call. */
import type { FailedAttempt } from "../../ToolError.ts"
import type { CallRecord } from "./record/record.ts"

/** Identifies a call among all others within the call of an agent. */
export const identityOf = ({ callId, identity }: CallRecord): string => identity ?? callId

/** The name of a call's tool; no name before any attempt. */
export const toolName = ({ attempts: { tool } }: CallRecord): string => tool?.name ?? ""

/** Fields of a call in events. */
export const subjectOf = (record: CallRecord) => ({
  callId: record.callId,
  tool: toolName(record),
  ...(record.parent === undefined ? undefined : { parentCallId: record.parent.callId })
})

/** Fields of a call in its errors. */
export interface ErrorFields {
  readonly tool: string
  readonly callId: string
  readonly attempt: number
  readonly causes: ReadonlyArray<FailedAttempt>
}

/** Returns the fields of a call in its errors, in its present state. */
export const errorFields = (record: CallRecord): ErrorFields => ({
  tool: toolName(record),
  callId: record.callId,
  attempt: record.attempts.countBefore + record.attempts.count,
  causes: record.recovering.causes
})
