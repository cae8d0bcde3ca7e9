/**
 * Replay of a run: the starts of attempts that earlier executions have recorded, by the paths of their calls, and which of these calls this
 * execution has matched. A call is matched once this execution knows its outcome: it has executed the call, or the ledger, `reconcile` or the
 * journal has answered. Reading an entry is not matching it.
 */
import type { Journal } from "../../Journal.ts"
import { agentsOf, isBelow, isOfCall, isWithinCall } from "../path/path.ts"
import { type RecordedStart, startsIn } from "./recordedStart.ts"

interface RecordedCall {
  readonly starts: Array<RecordedStart>
  isMatched: boolean
}

/** Returns the paths of agents whose runs have entries under their numbers. */
const countedIn = (journal: Journal): ReadonlySet<string> => {
  const counted = new Set<string>()
  for (const kind of ["model", "write", "child"] as const) {
    for (const [key] of journal.entries(kind)) for (const agent of agentsOf(key)) counted.add(agent)
  }
  return counted
}

export class Replay {
  private readonly calls = new Map<string, RecordedCall>()
  private readonly journal: Journal
  /** Keys of entries that earlier executions have appended. */
  private readonly appended = new Set<string>()
  /** Paths of agents with entries under a number, once a nested run has looked for its own: a journal may hold thousands of them. */
  private counted: ReadonlySet<string> | undefined

  constructor(journal: Journal) {
    this.journal = journal
    for (const { path, start } of startsIn(journal)) {
      this.appended.add(start.entry)
      this.add(path, start)
    }
    // A write that was committed with its outcome has no start.
    for (const [path] of journal.entries("child")) if (!this.appended.has(path)) this.add(path)
  }

  /** Adds a start that an older version has not recorded. */
  add(path: string, start?: RecordedStart): void {
    const call = this.calls.get(path)
    if (call === undefined) this.calls.set(path, { starts: start === undefined ? [] : [start], isMatched: false })
    else if (start !== undefined) call.starts.push(start)
  }

  /** True if an earlier execution has appended an entry of this key. */
  hasAppended(entry: string): boolean {
    return this.appended.has(entry)
  }

  /** True if an older version, which identified an agent's runs by their number, has run an agent at a path. */
  hasCounted(place: string): boolean {
    this.counted ??= countedIn(this.journal)
    return this.counted.has(place)
  }

  /** True if an earlier execution has started the call of a path. */
  has(path: string): boolean {
    return this.calls.has(path)
  }

  /** True if an earlier execution has started a call of a model, or an inner call, that this execution has not matched. */
  hasUnmatchedCall(scope: string, callId: string): boolean {
    for (const [path, { isMatched }] of this.calls) {
      if (!isMatched && (isOfCall(path, scope, callId) || isWithinCall(path, scope, callId))) return true
    }
    return false
  }

  /** The starts of a call, in the order of their entries. */
  startsOf(path: string): ReadonlyArray<RecordedStart> {
    return this.calls.get(path)?.starts ?? []
  }

  /** Matches the call of a path. */
  match(path: string): void {
    const call = this.calls.get(path)
    if (call !== undefined) call.isMatched = true
  }

  /** Matches a call of a model, and all that was started within it. */
  matchCall(scope: string, callId: string): void {
    for (const [path, call] of this.calls) {
      if (isOfCall(path, scope, callId) || isWithinCall(path, scope, callId)) call.isMatched = true
    }
  }

  /**
   * True if an earlier execution has started an inner call that this execution has not matched: replay has diverged, or
   * the call was not reached. Starts below the scope `besides` do not count.
   */
  hasUnmatchedWithin(scope: string, callId: string, besides?: string): boolean {
    for (const [path, { isMatched }] of this.calls) {
      if (isMatched || !isWithinCall(path, scope, callId)) continue
      if (besides === undefined || !isBelow(path, besides)) return true
    }
    return false
  }
}
