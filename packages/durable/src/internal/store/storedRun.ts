/** Runs as they are stored. */
import type * as Schema from "effect/Schema"
import type * as Runs from "@recourse/core/Runs"

/**
 * Fields of a new run.
 *
 * @category models
 * @since 0.2.0
 */
export interface NewRun {
  readonly runId: string
  readonly agent: string
  /** The agent's `version`. */
  readonly version: string
  readonly owner: string | undefined
  /** The run that started it, if one did: it is cancelled with that one. The run of the write for a compensation, which is not. */
  readonly parent?: string | undefined
  /** The span that it was started in, in the form of `traceparent` of W3C's Trace Context. */
  readonly trace?: string | undefined
  /** Without the messages of its conversation, if it has one: `messages` of the log has them. */
  readonly input: Schema.Json
}

/**
 * A run that is to be added.
 *
 * @category models
 * @since 0.2.0
 */
export interface StartedRun extends NewRun {
  /**
   * The messages of the conversation of its input, and the hash of all messages up to each of them. The store adds
   * those behind the longest stored conversation, in part 0 of the run.
   */
  readonly conversation?: {
    readonly ids: ReadonlyArray<string>
    readonly messages: ReadonlyArray<Schema.Json>
  } | undefined
  /** Delay before its start. */
  readonly delayMillis?: number | undefined
  /** Lease, if its adder owns it from the start. It is queued if a transaction is running. */
  readonly leaseMillis?: number | undefined
}

/**
 * A run as it is stored. Times are milliseconds since the epoch.
 *
 * @category models
 * @since 0.2.0
 */
export interface StoredRun extends NewRun {
  readonly status: Runs.Status
  /** The number of its holder: 0 before the first. */
  readonly epoch: number
  /** Number of its pauses and resumptions. Each segment has a journal of its own. */
  readonly segment: number
  /** The snapshot with which the segment starts; absent for the first segment. */
  readonly snapshot: Schema.Json | undefined
  /** The calls that wait. */
  readonly pending: Schema.Json
  /** Of a run that waits: how many people were asked, and who was last. */
  readonly asked: number
  readonly askedOf: string | undefined
  /** Its end: its output, or its failure. */
  readonly outcome: Schema.Json | undefined
  readonly isCancelled: boolean
  /** Milliseconds that the segment had run at the last renewal of its lease. */
  readonly ran: number
  readonly startedAt: number
  readonly updatedAt: number
  /** Fields of the row that cannot be read: edited by hand, or half written. The run ends with a failure. */
  readonly unreadable?: ReadonlyArray<string> | undefined
}

/**
 * A hold on a run.
 *
 * @category models
 * @since 0.2.0
 */
export interface Lease {
  readonly runId: string
  readonly epoch: number
  /** Start of the run: its id may name another run after a purge, which the lease does not own. Left out: not compared. */
  readonly startedAt?: number | undefined
}
