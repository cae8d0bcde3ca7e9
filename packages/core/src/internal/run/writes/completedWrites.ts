/**
 * Completed writes that tools can compensate: one log for the outermost run that compensates and everything nested in it. The writes of a run
 * are those that were made within it, found by a scan.
 */
import type * as Context from "effect/Context"
import * as Schema from "effect/Schema"
import { idWithin } from "../../path/path.ts"

/** Known state of a write. */
const Known = Schema.Literals(["done", "unknown", "partial", "pending"])

/** A write as data. */
export const CompensableWrite = Schema.Struct({
  /** Unique in the log. */
  id: Schema.String,
  tool: Schema.String,
  /** The separator of calls with the same id, and the call's id there: its default idempotency key is made of both. */
  scope: Schema.String,
  identity: Schema.String,
  /** The call with the calls of agents around it, relative to the run that lists its writes. */
  callId: Schema.String,
  /** The call of that run: its conversation has the result. */
  root: Schema.String,
  /** Names of the agents from the outermost to the one that made the call. */
  path: Schema.Array(Schema.String),
  /** The skill that this agent had chosen. */
  skill: Schema.optionalKey(Schema.String),
  known: Known,
  arguments: Schema.Json,
  /** The result as JSON; absent if there is none, or if JSON cannot represent it. */
  result: Schema.optionalKey(Schema.Json),
  /** Its identification in the ledger, if it ran under a key. */
  intent: Schema.optionalKey(Schema.Struct({
    id: Schema.String,
    tool: Schema.String,
    callId: Schema.String,
    arguments: Schema.String,
    claim: Schema.String
  })),
  /** A person has refused a later call of the run. */
  revoked: Schema.optionalKey(Schema.Literal(true))
})

/** A write as data. */
export type CompensableWrite = typeof CompensableWrite.Type

/** The values of a write in the process that made it. */
export interface Live {
  /** The tool: a `ToolInfo`. */
  readonly info: object
  readonly params: unknown
  readonly value: unknown
  readonly context: Context.Context<never>
  /** The outcome of its call. */
  readonly outcome: { readonly isCompensated: boolean }
}

/** A write of a run. */
export interface CompletedWrite {
  readonly write: CompensableWrite
  readonly live: Live | undefined
  /** Its position among the executions, by their start. */
  readonly position: number
}

/** The fields of a run that the log reads. */
interface Level {
  readonly agentRunId: string
  readonly parent: Level | undefined
  readonly start: { readonly outerCall: { readonly id: string } | undefined }
}

/** An entry of the log: a write as the run knows it that made it. */
interface Entry extends CompletedWrite {
  readonly run: Level
}

/** True if two values are one run: a section of a run has counts of its own. */
export const isSameRun = (one: Level, other: Level): boolean => one.agentRunId === other.agentRunId

/** True if a run is within another one, or is that run. `isOuter` decides which one that is. */
const isWithin = (run: Level, isOuter: (run: Level) => boolean): boolean =>
  isOuter(run) || (run.parent !== undefined && isWithin(run.parent, isOuter))

/** The id by which a call is known in the run around its agent. */
export const idAround = ({ start: { outerCall } }: Level, id: string): string =>
  outerCall === undefined ? id : idWithin(outerCall.id, id)

/** A write as a run around its own one knows it. */
const knownIn = (isOuter: (run: Level) => boolean, { run, write }: Entry): CompensableWrite => {
  let { callId, root } = write
  for (let current = run; !isOuter(current); current = current.parent!) {
    callId = idAround(current, callId)
    root = current.start.outerCall?.id ?? root
  }
  return callId === write.callId && root === write.root ? write : { ...write, callId, root }
}

export class CompletedWrites {
  private readonly entries = new Map<string, Entry>()
  /** Ids of writes that are compensated, or that are known not to have happened. */
  private readonly removed = new Set<string>()
  /** A person has rejected a call of a run: these writes are to be compensated when the run ends, or one around it. */
  private readonly rejections: Array<{ readonly run: Level; readonly ids: ReadonlySet<string> }> = []
  /** Writes that are executed now, by their positions. */
  private readonly running = new Map<number, () => void>()
  private next = 0

  /** Starts an execution: returns its position. Executions that ended before its start have earlier positions. */
  begin(): number {
    return this.next++
  }

  /** A write is executed from now on. `note` adds it as one whose outcome is unknown. */
  start(note: (position: number) => void): number {
    const position = this.begin()
    this.running.set(position, () => note(position))
    return position
  }

  /** The execution at a position has ended. */
  ended(position: number): void {
    this.running.delete(position)
  }

  /** Adds the writes that are executed now: a fiber that a tool has detached executes them behind the end of its call. */
  noteRunning(): void {
    for (const note of this.running.values()) note()
  }

  /** Adds a write of a run, or a later state of it. */
  add(run: Level, write: CompensableWrite, live: Live | undefined, position = this.begin()): void {
    this.entries.set(write.id, { run, write, live, position })
  }

  /** Adds the writes of a run that is resumed. Those that the run around it has as well are its own from here on. */
  restore(run: Level, writes: ReadonlyArray<CompensableWrite>): void {
    for (const write of writes) {
      const known = this.entries.get(write.id)
      if (known === undefined || !isWithin(known.run, (one) => isSameRun(one, run))) {
        this.add(run, write, known?.live, known?.position)
      }
    }
    const rejected = writes.filter(({ revoked }) => revoked === true)
    if (rejected.length > 0) this.reject(run, rejected.map(({ id }) => id))
  }

  /** A write is compensated, or known not to have happened. */
  remove(id: string): void {
    this.removed.add(id)
    this.entries.delete(id)
  }

  get(id: string): CompletedWrite | undefined {
    return this.entries.get(id)
  }

  /** True if the end of a write was ever recorded. */
  knows(id: string): boolean {
    return this.entries.has(id) || this.removed.has(id)
  }

  /** The write that an entry of the ledger is about, if it is not compensated. */
  ofEntry(entry: string): CompensableWrite | undefined {
    for (const { write } of this.entries.values()) if (write.intent?.id === entry) return write
    return undefined
  }

  /** A person has rejected a call of a run: the writes with these ids are to be compensated when the run ends. Left out: all of now. */
  reject(run: Level, ids: Iterable<string> = this.entries.keys()): void {
    this.rejections.push({ run, ids: new Set(ids) })
  }

  /** The ids of the writes that are to be compensated because a call of a section was rejected. */
  rejectedIn(section: Level): ReadonlyArray<string> {
    const rejections = this.rejections.filter(({ run }) => isWithin(run, (one) => one === section))
    return [...new Set(rejections.flatMap(({ ids }) => [...ids]))]
  }

  /** The writes of a run, the newest first. */
  newestFirst(run: Level): ReadonlyArray<CompletedWrite> {
    return this.scan((one) => isSameRun(one, run)).toReversed()
  }

  /** The writes of a run as data, the oldest first. */
  state(run: Level): ReadonlyArray<CompensableWrite> {
    return this.scan((one) => isSameRun(one, run)).map(({ write }) => write)
  }

  /** The writes of a section of a run as data, the oldest first. */
  ofSection(section: Level): ReadonlyArray<CompensableWrite> {
    return this.scan((one) => one === section).map(({ write }) => write)
  }

  private scan(isOuter: (run: Level) => boolean): Array<CompletedWrite> {
    const found = [...this.entries.values()].filter(({ run }) => isWithin(run, isOuter))
    if (found.length === 0) return found
    const rejected = this.rejections.filter(({ run }) => isWithin(run, isOuter))
    return found.sort((a, b) => a.position - b.position).map((entry) => {
      const write = knownIn(isOuter, entry)
      const isRejected = rejected.some(({ ids }) => ids.has(write.id))
      return { write: isRejected ? { ...write, revoked: true } : write, live: entry.live, position: entry.position }
    })
  }
}

/** The compensable writes of a run for its snapshot. */
export const storedWrites = (
  run: Level & { readonly writes: { readonly completed: CompletedWrites | undefined } }
): { readonly done?: ReadonlyArray<CompensableWrite> } | undefined => {
  const done = run.writes.completed?.state(run) ?? []
  return done.length === 0 ? undefined : { done }
}
