/** Result of a call that waits for a decision. */
import { isDoneInPart, outcomeUndecided, type WaitingCall } from "../../approval/waitsWithin.ts"
import { newRecord } from "../../call/record/record.ts"
import * as Failures from "../../projection/failures.ts"
import type { Presentation } from "../../result/delivery.ts"
import { outcomeUnknown } from "../../result/failureOf.ts"
import type { CallResult, RequestedCall } from "../../run/callResult.ts"
import type { Run } from "../../run/run.ts"
import { failed } from "../roundContext.ts"

/**
 * The result of a call without a decision: in the transcript of a run that is paused, and of one that ends so. It is the same in both, because a paused
 * run may never be resumed.
 */
export const undecided = (
  { id }: Pick<Run, "id">,
  { user }: Pick<Presentation, "user">,
  call: RequestedCall,
  waiting: WaitingCall = {}
): CallResult => {
  if (isDoneInPart(waiting)) return failed(call, Failures.doneInPart(id, user))
  switch (outcomeUndecided(waiting)) {
    case "unknown":
      return failed(call, outcomeUnknown(newRecord(call.id), id, user))
    case "unanswered":
      return failed(call, Failures.unanswered(id, user))
    case "not_made":
      return failed(call, Failures.waiting(id, user))
  }
}
