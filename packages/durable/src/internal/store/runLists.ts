/** Lists of durable runs: any process's view of them, and the deletion of old ones. */
import type * as Effect from "effect/Effect"
import type * as Runs from "@recourse/core/Runs"
import type { StoredRun } from "./storedRun.ts"
import type { RunStoreError } from "./storeError.ts"

/**
 * Number of runs of a status.
 *
 * @category models
 * @since 0.2.0
 */
export interface Count {
  readonly status: Runs.Status
  /** Left out: of all agents. */
  readonly agent?: string | undefined
  readonly count: number
}

/**
 * Reads runs.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunLists {
  readonly get: (runId: string) => Effect.Effect<StoredRun | undefined, RunStoreError>
  readonly list: (query: Runs.Query) => Effect.Effect<ReadonlyArray<StoredRun>, RunStoreError>
  /** Numbers of queued and running runs, by agent, and of waiting ones. */
  readonly count: Effect.Effect<ReadonlyArray<Count>, RunStoreError>
  /** The runs that a run has started and that have not ended. A run that compensates a write of it is none of them. */
  readonly children: (runId: string) => Effect.Effect<ReadonlyArray<string>, RunStoreError>
  /** Those of these runs that have ended, or do not exist. */
  readonly ended: (runIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, RunStoreError>
  /** Deletes runs that ended longer ago than this, and answers how many. Children of a run that has not ended stay: it joins them if its calls are repeated. Compensations of a stored run stay: none is repeated. A run stays while one compensates a write of it. Messages that a conversation of another run continues stay. */
  readonly purge: (olderThanMillis: number) => Effect.Effect<number, RunStoreError>
}
