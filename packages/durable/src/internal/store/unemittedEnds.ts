/** Ends of runs that no agent emitted: of one that was cancelled while it waited, or that was not restarted. */
import * as Schema from "effect/Schema"
import type * as AgentEvent from "@recourse/core/AgentEvent"
import { mayHaveStarted, PendingCall, uncompensatedWrites } from "@recourse/core/Approval"
import * as RunRecord from "@recourse/core/RunRecord"
import * as RunUsage from "@recourse/core/RunUsage"
import type { Failure } from "@recourse/core/Runs"
import { type Conversation, snapshotFromStored } from "./conversation.ts"
import { References } from "./references.ts"
import type { Step, StoredRun } from "./store.ts"
import { eventToStored } from "./storedEvents.ts"

/** Statuses of runs that have ended. */
export const ended: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"])

/** The last event of a run: with its snapshot's data, if it waited. */
export const finishOf = (run: StoredRun, at: number, failure?: Failure): AgentEvent.RunFinished => {
  const { usage } = (run.snapshot ?? {}) as { readonly usage?: RunUsage.RunUsage }
  return {
    _tag: "RunFinished",
    runId: run.runId,
    agentRunId: run.runId,
    path: [run.agent],
    sequence: 0,
    at,
    ...(failure === undefined
      ? { outcome: "interrupted" }
      : { outcome: "failure", error: failure.error, code: failure.code, userMessage: failure.userMessage }),
    usage: { ...RunUsage.none, ...usage },
    transcript: RunRecord.transcriptOf(run.snapshot)
  }
}

const isAtPage = (pending: unknown): boolean => Schema.is(PendingCall)(pending) && mayHaveStarted(pending)

/**
 * Returns whether a run that is cancelled without an owner needs a runner for its end. Its agent compensates the writes
 * before its pause or recorded since, and reports calls that a page may have executed.
 */
export const needsRunner = ({ pending, snapshot }: StoredRun, hasSteps: boolean): boolean =>
  hasSteps || uncompensatedWrites({ snapshot }).length > 0 || (Array.isArray(pending) && pending.some(isAtPage))

/** The stored form of the last event of a run that is cancelled while no process holds it. */
const cancelledEvent = (run: StoredRun, conversation: Conversation, at: number): Schema.Json => {
  const snapshot = run.snapshot && snapshotFromStored(run.snapshot, conversation)
  return new References(conversation.messages).pack(eventToStored(finishOf({ ...run, snapshot }, at), run))
}

/** The last step of a run that is cancelled while no process holds it. */
export const cancelledStep = (
  run: StoredRun,
  conversation: Conversation,
  { at, firstEvent, position }: Pick<Step, "firstEvent" | "position"> & { readonly at: number }
): Step => ({
  runId: run.runId,
  epoch: run.epoch,
  segment: run.segment,
  position,
  kind: "end",
  key: "cancelled",
  value: "cancelled",
  elapsed: run.ran,
  firstEvent,
  events: [cancelledEvent(run, conversation, at)]
})
