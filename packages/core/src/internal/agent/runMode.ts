/** Mode of a run: options of its caller, and its agent's declarations for all runs. */
import type * as Effect from "effect/Effect"
import type { BudgetExceeded, Caps, Extension } from "../../Budget.ts"
import type { Checkpoint, Snapshot } from "../approval/snapshot.ts"
import type { SnapshotKey } from "../approval/snapshotKey.ts"
import type { Step } from "../path/stepNumbers.ts"
import type { EventSink } from "../run/observe/listeners.ts"
import type { RunRecord } from "../run/runEntries.ts"
import type { Cleanup, Over, Run } from "../run/run.ts"
import type { Compensates } from "./compensation/compensationOptions.ts"
import type { CompensableWrite } from "../run/writes/completedWrites.ts"
import type * as Tool from "../tool/tool.ts"

/** Options of a run. */
export interface Mode {
  readonly streaming: boolean
  /** The id of the run, if the program has one for it. */
  readonly runId?: string | undefined
  /** Hears every event, besides the listeners of the context. */
  readonly sink?: EventSink | undefined
  /** Receives the function that returns the record, when the run ends in any way. */
  readonly onRecord?: ((record: () => RunRecord) => void) | undefined
  /** Called when the run has started: from then on the run itself emits the outcome of its calls. */
  readonly onStarted?: ((run: Run) => void) | undefined
  /** Receives, when the run starts, the effect that withdraws its questions. */
  readonly onQuestions?: ((withdraw: Effect.Effect<void>) => void) | undefined
  /**
   * Called each time the state of the outermost run is settled, before an interruption is possible: with its snapshot
   * if it waits, with `undefined` if it has ended. The outer run ends an inner one.
   */
  readonly onStands?: ((snapshot: Effect.Effect<Snapshot, never, SnapshotKey> | undefined) => void) | undefined
  /** True if a wait can be answered: as a value of `start` and `resume`, and to an outer run that can wait. */
  readonly mayPause?: boolean | undefined
  /** The run that this one resumes. */
  readonly resumed?: Checkpoint | undefined
  /** Path of the run in its agent, if the agent declares it. Default: runs are distinguished when they start. */
  readonly step?: Step | undefined
  /** Set if the paused run is abandoned: it starts no call, is compensated, and ends as if interrupted. */
  readonly over?: Over | undefined
  /** The write of an ended run that this run compensates, in place of the agent's program. */
  readonly ended?: EndedWrite | undefined
  /** Provides an effect with the agent's own services, behind the end of the run. */
  readonly provided?: ((effect: Cleanup["end"]) => Cleanup["end"]) | undefined
}

/** A write of a run that has ended, which another run compensates. */
export interface EndedWrite {
  readonly write: CompensableWrite
  /** The person who requests it. */
  readonly by: string | undefined
  /** The tools of the agent, and of those that it is made of. */
  readonly tools: ReadonlyArray<Tool.Own>
}

/** Listener of the segment in which a paused run ends, and its path. */
export type EndMode = Partial<Pick<Mode, "sink" | "onRecord" | "step" | "streaming">>

export const plain: Mode = { streaming: false }

/** Facts of an agent for the boundary. */
export interface Limits<R> {
  readonly name: string
  readonly caps: Caps
  readonly thresholds: ReadonlyArray<number> | undefined
  /** True if the agent has a model: then it is a level, and has the program's caps unless it declares its own. */
  readonly isLevel: boolean
  readonly onExceeded: ((error: BudgetExceeded) => Effect.Effect<Extension | undefined, never, R>) | undefined
  /** True if the agent is made of agents, which are its steps. */
  readonly hasSteps?: boolean | undefined
  /** Conditions and options of the run's compensation, if it has one. */
  readonly compensates?: Compensates | undefined
}
