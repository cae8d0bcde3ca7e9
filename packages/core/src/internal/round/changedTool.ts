/**
 * Changed tool: a call that an earlier life of the run may have begun, of a tool that this version of the agent does not have, or
 * has otherwise. It is not run again, and never told as not done.
 */
import * as Schema from "effect/Schema"
import { hasIntent, writesIntents } from "../call/intent.ts"
import { newRecord } from "../call/newRecord.ts"
import type { ToolInfo } from "../call/record.ts"
import * as Arguments from "../call/arguments.ts"
import { outcomeUnknown } from "../result/failureOf.ts"
import type { CallResult, RequestedCall } from "../run/callResult.ts"
import { addExecuted, use } from "../run/run.ts"
import type { RoundContext } from "./context.ts"
import { counted } from "./repeatedFailures.ts"

/** What is known of a tool that is not there any more: that it was no read. */
const gone = (name: string): ToolInfo => ({
  name,
  description: undefined,
  effects: "write",
  passesKey: false,
  jsonSchema: () => ({}),
  success: Schema.Unknown,
  onUnknownKeys: "drop",
  resultLimit: undefined,
  needsApproval: undefined,
  failure: undefined,
  untrusted: false,
  foreignDescription: false
})

/** Whether a call may have been begun in a way that its tool of today does not know. `info`: the tool, if there is one. */
export const mayHaveBegun = (
  { run, session }: RoundContext,
  call: RequestedCall,
  info: ToolInfo | undefined
): boolean => {
  const { journal } = run
  if (journal === undefined) return false
  const wasKeyed = session.keyedBefore?.includes(call.name) === true
  if (wasKeyed && info?.passesKey !== true) return true
  return (info === undefined || !writesIntents(info)) && hasIntent(journal, run, call.name, call.id)
}

/** The result of such a call. */
export const begunOtherwise = (calls: RoundContext, call: RequestedCall, info: ToolInfo | undefined): CallResult => {
  const { run, shown: { user } } = calls
  const record = newRecord(call.id)
  record.tool = info ?? gone(call.name)
  record.executed = true
  record.happened = record.known = "unknown"
  calls.records.set(call.id, record)
  use(run, "toolCalls", 1)
  addExecuted(run, {
    tool: call.name,
    callId: call.id,
    attempt: 1,
    arguments: Arguments.toText(call.params),
    outcome: "unknown"
  })
  return counted(calls, call, outcomeUnknown(record, run.id, user))
}
