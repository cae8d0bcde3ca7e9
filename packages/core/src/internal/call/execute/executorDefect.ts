/**
 * Defects of executors: an executor that throws, dies, or returns a promise that rejects. The defect names its tool and call. A defect
 * of the library, of a layer or of a recovery within the executor keeps its identity: no preset may take it for the tool's.
 */
import * as Cause from "effect/Cause"
import { ExecutorDefect } from "../../../ToolError.ts"
import { stackless } from "../../foundation/stacklessError.ts"
import { noteAudited } from "../auditedCall.ts"
import { type CallRecord, errorFields } from "../record/record.ts"

/** Defects that came out of a nested call or run, and that no executor raised. */
const ofOthers = new WeakSet<object>()

/** Notes that the defects of a nested call or run are not of the executor around it, except those of its own executors. */
export const noteForeignDefects = (cause: Cause.Cause<unknown>): void => {
  for (const reason of cause.reasons) {
    if (!Cause.isDieReason(reason) || reason.defect instanceof ExecutorDefect) continue
    if (typeof reason.defect === "object" && reason.defect !== null) ofOthers.add(reason.defect)
  }
}

const isOfExecutor = (reason: Cause.Reason<unknown>): reason is Cause.Die =>
  Cause.isDieReason(reason) && !(reason.defect instanceof ExecutorDefect) &&
  !(typeof reason.defect === "object" && reason.defect !== null && ofOthers.has(reason.defect))

/**
 * Names the tool and the call on each defect of an executor, and records it for the audit. The executor of an agent is the library: the calls
 * of its run name themselves.
 */
export const namingDefects = <E>(record: CallRecord, number: number, cause: Cause.Cause<E>): Cause.Cause<E> => {
  if (record.attempts.tool?.isAgent === true || !cause.reasons.some(isOfExecutor)) return cause
  noteAudited(record, { decision: "defect" })
  const { callId, tool } = errorFields(record)
  return Cause.fromReasons(cause.reasons.map((reason) =>
    isOfExecutor(reason)
      ? Cause.makeDieReason(
        stackless(() => new ExecutorDefect({ tool, callId, attempt: number, reason: reason.defect }))
      ).annotate(Cause.reasonAnnotations(reason))
      : reason
  ))
}

/**
 * Returns the defect of an executor that a cause consists of; `undefined` if another component died, or if the call was
 * interrupted.
 */
export const executorDefectIn = (cause: Cause.Cause<unknown>): ExecutorDefect | undefined => {
  const defects = cause.reasons.map((reason) =>
    Cause.isDieReason(reason) && reason.defect instanceof ExecutorDefect ? reason.defect : undefined
  )
  return defects.includes(undefined) ? undefined : defects[0]
}
