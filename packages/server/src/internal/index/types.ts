/** Content of an index of runs, and its queries. */
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { RunsUnavailable, Status } from "@recourse/core/Runs"

/**
 * The end of a call that is neither success nor failure, in the terms of `RunTimeline.CallOutcome`.
 *
 * @category schemas
 * @since 0.2.0
 */
export const OutcomeState = Schema.Literals(["unknown", "undone", "not_happened", "not_undone"])

/**
 * A call of a run that is counted: it failed, was recovered or has a state, or it is the first one of its tool.
 *
 * @category schemas
 * @since 0.2.0
 */
export const CallFacts = Schema.Struct({
  /** The call's span in the run's timeline: unique in the run. */
  spanId: Schema.String,
  callId: Schema.String,
  tool: Schema.String,
  /** Milliseconds since the epoch. */
  at: Schema.Finite,
  attempts: Schema.Int,
  isFailure: Schema.Boolean,
  code: Schema.optionalKey(Schema.String),
  /** Recovery on the way to the result. */
  isRetried: Schema.Boolean,
  isFixed: Schema.Boolean,
  isFallback: Schema.Boolean,
  isEscalated: Schema.Boolean,
  state: Schema.optionalKey(OutcomeState),
  /**
   * Of a call with a state: its real arguments in JSON text; the reason of a missing compensation; the ledger's entry
   * of its key.
   */
  arguments: Schema.optionalKey(Schema.String),
  because: Schema.optionalKey(Schema.String),
  entry: Schema.optionalKey(Schema.String),
  /** Whether its tool has a `compensate`. */
  hasCompensation: Schema.optionalKey(Schema.Literal(true))
})

/**
 * Counted facts of a run's call.
 *
 * @category models
 * @since 0.2.0
 */
export type CallFacts = typeof CallFacts.Type

/**
 * A run in a list. Times are milliseconds, costs are by the program's prices.
 *
 * @category schemas
 * @since 0.2.0
 */
export const RunSummary = Schema.Struct({
  /** The first words of the user's input. */
  input: Schema.String,
  worked: Schema.Finite,
  waited: Schema.Finite,
  turns: Schema.Int,
  calls: Schema.Int,
  attempts: Schema.Int,
  tokens: Schema.Int,
  cost: Schema.Finite,
  retries: Schema.Int,
  fixes: Schema.Int,
  fallbacks: Schema.Int,
  escalations: Schema.Int,
  /** Unchecked calls whose outcome is unknown, or that could not be compensated. */
  unknown: Schema.Int,
  /** Calls that were compensated. */
  undone: Schema.Int,
  /** Code of the failure that ended the run. */
  code: Schema.optionalKey(Schema.String),
  /** Of a run that waits: its calls until then, in three lines at most. */
  story: Schema.optionalKey(Schema.Array(Schema.String))
})

/**
 * A run in a list.
 *
 * @category models
 * @since 0.2.0
 */
export type RunSummary = typeof RunSummary.Type

/**
 * Indexed facts of a run.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunFacts {
  readonly runId: string
  readonly agent: string
  readonly owner?: string | undefined
  readonly status: Status
  readonly startedAt: number
  /** As `RunInfo` has it: facts of an older state are replaced. */
  readonly updatedAt: number
  /** Searched text, in lower case. */
  readonly words: string
  /** Since when calls of the run wait for people; 0 if none does. */
  readonly waitingSince: number
  readonly pending: number
  readonly summary: Omit<RunSummary, "unknown">
  readonly calls: ReadonlyArray<CallFacts>
}

/**
 * Filter of runs. All given conditions have to hold.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunFilter {
  readonly agents?: ReadonlyArray<string> | undefined
  readonly owner?: string | undefined
  readonly status?: Status | undefined
  readonly idPrefix?: string | undefined
  readonly startedAfter?: number | undefined
  readonly startedBefore?: number | undefined
  /** Words of the input or the answer. */
  readonly text?: string | undefined
  /** A tool that was called. */
  readonly tool?: string | undefined
  /** A code that a call or the run failed with. */
  readonly code?: string | undefined
  readonly state?: "unknown" | "undone" | "retried" | "fixed" | undefined
  /** Milliseconds of work at least. */
  readonly minWorked?: number | undefined
  readonly minCost?: number | undefined
  /** Runs of the same agent whose calls ended as those of this run: the same tools with the same codes. */
  readonly like?: string | undefined
  readonly behind?: { readonly runId: string; readonly startedAt: number } | undefined
  readonly limit: number
}

/**
 * An answer of a person about a call. `settled`: a call that could not be compensated has been dealt with.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Answer = Schema.Literals(["happened", "not_happened", "settled"])

/**
 * An answer of a person about a call.
 *
 * @category models
 * @since 0.2.0
 */
export type Answer = typeof Answer.Type

/**
 * A person's finding about a call.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Check = Schema.Struct({
  spanId: Schema.String,
  answer: Answer,
  by: Schema.String,
  /** Milliseconds since the epoch. */
  at: Schema.Finite,
  note: Schema.optionalKey(Schema.String),
  /** The call's answer, in JSON of the tool's `success` schema, for the next call with its key. */
  result: Schema.optionalKey(Schema.Json)
})

/**
 * A person's finding about a call.
 *
 * @category models
 * @since 0.2.0
 */
export type Check = typeof Check.Type

/** The run id of checks about entries of the ledger of which no run is known. The `spanId` of such a check is the entry. */
export const ledgerRun = " ledger"

/**
 * A call that a person has to look at, or has looked at.
 *
 * @category models
 * @since 0.2.0
 */
export interface OpenOutcome {
  readonly run: { readonly runId: string; readonly agent: string; readonly owner?: string | undefined }
  readonly call: CallFacts
  readonly check?: Check | undefined
}

/**
 * Filter of outcomes: the unchecked ones, the newest first, or those of one run.
 *
 * @category models
 * @since 0.2.0
 */
export interface OutcomeQuery {
  readonly agents?: ReadonlyArray<string> | undefined
  readonly runId?: string | undefined
  readonly limit: number
}

/**
 * A time, and whose runs, for counts.
 *
 * @category models
 * @since 0.2.0
 */
export interface OverviewQuery {
  readonly from: number
  readonly to: number
  /** Into how many equal parts the time is cut. */
  readonly parts: number
  readonly agents?: ReadonlyArray<string> | undefined
}

/**
 * Counts of the runs that started within a time.
 *
 * @category schemas
 * @since 0.2.0
 */
export const Overview = Schema.Struct({
  runs: Schema.Int,
  byStatus: Schema.Record(Schema.String, Schema.Int),
  cost: Schema.Finite,
  tokens: Schema.Int,
  /** Milliseconds of work of ended runs; absent if there are none. */
  p50: Schema.optionalKey(Schema.Finite),
  p95: Schema.optionalKey(Schema.Finite),
  series: Schema.Array(Schema.Struct({ at: Schema.Finite, runs: Schema.Int, failed: Schema.Int, unknown: Schema.Int })),
  /** Failed calls, those of which there are most first. */
  failures: Schema.Array(Schema.Struct({ tool: Schema.String, code: Schema.String, count: Schema.Int })),
  /** Calls that were recovered in this way, and how many of them succeeded. */
  recovery: Schema.Array(Schema.Struct({
    kind: Schema.Literals(["retry", "fix", "fallback", "escalation"]),
    used: Schema.Int,
    succeeded: Schema.Int
  })),
  /** Calls of unknown outcome without a check; checked ones; compensated ones; ones whose compensation failed. */
  outcomes: Schema.Struct({ unknown: Schema.Int, checked: Schema.Int, undone: Schema.Int, notUndone: Schema.Int }),
  /** Calls that wait for people now, whenever their runs started, and since when the oldest does. */
  waiting: Schema.Struct({ calls: Schema.Int, since: Schema.optionalKey(Schema.Finite) })
})

/**
 * Counts of the runs that started within a time.
 *
 * @category models
 * @since 0.2.0
 */
export type Overview = typeof Overview.Type

/**
 * Operations of an index of runs.
 *
 * @category models
 * @since 0.2.0
 */
export interface RunIndexService {
  /** Replaces the facts of a run. */
  readonly put: (facts: RunFacts) => Effect.Effect<void, RunsUnavailable>
  /** The summaries of runs, with the state that they were made of. */
  readonly summaries: (runIds: ReadonlyArray<string>) => Effect.Effect<
    ReadonlyMap<string, { readonly updatedAt: number; readonly status: Status; readonly summary: RunSummary }>,
    RunsUnavailable
  >
  /** Ids of runs that had not ended when they were indexed: 500 at most. */
  readonly unfinished: Effect.Effect<ReadonlyArray<string>, RunsUnavailable>
  /** Forgets a run that the engine has deleted. */
  readonly forget: (runId: string) => Effect.Effect<void, RunsUnavailable>
  /** The ids of runs, newest first, with their start. */
  readonly find: (
    filter: RunFilter
  ) => Effect.Effect<ReadonlyArray<{ readonly runId: string; readonly startedAt: number }>, RunsUnavailable>
  readonly outcomes: (query: OutcomeQuery) => Effect.Effect<ReadonlyArray<OpenOutcome>, RunsUnavailable>
  /** Records a person's finding. A later finding about the same call replaces it. */
  readonly check: (runId: string, check: Check) => Effect.Effect<void, RunsUnavailable>
  /** The newest answer about a call whose key has this entry in the ledger. */
  readonly checked: (entry: string) => Effect.Effect<Check | undefined, RunsUnavailable>
  readonly overview: (query: OverviewQuery) => Effect.Effect<Overview, RunsUnavailable>
}
