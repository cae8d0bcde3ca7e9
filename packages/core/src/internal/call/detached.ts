/** Detached calls: a fiber that an executor has detached makes a call after the call around it has ended. Such a call does not start. */
import * as Effect from "effect/Effect"
import { ConfigurationError } from "../../ConfigurationError.ts"
import { type CallRecord, toolName } from "./record.ts"

/** The call around a call that has ended, if one has. */
const endedAround = ({ parent }: CallRecord): CallRecord | undefined =>
  parent === undefined || parent.ended !== undefined ? parent : endedAround(parent)

/** How a call ends that is made in a call that has ended; nothing if it may start. No result of it could reach its run. */
export const refuseDetached = (record: CallRecord): Effect.Effect<never> | undefined => {
  if (record.parent === undefined) return undefined
  const around = endedAround(record)
  if (around === undefined) return undefined
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
