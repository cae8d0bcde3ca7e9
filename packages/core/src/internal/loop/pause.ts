/** Pauses: the value that a waiting run gives the boundary, neither an output nor a failure. */
import type { Parts } from "../approval/compareParts.ts"
import type { Checkpoint, PendingCall } from "../approval/snapshot.ts"

export class Pause {
  /** Pending calls. */
  readonly pending: ReadonlyArray<PendingCall>
  /** State of the run; called once the run has ended. */
  readonly checkpoint: () => Checkpoint
  /** Parts that the snapshot is bound to. */
  readonly parts: () => Parts
  constructor(pending: ReadonlyArray<PendingCall>, checkpoint: () => Checkpoint, parts: () => Parts) {
    this.pending = pending
    this.checkpoint = checkpoint
    this.parts = parts
  }
}
