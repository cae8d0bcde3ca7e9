/** Runs as they are stored. */
import type * as Schema from "effect/Schema"
import type * as Runs from "@recourse/core/Runs"

/** What a new run is. */
export interface NewRun {
  readonly runId: string
  readonly agent: string
  /** The agent's `version`. */
  readonly version: string
  readonly owner: string | undefined
  /** The run that started it, if one did: it is cancelled with that one. */
  readonly parent?: string | undefined
  /** The span that it was started in, as `traceparent` of W3C's Trace Context has it. */
  readonly trace?: string | undefined
  /** Without the messages of its conversation, if it has one: `messages` of the log has them. */
  readonly input: Schema.Json
}

/** A run that is to be added. */
export interface StartedRun extends NewRun {
  /**
   * The messages of the conversation of its input, and the hash of all messages up to each of them. The store adds those behind the longest
   * conversation that it has, as the run's part 0.
   */
  readonly conversation?: {
    readonly ids: ReadonlyArray<string>
    readonly messages: ReadonlyArray<Schema.Json>
  } | undefined
  /** How long it is left alone. */
  readonly delayMillis?: number | undefined
  /** Of one that its adder holds from the beginning, as its first holder: for how long. It is queued where a transaction is under way. */
  readonly leaseMillis?: number | undefined
}

/** A run as it is stored. Times are milliseconds since the epoch. */
export interface StoredRun extends NewRun {
  readonly status: Runs.Status
  /** The number of its holder: 0 before the first. */
  readonly epoch: number
  /** How often it has waited and gone on. Each leg has a journal of its own. */
  readonly leg: number
  /** What the leg goes on from; of the first leg, nothing. */
  readonly snapshot: Schema.Json | undefined
  /** The calls that wait. */
  readonly pending: Schema.Json
  /** Of a run that waits: how many people were asked, and who was last. */
  readonly asked: number
  readonly askedOf: string | undefined
  /** How it ended: its output, or its failure. */
  readonly outcome: Schema.Json | undefined
  readonly isCancelled: boolean
  /** Milliseconds that the leg has run by when its lease was last renewed. */
  readonly ran: number
  readonly startedAt: number
  readonly updatedAt: number
}

/** A hold on a run. */
export interface Hold {
  readonly runId: string
  readonly epoch: number
}
