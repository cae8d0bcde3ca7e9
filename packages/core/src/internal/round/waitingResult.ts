/** Results of calls that wait: of a paused run, and of a run that ends without a decision. */
import { isDoneInPart, outcomeUndecided, type WaitingCall } from "../approval/waitsWithin.ts"
import { newRecord } from "../call/newRecord.ts"
import * as Failures from "../projection/failures.ts"
import type { Presentation } from "../result/delivery.ts"
import { outcomeUnknown } from "../result/failureOf.ts"
import type { CallResult, RequestedCall } from "../run/callResult.ts"
import type { Run } from "../run/run.ts"
import { failed } from "./context.ts"

/** The result of a call whose question is withdrawn. */
export const withdrawn = (
  { id }: Pick<Run, "id">,
  { user }: Pick<Presentation, "user">,
  call: RequestedCall,
  waiting: WaitingCall = {}
): CallResult => {
  switch (outcomeUndecided(waiting)) {
    case "unknown":
      return failed(call, outcomeUnknown(newRecord(call.id), id, user))
    case "unanswered":
      return failed(call, Failures.unanswered(id, user))
    case "not_made":
      return failed(call, Failures.waiting(id, user))
  }
}

/** The result of a call in the transcript of a paused run. */
export const waits = (
  run: Pick<Run, "id">,
  shown: Pick<Presentation, "user">,
  call: RequestedCall,
  waiting: WaitingCall
): CallResult =>
  isDoneInPart(waiting)
    ? failed(call, Failures.waitingInPart(run.id, shown.user))
    : withdrawn(run, shown, call, waiting)
