/** Stored runs of a service, in the form of `Runs`. */
import * as Effect from "effect/Effect"
import { isStorable, type RunInfo, RunsUnavailable, type UnknownRun, unknownRun } from "@recourse/core/Runs"
import type { RunStoreError, Store, StoredRun } from "../store/store.ts"
import { ended } from "../store/unemittedEnds.ts"
import { withOutcomes } from "../store/wholeRuns.ts"

/** The facts of a run without those of its outcome that the log has. */
export const infoOf = (run: StoredRun): RunInfo => ({
  runId: run.runId,
  agent: run.agent,
  version: run.version,
  status: run.status,
  ...(run.isCancelled && !ended.has(run.status) ? { cancelling: true as const } : undefined),
  ...(run.owner === undefined ? undefined : { owner: run.owner }),
  startedAt: run.startedAt,
  updatedAt: run.updatedAt,
  ...(run.askedOf === undefined ? undefined : { askedOf: run.askedOf }),
  pending: run.status === "waiting" ? run.pending as unknown as RunInfo["pending"] : [],
  ...run.outcome as object
})

/** Converts an error of the store. */
export const available = <A>(effect: Effect.Effect<A, RunStoreError>): Effect.Effect<A, RunsUnavailable> =>
  Effect.mapError(effect, ({ operation, reason }) => new RunsUnavailable({ operation, reason }))

/** Reads of stored runs. */
export interface StoredRuns {
  readonly get: (runId: string) => Effect.Effect<StoredRun, UnknownRun | RunsUnavailable>
  /** Known facts of runs. */
  readonly described: (runs: ReadonlyArray<StoredRun>) => Effect.Effect<ReadonlyArray<RunInfo>, RunsUnavailable>
  readonly describedOne: (run: StoredRun) => Effect.Effect<RunInfo, RunsUnavailable>
}

/** Makes the reads of a store. */
export const storedRuns = (store: Store): StoredRuns => {
  const get = (runId: string): Effect.Effect<StoredRun, UnknownRun | RunsUnavailable> =>
    Effect.flatMap(
      isStorable(runId) ? available(store.get(runId)) : Effect.undefined,
      (run) => run === undefined ? Effect.fail(unknownRun(String(runId))) : Effect.succeed(run)
    )
  const described: StoredRuns["described"] = (runs) =>
    Effect.map(available(withOutcomes(store, runs)), (whole) => whole.map(infoOf))
  const describedOne: StoredRuns["describedOne"] = (run) => Effect.map(described([run]), ([info]) => info!)
  return { get, described, describedOne }
}
