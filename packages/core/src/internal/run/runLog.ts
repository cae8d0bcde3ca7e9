/**
 * Run log: the entries of a run in its journal, which outlives a process, and the fold of those that earlier executions have appended: the starts
 * of attempts, by the paths of their calls, and the calls that this execution has not matched. One for the run and everything nested in it.
 */
import * as Effect from "effect/Effect"
import type { Journal, Kind } from "../../Journal.ts"
import { atFirstUse } from "../foundation/lazyValue.ts"
import { agentsOf, isBelow, isOfCall, isWithinCall } from "../path/path.ts"
import { type RecordedStart, startsIn } from "./recordedStart.ts"
import { RecoveryLog } from "./recoveryLog.ts"
import { CompensationLog } from "./writes/compensationLog.ts"

/** True if a run is cancelled in an execution that replays earlier ones from its journal. */
export const isCancelledReplay = (journal: Journal | undefined): boolean =>
  journal?.isResumed === true && journal.isCancelled?.() === true

/** Without an interruption, or in an uninterruptible region, it ends as if interrupted. */
const awaitInterruption: Effect.Effect<never> = Effect.andThen(Effect.sleep("1 second"), Effect.interrupt)

/** The log of a run without a journal. */
const emptyJournal = (runId: string): Journal => ({
  runId,
  isResumed: true,
  elapsedBefore: 0,
  find: () => undefined,
  entries: () => [],
  record: () => Effect.void,
  claim: (entry) => entry
})

export class RunLog {
  private readonly journal: Journal
  /** Its entries about writes with a compensation. */
  readonly compensations: CompensationLog
  /** Its entries about failed attempts and waits. */
  readonly recovery: RecoveryLog
  /** True if an earlier execution of the run has started. */
  readonly isReplay: boolean
  /** The starts of each call that earlier executions have started. */
  private readonly calls = new Map<string, Array<RecordedStart>>()
  /**
   * Paths of the calls that this execution has not matched. It matches a call once it knows its outcome: it has executed the call, or the ledger,
   * `reconcile` or the log has answered. Reading an entry is not matching it.
   */
  private readonly unmatched = new Set<string>()
  /** Keys of entries that earlier executions have appended. */
  private readonly appended: ReadonlySet<string>
  /** Paths of agents with entries under a number, read if a nested run looks for its own: a log may hold thousands of entries. */
  private readonly counted: () => ReadonlySet<string>

  constructor(journal: Journal) {
    this.journal = journal
    this.compensations = new CompensationLog(journal)
    this.isReplay = journal.isResumed
    const starts = this.isReplay ? [...startsIn(journal)] : []
    this.recovery = new RecoveryLog(journal, starts, this.isReplay)
    this.appended = new Set(starts.map(({ start }) => start.entry))
    this.counted = atFirstUse(() => this.isReplay ? countedIn(journal) : new Set())
    if (!this.isReplay) return
    for (const { path, start } of starts) this.add(path, start)
    // A write that was committed with its outcome has no start.
    for (const [path] of journal.entries("child")) if (!this.appended.has(path)) this.add(path)
  }

  /** Returns the log of an abandoned run: it starts no call, and its writes are compensated like those of a cancelled one. */
  static abandoned(runId: string, log: RunLog | undefined): RunLog {
    return Object.create(log ?? new RunLog(emptyJournal(runId)), {
      isReplay: { value: true },
      isCancelled: { value: true }
    }) as RunLog
  }

  /** True if an interruption that arrives now cancels the run. */
  get isCancelled(): boolean {
    return this.journal.isCancelled?.() === true
  }

  /** True if this execution replays earlier ones of a cancelled run: it starts no call behind the log. */
  get isCancelledReplay(): boolean {
    return this.isReplay && this.isCancelled
  }

  /** Milliseconds that earlier executions of the run took. */
  get elapsedBefore(): number {
    return this.journal.elapsedBefore
  }

  /** The transaction of the log's database, if tools write to it. */
  get transaction(): Journal["transaction"] {
    return this.journal.transaction
  }

  find(kind: Kind, key: string): ReturnType<Journal["find"]> {
    return this.journal.find(kind, key)
  }

  /** Appends an entry, and returns when it is durable. */
  record(...entry: Parameters<Journal["record"]>): Effect.Effect<void> {
    return this.journal.record(...entry)
  }

  /** Appends an entry that may become durable later, because a lost one is repeated. */
  note(...entry: Parameters<Journal["record"]>): Effect.Effect<void> {
    return this.journal.note === undefined ? this.journal.record(...entry) : this.journal.note(...entry)
  }

  /** The name under which the run claims an entry of an idempotency ledger. */
  claim(entry: string): string {
    return this.journal.claim(entry)
  }

  /** Adds a start that an older version has not recorded. */
  add(path: string, start?: RecordedStart): void {
    const starts = this.calls.get(path)
    if (starts === undefined) {
      this.calls.set(path, start === undefined ? [] : [start])
      this.unmatched.add(path)
    } else if (start !== undefined) starts.push(start)
  }

  /** True if an earlier execution has appended the start of an attempt under this key. */
  hasAppended(entry: string): boolean {
    return this.appended.has(entry)
  }

  /** True if an older version, which identified an agent's runs by their number, has run an agent at a path. */
  hasCounted(agent: string): boolean {
    return this.counted().has(agent)
  }

  /** True if an earlier execution has started the call of a path. */
  has(path: string): boolean {
    return this.calls.has(path)
  }

  /** The starts of a call, in the order of their entries. */
  startsOf(path: string): ReadonlyArray<RecordedStart> {
    return this.calls.get(path) ?? []
  }

  /** Matches the call of a path. */
  match(path: string): void {
    this.unmatched.delete(path)
  }

  /** Matches a call of a model, and all that was started within it. */
  matchCall(scope: string, callId: string): void {
    for (const path of this.unmatched) {
      if (isOfCall(path, scope, callId) || isWithinCall(path, scope, callId)) this.unmatched.delete(path)
    }
  }

  /** True if an earlier execution has started a call of a model, or an inner call, that this execution has not matched. */
  hasUnmatchedCall(scope: string, callId: string): boolean {
    for (const path of this.unmatched) {
      if (isOfCall(path, scope, callId) || isWithinCall(path, scope, callId)) return true
    }
    return false
  }

  /**
   * True if an earlier execution has started an inner call that this execution has not matched: replay has diverged, or
   * the call was not reached. Starts below the scope `besides` do not count.
   */
  hasUnmatchedWithin(scope: string, callId: string, besides?: string): boolean {
    for (const path of this.unmatched) {
      if (isWithinCall(path, scope, callId) && (besides === undefined || !isBelow(path, besides))) return true
    }
    return false
  }
}

/** Returns the paths of agents whose runs have entries under their numbers. */
const countedIn = (journal: Pick<Journal, "entries">): ReadonlySet<string> => {
  const counted = new Set<string>()
  for (const kind of ["model", "write", "child"] as const) {
    for (const [key] of journal.entries(kind)) for (const agent of agentsOf(key)) counted.add(agent)
  }
  return counted
}

/** Returns an effect that waits to be interrupted if a run starts no call behind its log, because it is cancelled. */
export const waitForCancellation = (
  run: { readonly log: RunLog | undefined } | undefined
): Effect.Effect<never> | undefined => run?.log?.isCancelledReplay === true ? awaitInterruption : undefined
