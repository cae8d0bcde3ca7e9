/**
 * Compensation log: the part of a run's log that is about writes with a compensation. It finds the writes that earlier executions have started,
 * whether this execution has replayed them or not, and appends and finds the states of their compensations.
 */
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Journal } from "../../../Journal.ts"
import { atFirstUse } from "../../foundation/lazyValue.ts"
import { isBelow, separator } from "../../path/path.ts"
import { auditedKey, compensationKey, notHappenedKey, reportedKey, writeField } from "../../path/entryKeys.ts"
import { CompensableWrite } from "./completedWrites.ts"
import { Used } from "../used.ts"

/** A starting write, in its stored form. */
const Start = Schema.Struct({
  write: CompensableWrite,
  /** The calls that the agents around it run within, from the second agent of its path on: null for one that runs within none. */
  around: Schema.optionalKey(Schema.Array(Schema.NullOr(Schema.String))),
  /** The record of the call of a model that it is part of. */
  call: Schema.String,
  /** The record of its own outcome. */
  child: Schema.String,
  /** Separates a later attempt from earlier ones. */
  later: Schema.optionalKey(Schema.String),
  /** It is committed together with that record. */
  isAtomic: Schema.optionalKey(Schema.Literal(true))
})

type Start = typeof Start.Type

const decode = atFirstUse(() => Schema.decodeUnknownOption(Schema.Struct({ [writeField]: Start })))
const decodeCall = atFirstUse(() => Schema.decodeUnknownOption(Schema.Struct({ used: Used })))
const wasNotCompensated = Schema.is(Schema.Struct({ outcome: Schema.Literal("not_undone") }))

const startIn = (value: Schema.Json | undefined): Start | undefined =>
  Option.getOrUndefined(decode()(value))?.[writeField]

/** A write as an agent of its path knows it, by the place of that agent: 1 is the outermost one. */
const knownAt = (level: number, { around = [] }: Start, write: CompensableWrite): CompensableWrite => {
  const calls = around.slice(level - 1).filter((call) => call !== null)
  return calls.length === 0
    ? write
    : { ...write, callId: [...calls, write.callId].join(separator), root: calls[0]! }
}

/** True if a write was made within a scope. */
export const isWithin = (scope: string, write: CompensableWrite): boolean =>
  write.scope === scope || isBelow(write.scope, scope)

/**
 * State of a compensation in the entries of earlier executions. `ended`: its outcome is known. `audited`: the outcome is in the audit and was
 * announced. `settled`: people know of it as well, if the write was not compensated.
 */
export type CompensationState = "none" | "started" | "ended" | "audited" | "settled"

export class CompensationLog {
  private readonly journal: Pick<Journal, "entries" | "find" | "note" | "record">
  /** The starts of writes in the entries of earlier executions, decoded at their first use. */
  private decoded: ReadonlyArray<Start> | undefined

  constructor(journal: Pick<Journal, "entries" | "find" | "note" | "record">) {
    this.journal = journal
  }

  /** Returns the state of the compensation of a write. */
  stateOf(id: string): CompensationState {
    const outcome = this.outcomeOf(id)
    if (outcome === undefined) return this.find(compensationKey(id)) === undefined ? "none" : "started"
    if (this.find(auditedKey(id)) === undefined) return "ended"
    return wasNotCompensated(outcome) && this.find(reportedKey(id)) === undefined ? "audited" : "settled"
  }

  /** Returns the stored outcome of the compensation of a write. */
  outcomeOf(id: string): Schema.Json | undefined {
    return this.find(id)
  }

  /** Appends that the compensation of a write starts. */
  start(id: string, tool: string): Effect.Effect<void> {
    return this.record(compensationKey(id), { tool })
  }

  /** Appends the outcome of a compensation. */
  end(id: string, outcome: Schema.Json): Effect.Effect<void> {
    return this.record(id, outcome)
  }

  /** Appends that the outcome is in the audit and was announced. A lost entry repeats both. */
  audited(id: string): Effect.Effect<void> {
    const entry = ["compensation", auditedKey(id), true] as const
    return this.journal.note === undefined ? this.journal.record(...entry) : this.journal.note(...entry)
  }

  /** Appends that people know of a write that was not compensated. */
  reported(id: string): Effect.Effect<void> {
    return this.record(reportedKey(id), true)
  }

  /** Appends that an attempt of a write is known not to have happened. `later` separates it from earlier attempts. */
  notHappened(id: string, later: string): Effect.Effect<void> {
    return this.record(notHappenedKey(id + later), true)
  }

  /** Returns the write whose start is in an entry, if it can be compensated. */
  writeIn(entry: string): CompensableWrite | undefined {
    return startIn(this.journal.find("write", entry))?.write
  }

  /** True if an earlier execution has started a write under a claim of its key. */
  hasClaim(id: string, claim: string): boolean {
    return this.starts.some(({ write }) => write.id === id && write.intent?.claim === claim)
  }

  /**
   * Returns the writes that earlier executions have started, unless they are known not to have happened: as the agents know them that have made
   * them, or as an agent at a level around these does.
   */
  writes(level = Infinity): ReadonlyArray<CompensableWrite> {
    return this.starts.flatMap((start) => {
      const write = this.knownOf(start)
      return write === undefined ? [] : [knownAt(level, start, write)]
    })
  }

  /** Returns those writes of {@link writes} whose compensation is not settled. */
  unsettled(level?: number): ReadonlyArray<CompensableWrite> {
    return this.writes(level).filter(({ id }) => this.stateOf(id) !== "settled")
  }

  private get starts(): ReadonlyArray<Start> {
    return this.decoded ??= (["write", "compensation"] as const).flatMap((kind) =>
      [...this.journal.entries(kind)].flatMap(([, value]) => startIn(value) ?? [])
    )
  }

  /**
   * Returns the known state of a write that an earlier execution has started; `undefined` if it is known not to have
   * happened.
   */
  private knownOf({ call, child, isAtomic, later = "", write }: Start): CompensableWrite | undefined {
    const { journal } = this
    if (this.find(notHappenedKey(write.id + later)) !== undefined) return undefined
    const result = journal.find("child", child)
    if (result !== undefined) return { ...write, known: "done", result }
    const recorded = journal.find("call", call)
    if (recorded === undefined) return isAtomic === true ? undefined : write
    const { used: { done = [] } } = Option.getOrElse(decodeCall()(recorded), () => ({ used: { done: [write] } }))
    const listed = done.find((one) => one.id === write.id)
    // The entry of a call reports that the call's own write did not happen. It does not cover an inner write.
    return listed ?? (isAtomic === true || write.callId === write.root ? undefined : write)
  }

  private find(key: string): Schema.Json | undefined {
    return this.journal.find("compensation", key)
  }

  private record(key: string, value: Schema.Json): Effect.Effect<void> {
    return this.journal.record("compensation", key, value)
  }
}
