/** Pauses: the value that a waiting run gives the boundary, neither an output nor a failure. */
import type { Parts } from "../approval/compareParts.ts"
import type { Checkpoint, PendingCall } from "../approval/snapshot.ts"

export class Pause {
  /** What waits for a decision. */
  readonly pending: ReadonlyArray<PendingCall>
  /** What the run is; asked for once the run has ended. */
  readonly checkpoint: () => Checkpoint
  /** What the snapshot is bound to. */
  readonly parts: () => Parts
  constructor(pending: ReadonlyArray<PendingCall>, checkpoint: () => Checkpoint, parts: () => Parts) {
    this.pending = pending
    this.checkpoint = checkpoint
    this.parts = parts
  }
}
