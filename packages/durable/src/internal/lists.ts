/** Interface of lists of durable runs: what any process can read of them, and how old ones are deleted. */
import type * as Effect from "effect/Effect"
import type * as Runs from "@recourse/core/Runs"
import type { StoredRun } from "./storedRun.ts"
import type { RunStoreError } from "./storeError.ts"

/** How many runs there are of a status. */
export interface Count {
  readonly status: Runs.Status
  /** Left out: of all agents. */
  readonly agent?: string | undefined
  readonly count: number
}

/** Reads runs. */
export interface RunLists {
  readonly get: (runId: string) => Effect.Effect<StoredRun | undefined, RunStoreError>
  readonly list: (query: Runs.Query) => Effect.Effect<ReadonlyArray<StoredRun>, RunStoreError>
  /** How many runs are queued and running, by agent, and how many wait. */
  readonly count: Effect.Effect<ReadonlyArray<Count>, RunStoreError>
  /** The runs that a run has started and that have not ended. */
  readonly children: (runId: string) => Effect.Effect<ReadonlyArray<string>, RunStoreError>
  /** Which of these runs have ended, or are not there. */
  readonly ended: (runIds: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string>, RunStoreError>
  /** Deletes runs that ended longer ago than this, and answers how many. Messages that a conversation of another run continues stay. */
  readonly purge: (olderThanMillis: number) => Effect.Effect<number, RunStoreError>
}
