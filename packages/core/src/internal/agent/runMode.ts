/** Mode of a run: what its caller says of it, and what its agent declares for all of its runs. */
import type * as Effect from "effect/Effect"
import type { BudgetExceeded, Caps, Extension } from "../../Budget.ts"
import type { Checkpoint, Snapshot } from "../approval/snapshot.ts"
import type { SnapshotKey } from "../approval/snapshotKey.ts"
import type { Ear } from "../run/observe/listeners.ts"
import type { RunRecord } from "../run/runEntries.ts"
import type { Over, Run } from "../run/run.ts"
import type { Compensates } from "./compensation/compensationOptions.ts"
import type { Cleanup } from "../run/nestedRuns.ts"

/** How an agent is run. */
export interface Mode {
  readonly streaming: boolean
  /** The id of the run, if the program has one for it. */
  readonly runId?: string | undefined
  /** Hears every event, besides the listeners of the context. */
  readonly ear?: Ear | undefined
  /** Receives the function that returns the record, when the run ends in any way. */
  readonly onRecord?: ((record: () => RunRecord) => void) | undefined
  /** Called when the run has begun: from then on the run itself announces the outcome of its calls. */
  readonly onBegun?: ((run: Run) => void) | undefined
  /** Is given, when the run begins, what calls off the questions that it may be waiting for by then. */
  readonly onQuestions?: ((withdraw: Effect.Effect<void>) => void) | undefined
  /**
   * Is told each time it is settled how the outermost run stands, before anybody can interrupt that: its snapshot where it waits, or waits as
   * before; nothing where it has ended. A run within another one is owed its end by that.
   */
  readonly onStands?: ((snapshot: Effect.Effect<Snapshot, never, SnapshotKey> | undefined) => void) | undefined
  /** Whether it can be answered that the run waits: as a value of `start` and `resume`, and to a run around it that can wait. */
  readonly mayPause?: boolean | undefined
  /** The run that this one goes on with. */
  readonly resumed?: Checkpoint | undefined
  /** Where the run stands in the agent that runs it, if that says so. Left out: runs are told apart as they begin. */
  readonly step?: Step | undefined
  /** Set where nobody goes on with the run, which waited: it begins nothing, is undone, and ends as if it had been interrupted. */
  readonly over?: Over | undefined
  /** Gives an effect what the agent brings along, behind the end of the run. */
  readonly provided?: ((effect: Cleanup["end"]) => Cleanup["end"]) | undefined
}

/** What hears of the leg in which a run ends that waited, and where that stands. */
export type EndMode = Partial<Pick<Mode, "ear" | "onRecord" | "step" | "streaming">>

/** The place of a run in the agent that it is a step of: the same whenever that agent goes on. */
export interface Step {
  /** The name of the agent, with a number from the second run of a name on: `clerk`, `clerk#2`. */
  readonly id: string
  readonly position: number
}

export const plain: Mode = { streaming: false }

/** What the boundary has to know about an agent. */
export interface Limits<R> {
  readonly name: string
  readonly caps: Caps
  readonly thresholds: ReadonlyArray<number> | undefined
  /** Whether the agent has a model: then it is a level, and has the caps of the program that it does not say itself. */
  readonly isLevel: boolean
  readonly onExceeded: ((error: BudgetExceeded) => Effect.Effect<Extension | undefined, never, R>) | undefined
  /** Whether the agent is made of agents, which are its steps. */
  readonly hasSteps?: boolean | undefined
  /** When and how what the run has done is undone, if it is. */
  readonly compensates?: Compensates | undefined
}
