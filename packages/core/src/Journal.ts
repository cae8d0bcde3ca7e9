/**
 * Journal of a run: what its model answered, which writes it began and what its calls came to, each recorded once. A run that
 * begins again with its journal takes what is there from it, and goes on behind it.
 *
 * `@recourse/durable` keeps journals in a database. Another engine can, too: it provides {@link CurrentJournal} around
 * `agent.run` or `agent.start` with the same `runId` each time.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"

/**
 * The kind of a record: `model` is an answer of a model, `call` the outcome of a tool call, `write` the start of an attempt
 * that is not a read, `child` what a write came to that another tool's executor made, or that was committed with its record, `wait` a wait of recovery: what failed
 * before it, and when it ends, or that a wait is over: of an approval that was in time, of an answer that a guard let pass, `compensation` the beginning of a compensation and what it came to.
 */
export type Kind = "model" | "call" | "write" | "child" | "wait" | "compensation"

/**
 * Returns whether an entry is the start of a write. An engine may refuse to append that of a run that has been cancelled: it interrupts
 * the run, and the write does not start.
 */
export const startsWrite = (kind: string): boolean => kind === "write"

/** The journal of one run. */
export interface Journal {
  /** The run whose journal it is: other runs in the same context do not use it. */
  readonly runId: string
  /** Whether an earlier life of the run has begun. */
  readonly isResumed: boolean
  /**
   * Whether an interruption cancels the run, as far as is known when it comes: then what the run has done is undone. Other interruptions
   * end a life, and not the run. Left out: none cancels it.
   *
   * A life of a resumed run in which this is so begins nothing: it takes from the journal what is there, and waits behind it to be interrupted, so
   * that what earlier lives have done is known when it is undone.
   */
  readonly isCancelled?: (() => boolean) | undefined
  /** Milliseconds that the run has run in earlier lives. */
  readonly elapsedBefore: number
  /** What an earlier life recorded; nothing of what this one did. Keys are the same in each life. */
  readonly find: (kind: Kind, key: string) => Schema.Json | undefined
  /** Returns all entries of a kind that earlier executions have recorded, in order. */
  readonly entries: (kind: Kind) => Iterable<readonly [key: string, value: Schema.Json]>
  /**
   * Records a step before the run goes on. It comes back when the record is durable. Where it cannot be recorded, it interrupts
   * the run or dies: what a run has not recorded it must not go on from. A key that this life has recorded is not recorded again.
   */
  readonly record: (kind: Kind, key: string, value: Schema.Json) => Effect.Effect<void>
  /**
   * Records a step with the next one, or soon: the run goes on before it is durable. Asked of steps that lead to reads only: where such a step is lost,
   * it is made again. Left out: each step is recorded by `record`.
   */
  readonly note?: Journal["record"] | undefined
  /**
   * Runs an effect in a transaction of the journal's database, with a record of what it came to: both are there afterwards, or neither.
   * `onFate` is called with what is known of it as soon as it is, also where the effect is interrupted then: nothing is there before, and
   * `unknown` is a commit without an answer. Where the effect itself fails, nothing of it is there. Left out where the journal stands in no database that tools write to.
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
  /** The name under which this run holds an entry of an idempotency ledger: the same in each life, as it is one holder. */
  readonly claim: (entry: string) => string
}

/** The journal of the run that begins here. None by default: a run costs nothing more then. */
export const CurrentJournal: Context.Reference<Journal | undefined> = Context.Reference<Journal | undefined>(
  "@recourse/core/CurrentJournal",
  { defaultValue: () => undefined }
)

/** The transaction of a call could not be committed: nothing of the call is done. */
export class TransactionFailed extends Schema.TaggedError<TransactionFailed>()("TransactionFailed", {
  reason: Schema.Defect()
}) {
  override get message(): string {
    return "The transaction of the call could not be committed, and nothing of it is done"
  }
}

/**
 * The program has done something else than in an earlier life of the run at the same place, so that what is recorded there does
 * not belong to it: a `prompt` that reads the clock, for example. A defect, as no recovery may see it.
 */
export class Diverged extends Schema.TaggedError<Diverged>()("Diverged", {
  runId: Schema.String,
  /** The step that has another record. */
  step: Schema.String
}) {
  override get message(): string {
    return `Run ${this.runId} does not do what it did before it was cut off, at "${this.step}"`
  }
}
