/** Calls within a call: those that its tool makes, and the writes among them. A call whose tool makes none has no such state. */

/** Numbers of the equal calls that an attempt has made. */
export interface CallNumbers {
  /** All of them, in the order in which the calls were made. */
  readonly all: ReadonlySet<number>
  /** The number of the last one. */
  readonly last: number
  /** The lowest number that is free. */
  readonly free: number
}

/** Adds a number to those of equal calls. The set is theirs alone, and grows in place: there may be thousands of calls. */
export const withNumber = (numbers: CallNumbers | undefined, nth: number): CallNumbers => {
  const all = (numbers?.all ?? new Set<number>()) as Set<number>
  all.add(nth)
  let free = numbers?.free ?? 1
  while (all.has(free)) free++
  return { all, last: nth, free }
}

/** Numbers of equal calls, by their tool and arguments. */
export type MadeCalls = Map<string, CallNumbers>

export interface Children<Call> {
  /** The calls that the tool has made, by their tools, arguments and numbers. */
  readonly byPlace: ReadonlyMap<string, Call>
  /** Calls in whose place another one was made: reads that were made again. */
  readonly replaced: ReadonlyArray<Call>
  /** The ids of the calls. */
  readonly ids: ReadonlySet<string>
  /** The writes that tools make in the call of an agent, at whatever depth, by their identities. */
  readonly writes: ReadonlyMap<string, Call> | undefined
  /** The calls within this one that started something else than a read. */
  readonly within: ReadonlySet<Call> | undefined
  /** The writes within it that its fixers have made. */
  readonly byFixers: ReadonlySet<Call> | undefined
  /** Other calls in which a write is met that this one has made: reads that are made again in the place of the call around it. */
  readonly metIn: ReadonlySet<Call> | undefined
}

class State<Call extends object> implements Children<Call> {
  readonly byPlace = new Map<string, Call>()
  readonly replaced: Array<Call> = []
  readonly ids = new Set<string>()
  /** The last numbers of ids, by their prefix. */
  readonly lastNumbers = new Map<string, number>()
  /** The numbers of the calls that each attempt has made. */
  readonly numbers = new Map<number, MadeCalls>()
  writes: Map<string, Call> | undefined = undefined
  within: Set<Call> | undefined = undefined
  byFixers: Set<Call> | undefined = undefined
  metIn: Set<Call> | undefined = undefined
  /** The records of calls that were made by hand in this one's place, by the call of an agent around them. */
  adopted: WeakMap<Call, Call> | undefined = undefined
}

interface Has<Call> {
  readonly children: Children<Call>
}

/** The state of a call within which no call is made: one for all, until a call writes its own. */
export const noChildren: Children<never> = new State<never>()

const own = <Call extends object>(record: { children: Children<Call> }): State<Call> =>
  (record.children === noChildren ? record.children = new State<Call>() : record.children) as State<Call>

/** Returns the numbers of the equal calls that an attempt has made. */
export const madeInAttempt = <Call extends object>(record: Has<Call>, attempt: number): MadeCalls => {
  const { numbers } = own(record)
  const there = numbers.get(attempt)
  if (there !== undefined) return there
  const none: MadeCalls = new Map()
  numbers.set(attempt, none)
  return none
}

/** Notes a call that the tool makes. A call that was made in its place before is replaced. */
export const addChild = <Call extends object>(record: Has<Call>, place: string, child: Call): void => {
  const { byPlace, replaced } = own(record)
  const before = byPlace.get(place)
  if (before !== undefined) replaced.push(before)
  byPlace.set(place, child)
}

/** Notes the id of a call that the tool makes. */
export const addChildId = <Call extends object>(record: Has<Call>, id: string): void => {
  own(record).ids.add(id)
}

/** Returns the first number that no id with this base has, and takes it. The numbers before it are not looked at again. */
export const takeNumber = <Call extends object>(
  record: Has<Call>,
  base: string,
  isTaken: (n: number) => boolean
): number => {
  const { lastNumbers } = own(record)
  let n = (lastNumbers.get(base) ?? 0) + 1
  while (isTaken(n)) n++
  lastNumbers.set(base, n)
  return n
}

/** Notes a write that a tool makes in the call of an agent. */
export const addWrite = <Call extends object>(root: Has<Call>, identity: string, write: Call): void => {
  ;(own(root).writes ??= new Map()).set(identity, write)
}

/** Notes a call within this one that started something else than a read. */
export const noteWithin = <Call extends object>(record: Has<Call>, call: Call): void => {
  ;(own(record).within ??= new Set()).add(call)
}

/** Notes a write within this call that a fixer has made. */
export const noteByFixer = <Call extends object>(record: Has<Call>, write: Call): void => {
  ;(own(record).byFixers ??= new Set()).add(write)
}

/** Notes another call in which this write is met. */
export const noteMetIn = <Call extends object>(write: Has<Call>, within: Call): void => {
  ;(own(write).metIn ??= new Set()).add(within)
}

/** Returns the record of a call that was made by hand, within the call of an agent. */
export const adoptedIn = <Call extends object>(record: Has<Call>, parent: Call): Call | undefined =>
  record.children === noChildren ? undefined : own(record).adopted?.get(parent)

/** Keeps that record. */
export const adopt = <Call extends object>(record: Has<Call>, parent: Call, child: Call): void => {
  ;(own(record).adopted ??= new WeakMap()).set(parent, child)
}
