/** Decided calls: a call is made as a person has decided. */
import { type Approval, noteApproval } from "./record/admission.ts"
import type { CallRecord } from "./record/record.ts"
import { noteFixed } from "./record/recovering.ts"

/** Makes a call as a person has decided. */
export const approve = (record: CallRecord, approval: Approval): void => {
  noteApproval(record, approval)
  const { arguments: args, fixedBy } = approval
  if (fixedBy !== undefined) noteFixed(record, fixedBy, JSON.stringify(args))
}
