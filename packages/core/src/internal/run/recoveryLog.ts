/**
 * Recovery log: the part of a run's log that is about failed attempts and the waits behind them. An entry of a wait, or of the start of an attempt,
 * has the failures since the entry before. The waits of a call or of a turn are numbered in their order, over all executions of the run.
 */
import type * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type { Journal } from "../../Journal.ts"
import { Declared } from "../../ToolError.ts"
import { ofEqual, withoutNumber } from "../path/path.ts"
import type { FoundStart } from "./recordedStart.ts"
import { Used, usedBetween } from "./used.ts"

/** A failed attempt in its stored form. */
export const Failed = Schema.Struct({
  attempt: Schema.Int,
  error: Schema.Literals(["ExecutionError", "Timeout", "OutcomeUnknown"]),
  /** As the list of failed attempts has it. */
  cause: Schema.String,
  reason: Schema.optionalKey(Schema.Json),
  declared: Schema.optionalKey(Declared),
  /** Milliseconds. */
  after: Schema.optionalKey(Schema.Number),
  underKey: Schema.optionalKey(Schema.Literal(true)),
  repeatable: Schema.optionalKey(Schema.Literal(true)),
  at: Schema.Number,
  startedAt: Schema.Number,
  executed: Schema.Boolean,
  happened: Schema.Literals(["no", "unknown", "yes"])
})

/** A failed attempt in its stored form. */
export type Failed = typeof Failed.Type

const Wait = Schema.Struct({
  tool: Schema.String,
  /** The last attempt before the wait. */
  behind: Schema.Int,
  /** When the wait began and ends, in milliseconds since the epoch. */
  at: Schema.Number,
  until: Schema.Number,
  /** Attempts that failed since the entry before. */
  failed: Schema.Array(Failed),
  /** The call's usage at that time. */
  used: Schema.optionalKey(Used)
})

/** A wait of a call between two attempts, in its stored form. */
export type Wait = typeof Wait.Type

/** A wait of a call in the entries of earlier executions. */
export interface RecordedWait {
  readonly at: number
  readonly until: number
  /** The call's usage since the wait before; absent in a call that does not count for itself. */
  readonly used?: Used | undefined
}

/** Entries of earlier executions under one path. */
interface Recovered {
  /** The failed attempts, by their numbers. */
  readonly failed: ReadonlyMap<number, Failed>
  /** The waits, by the numbers of the attempts before them. */
  readonly waits: ReadonlyMap<number, RecordedWait>
  /** The last attempt whose usage a wait has. */
  readonly talliedUpTo: number
}

/** Returns the waits with the usage of each since the one before. */
const withOwnUsage = (waits: ReadonlyArray<Wait>): ReadonlyMap<number, RecordedWait> => {
  let before: Used | undefined
  return new Map(waits.map(({ at, behind, until, used }) => {
    const own = used && usedBetween(before, used)
    before = used ?? before
    return [behind, { at, until, used: own }]
  }))
}

const recovered = (failures: ReadonlyArray<Failed>, waits: ReadonlyArray<Wait>): Recovered => ({
  failed: new Map(failures.map((failed) => [failed.attempt, failed])),
  waits: withOwnUsage(waits),
  talliedUpTo: waits.findLast(({ used }) => used !== undefined)?.behind ?? 0
})

/** The paths of a call: of its starts, once its tool is known, and of its waits. */
export interface RecoveryPaths {
  readonly starts: string | undefined
  readonly waits: string
}

const decodeWait = Schema.decodeUnknownOption(Wait)
const decodeFailed = Schema.decodeUnknownOption(Schema.Array(Failed))

export class RecoveryLog {
  private readonly journal: Pick<Journal, "entries" | "find" | "record">
  /** The entries of earlier executions, by their paths. */
  private readonly recovered: ReadonlyMap<string, Recovered>
  /** Numbers of the last waits that this execution has appended, by their paths. */
  private readonly appended = new Map<string, number>()

  /** `starts`: the starts that earlier executions have appended. */
  constructor(journal: RecoveryLog["journal"], starts: ReadonlyArray<FoundStart>, isReplay: boolean) {
    this.journal = journal
    this.recovered = isReplay ? recoveredIn(journal, starts) : new Map()
  }

  /** Returns the failure of an attempt in an earlier execution: the attempt is not repeated. */
  failureOf({ starts, waits }: RecoveryPaths, attempt: number): Failed | undefined {
    return this.recovered.get(waits)?.failed.get(attempt) ??
      (starts === undefined ? undefined : this.recovered.get(starts)?.failed.get(attempt))
  }

  /** Returns the wait behind an attempt in an earlier execution. */
  waitBehind({ waits }: RecoveryPaths, attempt: number): RecordedWait | undefined {
    return this.recovered.get(waits)?.waits.get(attempt)
  }

  /** Returns the last attempt whose usage a wait has: each later one counts itself, and so do those of calls without a model. */
  talliedUpTo({ waits }: RecoveryPaths): number {
    return this.recovered.get(waits)?.talliedUpTo ?? 0
  }

  /** Returns the waits under a path that earlier executions have appended, in stored form. */
  waitsOf(path: string): ReadonlyArray<Schema.Json> {
    const waits: Array<Schema.Json> = []
    for (;;) {
      const wait = this.journal.find("wait", ofEqual(path, waits.length + 1))
      if (wait === undefined) return waits
      waits.push(wait)
    }
  }

  /** Appends a wait, numbered behind all others under its path. */
  append(path: string, wait: Schema.Json): Effect.Effect<void> {
    let nth = (this.appended.get(path) ?? 0) + 1
    while (this.journal.find("wait", ofEqual(path, nth)) !== undefined) nth++
    this.appended.set(path, nth)
    return this.journal.record("wait", ofEqual(path, nth), wait)
  }
}

const add = <A>(all: Map<string, Array<A>>, path: string, more: ReadonlyArray<A>): void => {
  const there = all.get(path)
  if (there === undefined) all.set(path, [...more])
  else there.push(...more)
}

/** Folds the entries of earlier executions. Those of another version are left out: the attempts are repeated. */
const recoveredIn = (
  journal: Pick<Journal, "entries">,
  starts: ReadonlyArray<FoundStart>
): ReadonlyMap<string, Recovered> => {
  const failures = new Map<string, Array<Failed>>()
  const waits = new Map<string, Array<Wait>>()
  for (const { failed, path } of starts) add(failures, path, Option.toArray(decodeFailed(failed)).flat())
  for (const [key, value] of journal.entries("wait")) {
    const wait = Option.getOrUndefined(decodeWait(value))
    if (wait === undefined) continue
    add(waits, withoutNumber(key), [wait])
    add(failures, withoutNumber(key), wait.failed)
  }
  return new Map([...failures].map(([path, ofPath]) => [path, recovered(ofPath, waits.get(path) ?? [])]))
}
