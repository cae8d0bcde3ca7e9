/**
 * Journal of a run: its model answers, its started writes and the outcomes of its calls, each recorded once. A run that
 * restarts with its journal replays those entries and continues behind them.
 *
 * `@recourse/durable` keeps journals in a database. Another engine can, too: it provides {@link CurrentJournal} around
 * `agent.run` or `agent.start` with the same `runId` each time.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * The kind of an entry. `model`: an answer of a model. `call`: the outcome of a tool call. `write`: the start of an
 * attempt that is not a read. `child`: the outcome of a write made by another tool's executor, or committed with its
 * entry. `wait`: a wait of recovery, with the failure before it and its end, or the end of a wait: an approval in time,
 * an answer that a guard passed. `compensation`: the start of a compensation and its outcome.
 *
 * @category models
 * @since 0.2.0
 */
export type Kind = "model" | "call" | "write" | "child" | "wait" | "compensation"

/**
 * Returns whether an entry is the start of a write. An engine may refuse to append that of a run that has been cancelled: it interrupts
 * the run, and the write does not start.
 *
 * @category predicates
 * @since 0.2.0
 */
export const startsWrite = (kind: string): boolean => kind === "write"

/**
 * The journal of one run.
 *
 * @category models
 * @since 0.2.0
 */
export interface Journal {
  /** The run whose journal it is: other runs in the same context do not use it. */
  readonly runId: string
  /** True if an earlier execution of the run has started. */
  readonly isResumed: boolean
  /**
   * True if an interruption cancels the run, as far as is known when it arrives. The run's completed writes are
   * compensated then. Other interruptions end an execution, not the run. Default: none cancels it.
   *
   * A resumed execution that is cancelled starts no work. It replays the entries of the journal, and then waits to be
   * interrupted, so that all completed writes are known at compensation.
   */
  readonly isCancelled?: (() => boolean) | undefined
  /** Milliseconds that earlier executions of the run took. */
  readonly elapsedBefore: number
  /** Returns the entry of an earlier execution, never one of this execution. Keys are the same in each execution. */
  readonly find: (kind: Kind, key: string) => Schema.Json | undefined
  /** Returns all entries of a kind that earlier executions have recorded, in order. */
  readonly entries: (kind: Kind) => Iterable<readonly [key: string, value: Schema.Json]>
  /**
   * Records a step before the run continues. It returns when the entry is durable. If it cannot record, it interrupts
   * the run or dies, because a run must not continue from an unrecorded step. A key that this execution has recorded is
   * not recorded again.
   */
  readonly record: (kind: Kind, key: string, value: Schema.Json) => Effect.Effect<void>
  /**
   * Records a step with the next one, or soon: the run continues before it is durable. Used only for steps that lead to
   * reads: a lost one is repeated. Default: each step is recorded by `record`.
   */
  readonly note?: Journal["record"] | undefined
  /**
   * Runs an effect in a transaction of the journal's database, together with an entry of its outcome: both are stored,
   * or neither. `onFate` is called with the known outcome as soon as possible, also if the effect is interrupted then.
   * Before that neither is stored; `unknown` is a commit without an answer. If the effect itself fails, neither is
   * stored. Absent if tools do not write to the journal's database.
   */
  readonly transaction?:
    | (<A, E, R>(
      effect: Effect.Effect<A, E, R>,
      outcome: {
        readonly recordOf: (
          value: A
        ) => Effect.Effect<{ readonly kind: Kind; readonly key: string; readonly value: Schema.Json }, unknown>
        readonly onFate: (fate: "done" | "undone" | "unknown") => void
      }
    ) => Effect.Effect<A, E | TransactionFailed, R>)
    | undefined
  /**
   * The name under which this run claims an entry of an idempotency ledger: the same in each execution, because the run
   * is one claimant.
   */
  readonly claim: (entry: string) => string
}

/**
 * The journal of the run that starts here. Default: none, at no cost to the run.
 *
 * @category services
 * @since 0.2.0
 */
export const CurrentJournal: Context.Reference<Journal | undefined> = Context.Reference<Journal | undefined>(
  "@recourse/core/CurrentJournal",
  { defaultValue: () => undefined }
)

/**
 * The transaction of a call could not be committed: no part of the call is stored.
 *
 * @category errors
 * @since 0.2.0
 */
export class TransactionFailed extends Schema.TaggedError<TransactionFailed>()("TransactionFailed", {
  reason: Schema.Defect()
}) {
  override get message(): string {
    return "The transaction of the call could not be committed, so no part of the call is stored"
  }
}

/**
 * Replay requests something else than the log holds at the same path: a `prompt` reads the clock, for example. It is a defect, because
 * no recovery may see it.
 *
 * @category errors
 * @since 0.2.0
 */
export class NonDeterminismError extends Schema.TaggedError<NonDeterminismError>()("NonDeterminismError", {
  runId: Schema.String,
  /** The step that has another record. */
  step: Schema.String
}) {
  override get message(): string {
    return `Run "${this.runId}" is not deterministic: replay diverged from its log at "${this.step}". ` +
      "Usual causes: a deployment, or instructions that read the clock."
  }
}
