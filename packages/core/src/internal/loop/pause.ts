/** The answer of a run that waits: a value for the boundary, which sees neither an output nor a failure. */
import type { Checkpoint } from "../approval/snapshot.ts"

export class Pause {
  /** What the run is; asked for once the run has ended. */
  readonly checkpoint: () => Checkpoint
  constructor(checkpoint: () => Checkpoint) {
    this.checkpoint = checkpoint
  }
}
