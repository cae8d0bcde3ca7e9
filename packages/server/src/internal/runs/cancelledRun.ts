/** Cancellation of a paused run: its writes are compensated. */
import * as Effect from "effect/Effect"
import * as Approval from "@recourse/core/Approval"
import type { Journal } from "@recourse/core/Journal"
import type { RunInfo } from "@recourse/core/Runs"

/** The journal of a cancelled run: it starts no call, and compensates its writes. */
export const cancelled = (runId: string): Journal => ({
  runId,
  isResumed: true,
  isCancelled: () => true,
  elapsedBefore: 0,
  find: () => undefined,
  entries: () => [],
  record: () => Effect.void,
  claim: (entry) => entry
})

/** True if the agent of a cancelled paused run has to end it. */
export const needsEnd = ({ pending }: RunInfo, snapshot: Approval.Snapshot): boolean =>
  Approval.uncompensatedWrites({ snapshot }).length > 0 || pending.some(Approval.mayHaveStarted)
