/** Interface of hosts: who owns a run, and how its owner is woken. */
import type * as Effect from "effect/Effect"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import type * as Runs from "@recourse/core/Runs"
import type { Appended, MessagePart, RunHistory, Step } from "./log.ts"
import type { Lease, StartedRun, StoredRun } from "./storedRun.ts"
import type { RunStoreError } from "./storeError.ts"

/**
 * Runs that a process takes: of an agent, started by one of these versions.
 *
 * @category models
 * @since 0.2.0
 */
export interface Claimable {
  readonly agent: string
  readonly versions: ReadonlyArray<string>
  /** The version that continues runs of others of the versions: it is theirs from then on. */
  readonly adopted?: Readonly<Record<string, string>> | undefined
  readonly queue?: Queue | undefined
}

/**
 * Number of an agent's concurrent runs, and of starts in a time, over all processes.
 *
 * @category models
 * @since 0.2.0
 */
export interface Queue {
  readonly concurrency?: number | undefined
  readonly rate?: { readonly limit: number; readonly perMillis: number } | undefined
}

/**
 * Requests of a process to the host: absent parts are not requested.
 *
 * @category models
 * @since 0.2.0
 */
export interface Take {
  /** Takes queued runs of these agents, and runs whose lease is over; the oldest first. */
  readonly agents?: ReadonlyArray<Claimable> | undefined
  /** Takes only runs with these ids. Left out: all. */
  readonly only?: ReadonlyArray<string> | undefined
  /** Number of taken runs, and of due ones, at most. Default: none. */
  readonly limit?: number | undefined
  /** Takes only cancelled runs, which have to be compensated. */
  readonly onlyCancelled?: boolean | undefined
  /** Returns runs of these agents that wait and are due. They are not due again for the time of a lease. */
  readonly due?: ReadonlyArray<Claimable> | undefined
  /** Runs that the process owns. With `place`, it wants its place back in a queue of so many. */
  readonly leases?: ReadonlyArray<Lease & { readonly place?: number | undefined }> | undefined
  /** For how long runs that are taken are owned, and the leases from now on. Left out: leases are read, and not renewed. */
  readonly leaseMillis?: number | undefined
}

/**
 * A run that a process owns still.
 *
 * @category models
 * @since 0.2.0
 */
export interface LeasedRun {
  readonly runId: string
  readonly isCancelled: boolean
  /** True if its events have a reader in another process. */
  readonly isRead: boolean
  /** True if it has its slot in the queue of its agent. */
  readonly hasPlace: boolean
}

/**
 * The answer to a process. Leases that are not in the answer have another owner by now.
 *
 * @category models
 * @since 0.2.0
 */
export interface Taken {
  readonly taken: ReadonlyArray<StoredRun>
  readonly due: ReadonlyArray<StoredRun>
  readonly leases: ReadonlyArray<LeasedRun>
}

/**
 * The end of an execution: the run has ended, or waits.
 *
 * @category models
 * @since 0.2.0
 */
export interface Settlement {
  readonly status: Exclude<Runs.Status, "queued" | "running">
  readonly pending: Schema.Json
  /** Resumed snapshot of a waiting run's next execution. */
  readonly snapshot?: Schema.Json | undefined
  readonly outcome?: Schema.Json | undefined
  /** Of a run that waits: when it is due. */
  readonly wakeInMillis?: number | undefined
  /** Steps that have not been added yet. */
  readonly before?: ReadonlyArray<Step> | undefined
  /** Its messages since its last part. */
  readonly said?: MessagePart | undefined
  /** The last events. */
  readonly last: Step
}

/**
 * The person who was asked about a run that waits, and when it is due again.
 *
 * @category models
 * @since 0.2.0
 */
export interface Reminder {
  readonly status: "asked"
  readonly asked: number
  readonly askedOf: string | undefined
  readonly wakeInMillis: number | undefined
}

/**
 * State in which an owner leaves a run: settled, queued for another process, or with its slot released.
 *
 * @category models
 * @since 0.2.0
 */
export type Leaving = Settlement | { readonly status: "queued" | "lent" } | Reminder

/**
 * A decision about a call of an execution.
 *
 * @category models
 * @since 0.2.0
 */
export interface StoredDecision {
  readonly callId: string
  readonly decision: Schema.Json
}

/**
 * News from any process. A wake-up may be lost, and may come twice: whoever listens polls as well.
 *
 * @category models
 * @since 0.2.0
 */
export type WakeUp =
  /** A run may be taken; `released`: the run that its owner has given back. */
  | { readonly _tag: "Queued"; readonly released?: Pick<StoredRun, "runId" | "agent" | "version"> }
  /** A run was cancelled, has a reader, has more events for a reader, or has changed otherwise: its state, or its signals. */
  | { readonly _tag: "Cancelled" | "Read" | "Recorded" | "Changed"; readonly runId: string }

/**
 * Owns runs. Each operation is one transaction. Times are the host's own: its clock decides when a lease is over.
 *
 * @category models
 * @since 0.2.0
 */
export interface Host {
  /** Adds a run, which is queued or owned; or returns the one with the id. */
  readonly insert: (
    run: StartedRun
  ) => Effect.Effect<{ readonly run: StoredRun; readonly isNew: boolean }, RunStoreError>
  /** Takes runs for a process, and keeps those that it holds. */
  readonly take: (wanted: Take) => Effect.Effect<Taken, RunStoreError>
  /**
   * Reads the log of an execution. For its owner, the decisions that it resumes with are among it: they are fixed when they are first read.
   */
  readonly load: (
    run: Pick<StoredRun, "runId" | "segment"> & Partial<Pick<StoredRun, "epoch" | "startedAt">>
  ) => Effect.Effect<RunHistory, RunStoreError>
  /** Adds steps, each if its epoch still owns the run. A step that this owner has added already is `added`. */
  readonly append: (steps: ReadonlyArray<Step>) => Effect.Effect<ReadonlyArray<Appended>, RunStoreError>
  /**
   * Leaves a run, if the epoch still owns it. A run that is to wait is queued if a decision has come meanwhile, and a cancelled one is
   * cancelled.
   */
  readonly settle: (hold: Lease, leaving: Leaving) => Effect.Effect<boolean, RunStoreError>
  /**
   * Adds decisions, all or none: each about a call that waits in the current segment and has none. A run that waits is queued.
   * Returns the call that has a decision already, if one has.
   */
  readonly decide: (
    runId: string,
    segment: number,
    decisions: ReadonlyArray<StoredDecision>
  ) => Effect.Effect<{ readonly decidedBefore: string | undefined }, RunStoreError>
  /**
   * Cancels a run without an owner; an owned one is marked, and one that may have to be compensated is queued for it. Returns `false` if the
   * run has ended.
   */
  readonly cancel: (runId: string) => Effect.Effect<boolean, RunStoreError>
  /** Calls a function with each wake-up, until the scope is closed. */
  readonly listen: (listener: (wakeUp: WakeUp) => void) => Effect.Effect<void, never, Scope.Scope>
}
