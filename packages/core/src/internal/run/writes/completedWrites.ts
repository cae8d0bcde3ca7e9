/** Completed writes: the log of a run's compensable writes, in their order. */
import type * as Context from "effect/Context"
import * as Schema from "effect/Schema"

/** Known state of a write. */
const Known = Schema.Literals(["done", "unknown", "partial", "pending"])

/** A write as data. */
export const DoneWrite = Schema.Struct({
  /** Identifies it among all writes of the run and of inner runs. */
  id: Schema.String,
  tool: Schema.String,
  /** The separator of calls with the same id, and the call's id there: its default idempotency key is made of both. */
  scope: Schema.String,
  identity: Schema.String,
  /** The call, and the outer calls of agents, of the run that owns the log. */
  callId: Schema.String,
  /** The call of the run that owns the log: the conversation has its result. */
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
export type DoneWrite = typeof DoneWrite.Type

/** A write as it was done in this process. */
export interface Live {
  /** Whose tool did it: a `ToolInfo`. */
  readonly info: object
  readonly params: unknown
  readonly value: unknown
  readonly context: Context.Context<never>
  /** The outcome of its call. */
  readonly outcome: { readonly isCompensated: boolean }
}

/** A write in the log of a run. */
export interface Done {
  write: DoneWrite
  readonly live: Live | undefined
  /** Its position among the executions, by their start. */
  readonly position: number
}

/** Executions in the order of their starts: one list for a run and all within it. */
export interface Positions {
  next: number
  /** Writes that are executed now, by their positions. */
  readonly running: Map<number, () => void>
}

/** The uncompensated writes of a run, by their ids. */
export class DoneWrites {
  private readonly entries = new Map<string, Done>()
  /** All recorded writes, compensated or not. */
  private readonly noted = new Set<string>()
  /** Writes to compensate at the run's end, also before their outcome is recorded. */
  private readonly revoked = new Set<string>()
  /** True if the run, or an outer one, compensates its writes when a person rejects a call. */
  readonly compensatesWhenRejected: boolean
  /** True if a write was compensated: the run does not continue from here. */
  isCompensating = false

  private readonly positions: Positions

  constructor(
    compensatesWhenRejected: boolean,
    around: DoneWrites | undefined,
    resumed: ReadonlyArray<DoneWrite> = []
  ) {
    this.compensatesWhenRejected = compensatesWhenRejected
    this.positions = around?.positions ?? { next: 0, running: new Map() }
    for (const write of resumed) this.set({ write, live: undefined, position: this.begin() })
  }

  /** Starts an execution: returns its position. Executions that ended before its start have earlier positions. */
  begin(): number {
    return this.positions.next++
  }

  /** A write is executed from now on. `note` adds it to the logs of its runs as one whose outcome is unknown. */
  start(note: (position: number) => void): number {
    const position = this.begin()
    this.positions.running.set(position, () => note(position))
    return position
  }

  /** The execution at a position has ended. */
  ended(position: number): void {
    this.positions.running.delete(position)
  }

  /** Adds the writes that are executed now: a fiber that a tool has detached executes them behind the end of its call. */
  noteRunning(): void {
    for (const note of this.positions.running.values()) note()
  }

  get size(): number {
    return this.entries.size
  }

  get(id: string): Done | undefined {
    return this.entries.get(id)
  }

  /** True if the outcome of a write was ever recorded. */
  knows(id: string): boolean {
    return this.noted.has(id)
  }

  /** Returns the uncompensated write of an entry of the ledger. */
  ofEntry(entry: string): DoneWrite | undefined {
    for (const { write } of this.entries.values()) if (write.intent?.id === entry) return write
    return undefined
  }

  set(done: Done): void {
    const { id } = done.write
    this.noted.add(id)
    if (this.revoked.has(id)) done.write = { ...done.write, revoked: true }
    this.entries.set(id, done)
  }

  delete(id: string): void {
    this.noted.add(id)
    this.entries.delete(id)
  }

  /** The newest first. */
  newestFirst(): ReadonlyArray<Done> {
    return [...this.entries.values()].toSorted((a, b) => b.position - a.position)
  }

  /** Marks writes for compensation at the run's end: all completed ones, if none are named. Returns them. */
  revoke(ids: Iterable<string> = this.entries.keys()): ReadonlyArray<string> {
    const revoked = [...ids]
    for (const id of revoked) {
      this.revoked.add(id)
      const done = this.entries.get(id)
      if (done !== undefined) done.write = { ...done.write, revoked: true }
    }
    return revoked
  }

  /** As data, the oldest first. */
  state(): ReadonlyArray<DoneWrite> {
    return this.newestFirst().toReversed().map(({ write }) => write)
  }
}
