/** Detached calls: a fiber that an executor has detached makes a call after the call around it has ended. Such a call does not start. */
import * as Effect from "effect/Effect"
import { ConfigurationError } from "../../../ConfigurationError.ts"
import { type CallRecord, outerOf, toolName } from "../record/record.ts"

/** True if a call has ended, or all its outer calls have: a write is replayed in a repeated read. */
const isOver = (record: CallRecord): boolean =>
  (record.outcome.ended !== undefined && record.outcome.running === 0) || isOverAround(record)

const isOverAround = (record: CallRecord): boolean => {
  const { children: { metIn } } = record
  const outer = outerOf(record)
  return outer !== undefined && isOver(outer) && (metIn === undefined || [...metIn].every(isOver))
}

/**
 * Returns the exit of a call made in a call that has ended; `undefined` if it may start. No result of it could reach
 * its run.
 */
export const refuseDetached = (record: CallRecord): Effect.Effect<never> | undefined => {
  const around = outerOf(record)
  if (around === undefined || !isOverAround(record)) return undefined
  const error = new ConfigurationError({
    subject: `Tool "${toolName(record)}"`,
    problem: `it was called within the call "${around.callId}" of "${
      toolName(around)
    }", which has ended: wait for it before that call ends`
  })
  return Effect.andThen(
    Effect.annotateLogs(Effect.logWarning(error.message), { call_id: record.callId, tool: toolName(record) }),
    Effect.die(error)
  )
}
