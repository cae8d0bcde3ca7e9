/** Done writes: the log of what a run has done that its tools can undo, in the order in which it was done. */
import type * as Context from "effect/Context"
import * as Schema from "effect/Schema"

/** What is known of a write. */
const Known = Schema.Literals(["done", "unknown", "partial", "pending"])

/** A write as data. */
export const DoneWrite = Schema.Struct({
  /** Tells it from every other write of the run and of the runs within it. */
  id: Schema.String,
  tool: Schema.String,
  /** What tells calls with the same id apart, and what the call is known by there: its default idempotency key is made of both. */
  scope: Schema.String,
  identity: Schema.String,
  /** The call, and the calls of agents around it, of the run whose log it stands in. */
  callId: Schema.String,
  /** The call of the run whose log it stands in: the conversation has its result. */
  root: Schema.String,
  /** Names of the agents from the outermost to the one that made the call. */
  path: Schema.Array(Schema.String),
  /** The skill that this agent had chosen. */
  skill: Schema.optionalKey(Schema.String),
  known: Known,
  arguments: Schema.Json,
  /** The result as JSON; left out where there is none, or where JSON does not hold it. */
  result: Schema.optionalKey(Schema.Json),
  /** What the ledger knows it by, where it ran under a key. */
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
  /** Its place among the executions, as they began. */
  readonly position: number
}

/** Executions in the order of their starts: one list for a run and all within it. */
export interface Positions {
  next: number
  /** Writes that are executed now, by their positions. */
  readonly running: Map<number, () => void>
}

/** The writes of a run that are not undone, by their ids. */
export class DoneWrites {
  private readonly entries = new Map<string, Done>()
  /** Those that were noted, whether they are undone by now or not. */
  private readonly noted = new Set<string>()
  /** Those that are to be undone when the run ends, also where it is yet to be noted what became of them. */
  private readonly revoked = new Set<string>()
  /** Whether the run, or one around it, undoes its writes when a person refuses a call. */
  readonly compensatesWhenRejected: boolean
  /** Whether something was undone: the run does not go on from here. */
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

  /** An execution begins: answers its place. What ended before it began has a place before it. */
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

  /** Whether it was ever noted what became of a write. */
  knows(id: string): boolean {
    return this.noted.has(id)
  }

  /** The write that an entry of the ledger is about, if it is not undone. */
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

  /** Writes are to be undone when the run ends: what was done until now, if none are named. Answers which. */
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
