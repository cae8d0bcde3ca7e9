/** What an audit is to know of a call besides its result. */
import type { Verdict } from "../run/callResult.ts"
import { toolName } from "./callSubject.ts"
import { rootOf } from "./children/outerCalls.ts"
import { addAudited } from "./record/admission.ts"
import type { CallRecord } from "./record/record.ts"

const audited = (call: CallRecord) => ({
  id: call.callId,
  tool: toolName(call),
  args: call.attempts.requested?.arguments
})

/** What an audit says of a call that a tool makes; nothing of one that a model made. */
export const auditedAs = (record: CallRecord) => record.parent === undefined ? undefined : audited(record)

/** Notes what the audit is to know of a call besides its result, or of one that is made in it. */
export const noteAudited = (record: CallRecord, verdict: Verdict): void => {
  addAudited(rootOf(record), `${verdict.decision} ${record.callId}`, { ...audited(record), verdict })
}
