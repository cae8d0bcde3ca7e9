/**
 * Index of runs for operators: each run's input, usage and call outcomes, to be listed, filtered and counted; and
 * people's findings about calls of unknown outcome.
 *
 * The index is derived from the events of the runs. It can be deleted, and is built again; the answers of people cannot.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import type * as SqlError from "effect/sql/SqlError"
import { CheckedOutcomes } from "@recourse/core/IdempotencyLedger"
import type { RunIndexService } from "./internal/index/types.ts"
import { memoryIndex } from "./internal/index/memoryIndex.ts"
import { reconciledBy } from "./internal/index/reconciledBy.ts"
import { sqlIndex } from "./internal/index/sqlIndex.ts"
import { prepareIndex } from "./internal/index/sqlTables.ts"
export {
  Answer,
  CallFacts,
  Check,
  type OpenOutcome,
  type OutcomeQuery,
  OutcomeState,
  Overview,
  type OverviewQuery,
  type RunFacts,
  type RunFilter,
  type RunIndexService,
  RunSummary
} from "./internal/index/types.ts"

/**
 * The index of runs. `Server.layer` uses one in memory if there is none.
 *
 * @category services
 * @since 0.2.0
 */
export class RunIndex extends Context.Service<RunIndex, RunIndexService>()("@recourse/server/RunIndex") {}

/** An index, and the answers of people in the place of `reconcile` for whatever runs above it. */
const withAnswers = <E, R>(index: Effect.Effect<RunIndexService, E, R>) =>
  Layer.effectContext(
    Effect.map(index, (service) =>
      Context.make(RunIndex, service).pipe(Context.add(CheckedOutcomes, reconciledBy(service))))
  )

/**
 * An index in memory: built again when the process starts; the answers of people end with it.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerMemory: Layer.Layer<RunIndex> = withAnswers(Effect.sync(memoryIndex))

/**
 * An index in three tables of PostgreSQL or SQLite, created if missing: `<table>_runs`, `<table>_calls` and
 * `<table>_checks`. Provide it to the runs as well as to the server: people's findings then replace a tool's
 * `reconcile`.
 *
 * @category layers
 * @since 0.2.0
 */
export const layerSql = (
  options?: {
    /** Default: `"recourse_index"`. */
    readonly table?: string | undefined
  }
): Layer.Layer<RunIndex, SqlError.SqlError, SqlClient.SqlClient> =>
  withAnswers(Effect.gen(function*() {
    const sql = (yield* SqlClient.SqlClient).withoutTransforms()
    const table = options?.table ?? "recourse_index"
    yield* prepareIndex(sql, table)
    return sqlIndex(sql, table)
  }))
