/** Interface of stores of durable runs. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type * as Runs from "@recourse/core/Runs"

/** A store could not be read or written. */
export class RunStoreError extends Schema.TaggedError<RunStoreError>()("RunStoreError", {
  operation: Schema.String,
  reason: Schema.Defect()
}) {
  override get message(): string {
    return this.operation === "check tables"
      ? "The tables of durable runs are not there, or of another version: make them as RunStore.createTableSql says, in a migration"
      : `The store of durable runs failed: ${this.operation}`
  }
}

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
  /** Without the messages of its conversation, if it has one: {@link Store.messages} has them. */
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

/** Messages that a run has added to a conversation. */
export interface MessagePart {
  readonly runId: string
  /** 0 has messages of the run's input. Each later one has those up to a pause, or the end. */
  readonly part: number
  /** The hash of all messages of the conversation up to here. */
  readonly id: string
  /** The hash of the messages before, which an earlier part ends with; nothing for the first ones of a conversation. */
  readonly parent: string | undefined
  /** How many messages the conversation has up to here. */
  readonly size: number
  /** May name texts in the steps of the run. */
  readonly messages: ReadonlyArray<Schema.Json>
}

/** A step that a run has recorded, with the events since the one before. */
export interface Step {
  readonly runId: string
  readonly epoch: number
  /** Number of the step in the run, over all legs. */
  readonly position: number
  readonly leg: number
  readonly kind: string
  readonly key: string
  readonly value: Schema.Json
  /** Milliseconds that the leg has run, over all its holders. */
  readonly elapsed: number
  /** Number of the first of the events. */
  readonly firstEvent: number
  readonly events: ReadonlyArray<Schema.Json>
  /** It lets a write start: if the run is cancelled, its kind is stored as {@link denied}, and nothing may start. */
  readonly startsWrite?: true | undefined
}

/** The kind of a step that would have let a write of a cancelled run start. */
export const denied = "denied"

/** Result of a step that was handed to a store: another process may hold the run, or it was cancelled before a write started. */
export type Appended = "added" | "denied" | "lost"

/** The steps of a leg, in order; and where the whole run stands. */
export interface Loaded {
  readonly steps: ReadonlyArray<Step>
  /** How many steps the run has in all. */
  readonly positions: number
  /** How many events it has in all. */
  readonly events: number
  /** Who added its last step, other than to tell events: 0 where there is none. */
  readonly lastEpoch: number
}

/** How a holder leaves a run. */
export interface Settlement {
  readonly status: Runs.Status
  readonly pending: Schema.Json
  /** Of a run that waits: what its next leg goes on from. */
  readonly snapshot?: Schema.Json | undefined
  readonly outcome?: Schema.Json | undefined
  /** Of a run that waits: when it is due ({@link Store.due}). */
  readonly wakeInMillis?: number | undefined
  /** Steps that have not been added yet. */
  readonly before?: ReadonlyArray<Step> | undefined
  /** Its messages since its last part. */
  readonly said?: MessagePart | undefined
  /** The last events. */
  readonly last: Step
}

/** A hold on a run. */
export interface Hold {
  readonly runId: string
  readonly epoch: number
}

/** What is wanted of a run that is held. */
export interface Wanted {
  readonly runId: string
  readonly isCancelled: boolean
  /** Whether its events have a reader in another process. */
  readonly isRead: boolean
}

/** A decision about a call of a leg. */
export interface StoredDecision {
  readonly callId: string
  readonly decision: Schema.Json
}

/** Runs that a runner takes: of an agent, begun by one of these versions. */
export interface Claimable {
  readonly agent: string
  readonly versions: ReadonlyArray<string>
  readonly queue?: Queue | undefined
}

/** How many runs of an agent run at once, and how many begin in a time, over all runners. */
export interface Queue {
  readonly concurrency?: number | undefined
  readonly rate?: { readonly limit: number; readonly perMillis: number } | undefined
}

/** Who was asked about a run that waits, and when it is due again. */
export interface Asked {
  readonly asked: number
  readonly askedOf: string | undefined
  readonly wakeInMillis: number | undefined
}

/** How many runs there are of a status. */
export interface Count {
  readonly status: Runs.Status
  /** Left out: of all agents. */
  readonly agent?: string | undefined
  readonly count: number
}

/** How an effect and its step ended. */
export type Committed<A> =
  /** Both are there. */
  | { readonly _tag: "Committed"; readonly value: A }
  /** Neither is there: another process holds the run. */
  | { readonly _tag: "Lost" }

/** What a store does. Each operation is one transaction. Times are the store's own: its clock decides when a lease is over. */
export interface Store {
  /** Adds a run, which is queued; or answers the one with the id. */
  readonly insert: (
    run: StartedRun
  ) => Effect.Effect<{ readonly run: StoredRun; readonly isNew: boolean }, RunStoreError>
  /** Takes runs that are queued, or whose holder's lease is over, of these agents and versions; the oldest first. */
  readonly claim: (options: {
    readonly agents: ReadonlyArray<Claimable>
    readonly leaseMillis: number
    readonly limit: number
    /** Takes only those that are cancelled, and that only have to be undone. Left out: all. */
    readonly onlyCancelled?: boolean | undefined
  }) => Effect.Effect<ReadonlyArray<StoredRun>, RunStoreError>
  /** Runs that wait and are due; they are not due again for so long. */
  readonly due: (options: {
    readonly agents: ReadonlyArray<Claimable>
    readonly forMillis: number
    readonly limit: number
  }) => Effect.Effect<ReadonlyArray<StoredRun>, RunStoreError>
  /** Notes who was asked about a run, if it still waits in its leg. */
  readonly asked: (run: Pick<StoredRun, "runId" | "leg">, asked: Asked) => Effect.Effect<void, RunStoreError>
  /** Notes that another version goes on with a run, if the epoch holds it. */
  readonly adopt: (hold: Hold, version: string) => Effect.Effect<boolean, RunStoreError>
  /** Renews leases; answers those that are still held. */
  readonly renew: (
    holds: ReadonlyArray<Hold>,
    leaseMillis: number
  ) => Effect.Effect<ReadonlyArray<string>, RunStoreError>
  /** What is wanted of these runs; those are left out of which nothing is. */
  readonly wanted: (runIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Wanted>, RunStoreError>
  /** Notes that the events of a run have a reader, for so long. */
  readonly read: (runId: string, forMillis: number) => Effect.Effect<void, RunStoreError>
  readonly load: (runId: string, leg: number) => Effect.Effect<Loaded, RunStoreError>
  /** The parts that make the conversation of a run, the first ones first: its own, and those of other runs before it. None of a run that has none. */
  readonly messages: (runId: string) => Effect.Effect<ReadonlyArray<MessagePart>, RunStoreError>
  /** Steps by their run and position. */
  readonly steps: (
    ids: ReadonlyArray<Pick<Step, "runId" | "position">>
  ) => Effect.Effect<ReadonlyArray<Step>, RunStoreError>
  /** Adds steps, each if its epoch still holds the run. A step that this holder has added already is `added`. */
  readonly append: (steps: ReadonlyArray<Step>) => Effect.Effect<ReadonlyArray<Appended>, RunStoreError>
  /**
   * Runs an effect in a transaction that its step is part of: both are there afterwards, or neither. Fails with the effect's own error, or
   * with `RunStoreError`: then it is known that neither is there. `onFate` is called as soon as something else is known, also where it is interrupted then. Left out where tools cannot write to the store's database.
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
  /**
   * Leaves a run, if the epoch still holds it. One that is to wait is queued where a decision has come meanwhile, and one that is
   * to be cancelled is cancelled.
   */
  readonly settle: (hold: Hold, settlement: Settlement) => Effect.Effect<boolean, RunStoreError>
  /** Gives the place of a run in the queue of its agent away, as it waits for another run or for a signal. */
  readonly lend: (hold: Hold) => Effect.Effect<void, RunStoreError>
  /** Takes the place back, where one is free; until then no run takes one that is not further. `false` also where the run is not held any more. */
  readonly reclaim: (hold: Hold, concurrency: number) => Effect.Effect<boolean, RunStoreError>
  /** Gives runs back, so that another runner takes them at once. */
  readonly release: (holds: ReadonlyArray<Hold>) => Effect.Effect<void, RunStoreError>
  /**
   * Adds decisions, all or none: each about a call that waits in the current leg and has none. A run that waits is queued.
   * Answers the call that has a decision already, if one has.
   */
  readonly decide: (
    runId: string,
    leg: number,
    decisions: ReadonlyArray<StoredDecision>
  ) => Effect.Effect<{ readonly decidedBefore: string | undefined }, RunStoreError>
  /** The decisions that a leg goes on with: fixed when it is first asked. */
  readonly decisions: (hold: Hold, leg: number) => Effect.Effect<ReadonlyArray<Schema.Json>, RunStoreError>
  /**
   * Cancels a run that nobody holds; one that is held is marked, and one that may have to be undone is queued for it. Answers `false` where it has
   * ended.
   */
  readonly cancel: (runId: string) => Effect.Effect<boolean, RunStoreError>
  /** The runs that a run has started and that have not ended. */
  readonly children: (runId: string) => Effect.Effect<ReadonlyArray<string>, RunStoreError>
  /** Gives a run a value under a name; `false` where it has one. */
  readonly signal: (runId: string, name: string, value: Schema.Json) => Effect.Effect<boolean, RunStoreError>
  readonly signalled: (
    runId: string,
    name: string
  ) => Effect.Effect<{ readonly value: Schema.Json } | undefined, RunStoreError>
  /** Which of these runs have ended, or are not there. */
  readonly ended: (runIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, RunStoreError>
  readonly get: (runId: string) => Effect.Effect<StoredRun | undefined, RunStoreError>
  /** Events from a number on, in order. */
  readonly events: (
    runId: string,
    from: number
  ) => Effect.Effect<ReadonlyArray<{ readonly number: number; readonly event: Schema.Json }>, RunStoreError>
  /** How many runs are queued and running, by agent, and how many wait. */
  readonly count: Effect.Effect<ReadonlyArray<Count>, RunStoreError>
  readonly list: (query: Runs.Query) => Effect.Effect<ReadonlyArray<StoredRun>, RunStoreError>
  /** Deletes runs that ended longer ago than this, and answers how many. Messages that a conversation of another run continues stay. */
  readonly purge: (olderThanMillis: number) => Effect.Effect<number, RunStoreError>
}
