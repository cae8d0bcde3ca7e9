/** Unknown writes: those of a turn whose process died, found by the next turn. */
import * as Effect from "effect/Effect"
import { appendAnyway } from "./forceAppend.ts"
import { auditUnknown } from "./auditUnknown.ts"
import { findingOf, openCalls, resultOf } from "./pendingCalls.ts"
import type { Conversations, ThreadContent, ThreadKey } from "./conversationService.ts"
import type { Event } from "./thread.ts"
import { encodeMessages } from "./threadView.ts"

/**
 * Stores an unknown outcome of each call that a turn has left pending, because its process died. The audit has it too.
 * Returns the findings.
 */
export const storeUnknown = Effect.fnUntraced(function*(
  store: Conversations["Service"],
  key: ThreadKey,
  { entries }: ThreadContent,
  runId: string | undefined
) {
  const left = openCalls(entries).filter((call) => call.result === undefined && call.runId !== runId)
  for (const call of left) {
    yield* auditUnknown(call)
    const event: Event = {
      _tag: "WriteEnded",
      version: 1,
      callId: call.callId,
      outcome: "unknown",
      result: encodeMessages([resultOf(call)])[0]!
    }
    yield* appendAnyway(store, { ...key, events: [event], runId: call.runId })
  }
  return left.map(findingOf)
})
