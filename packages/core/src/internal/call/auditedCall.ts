/** Facts of a call for an audit, besides its result. */
import type { Verdict } from "../run/callResult.ts"
import { type CallRecord, rootOf, toolName } from "./record/record.ts"
import { addAudited } from "./record/admission.ts"

const audited = (call: CallRecord) => ({
  id: call.callId,
  tool: toolName(call),
  args: call.attempts.requested?.arguments
})

/** Returns an audit's facts of a call made by a tool; `undefined` for a call made by a model. */
export const auditedAs = (record: CallRecord) => record.parent === undefined ? undefined : audited(record)

/** Records the audit's facts of a call, besides its result, or of an inner call. */
export const noteAudited = (record: CallRecord, verdict: Verdict): void => {
  addAudited(rootOf(record), `${verdict.decision} ${record.callId}`, { ...audited(record), verdict })
}
