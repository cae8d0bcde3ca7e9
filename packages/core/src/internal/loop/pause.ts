/** Pauses: the value that a waiting run gives the boundary, neither an output nor a failure. */
import type { Checkpoint, PendingCall } from "../approval/snapshot.ts"

export class Pause {
  /** What waits for a decision. */
  readonly pending: ReadonlyArray<PendingCall>
  /** What the run is; asked for once the run has ended. */
  readonly checkpoint: () => Checkpoint
  constructor(pending: ReadonlyArray<PendingCall>, checkpoint: () => Checkpoint) {
    this.pending = pending
    this.checkpoint = checkpoint
  }
}
