/** Interface of logs of durable runs: recorded steps with their events, messages of conversations, and signals. */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type { RunStoreError } from "./storeError.ts"

/**
 * Messages that a run has added to a conversation.
 *
 * @category models
 * @since 0.2.0
 */
export interface MessagePart {
  readonly runId: string
  /** 0 has messages of the run's input. Each later one has those up to a pause, or the end. */
  readonly part: number
  /** The hash of all messages of the conversation up to here. */
  readonly id: string
  /** The hash of the earlier messages, with which an earlier part ends; absent for the first ones of a conversation. */
  readonly parent: string | undefined
  /** Number of the conversation's messages up to here. */
  readonly size: number
  /** May name texts in the steps of the run. */
  readonly messages: ReadonlyArray<Schema.Json>
}

/**
 * A step that a run has recorded, with the events since the one before.
 *
 * @category models
 * @since 0.2.0
 */
export interface Step {
  readonly runId: string
  readonly epoch: number
  /** Number of the step in the run, over all segments. */
  readonly position: number
  readonly segment: number
  readonly kind: string
  readonly key: string
  readonly value: Schema.Json
  /** Milliseconds that the segment has run, over all its holders. */
  readonly elapsed: number
  /** Number of the first of the events. */
  readonly firstEvent: number
  readonly events: ReadonlyArray<Schema.Json>
  /** It lets a write start: if the run is cancelled, its kind is stored as {@link denied}, and no write may start. */
  readonly startsWrite?: true | undefined
  /** Start of its run, as in a `Lease`. It is not stored. */
  readonly startedAt?: number | undefined
  /** A reader in another process follows its events: the host wakes it. It is not stored. */
  readonly isFollowed?: true | undefined
  /** Its stored value, or its events, cannot be read. */
  readonly isUnreadable?: true | undefined
}

/** The kind of a step that would have let a write of a cancelled run start. */
export const denied = "denied"

/**
 * Result of a step that was handed to a store: another process may hold the run, or it was cancelled before a write started.
 *
 * @category models
 * @since 0.2.0
 */
export type Appended = "added" | "denied" | "lost"

/**
 * The steps of a segment, in order; and the state of the whole run.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunHistory {
  readonly steps: ReadonlyArray<Step>
  /** Number of all steps of the run. */
  readonly positions: number
  /** Number of all its events. */
  readonly events: number
  /** The owner that added its last step, except for events: 0 if there is none. */
  readonly lastEpoch: number
  /** The decisions that the execution resumes with. Empty unless the reader owns the run. */
  readonly decisions: ReadonlyArray<Schema.Json>
  /** Data of the run that cannot be read. The run ends with a failure. */
  readonly unreadable?: ReadonlyArray<string> | undefined
}

/**
 * End of an effect and its step.
 *
 * @category models
 * @since 0.2.0
 */
export type Committed<A> =
  /** Both are there. */
  | { readonly _tag: "Committed"; readonly value: A }
  /** Neither is there: another process holds the run. */
  | { readonly _tag: "Lost" }

/**
 * Entries of runs. The owner of a run adds steps, through its host.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunLog {
  /** Steps by their run and position. */
  readonly steps: (
    ids: ReadonlyArray<Pick<Step, "runId" | "position">>
  ) => Effect.Effect<ReadonlyArray<Step>, RunStoreError>
  /**
   * Events from a number on, in order. With `readMillis` the owner of the run knows for so long that they have a
   * reader.
   */
  readonly events: (
    runId: string,
    from: number,
    readMillis?: number
  ) => Effect.Effect<ReadonlyArray<{ readonly number: number; readonly event: Schema.Json }>, RunStoreError>
  /** The parts that make the conversation of a run, the first ones first: its own, and those of other runs before it. None of a run that has none. */
  readonly messages: (runId: string) => Effect.Effect<ReadonlyArray<MessagePart>, RunStoreError>
  /**
   * Runs an effect in a transaction together with its step: both are stored, or neither. Fails with the effect's own
   * error, or with `RunStoreError`: then neither is stored. `onFate` is called as soon as another outcome is known,
   * also if it is interrupted then. Absent if tools cannot write to the store's database.
   */
  readonly transaction?:
    | (<A, E, R>(
      effect: Effect.Effect<A, E, R>,
      options: {
        readonly stepOf: (value: A) => Effect.Effect<Step, unknown>
        readonly onFate: (fate: "done" | "undone" | "unknown") => void
      }
    ) => Effect.Effect<Committed<A>, E | RunStoreError, R>)
    | undefined
  /** Gives a run a value under a name, and wakes its owner; `false` if it has one, or if there is no such run. */
  readonly signal: (runId: string, name: string, value: Schema.Json) => Effect.Effect<boolean, RunStoreError>
  readonly signalled: (
    runId: string,
    name: string
  ) => Effect.Effect<{ readonly value: Schema.Json } | undefined, RunStoreError>
}
