/** What a run came by again: the records of earlier lives that it has looked for, and those that it has not. */
import type { Journal, Kind } from "../../Journal.ts"
import type { Run } from "./run.ts"

const notes = new WeakMap<Journal, { readonly journal: Journal; readonly lookedFor: Set<string> }>()

/** A journal that notes which of its records are looked for. One of a first life has none. */
export const noting = (journal: Journal): Journal => {
  if (!journal.isResumed) return journal
  const lookedFor = new Set<string>()
  const noted: Journal = Object.assign(Object.create(journal) as Journal, {
    find: (kind: Kind, key: string) => {
      lookedFor.add(key)
      return journal.find(kind, key)
    }
  })
  notes.set(noted, { journal, lookedFor })
  return noted
}

/** The journal for whoever reads what earlier lives have done, and does not come by it with that. */
export const unnoted = (journal: Journal): Journal => notes.get(journal)?.journal ?? journal

/** The text at the beginning of a place, before which its length stands, and what is behind it: of `3:pay/c1`, `pay` and `/c1`. */
const headOf = (place: string): readonly [head: string, rest: string] => {
  const colon = place.indexOf(":")
  const end = colon + 1 + Number(place.slice(0, colon))
  return [place.slice(colon + 1, end), place.slice(end)]
}

/**
 * Whether a key of a write, behind the scope of its run, is of a call that was made within a call: by its tool, as `3:pay/c1/…`, or by an agent that
 * runs within it, or within a call of its tool, as `2:c1/5:clerk#1/…`.
 */
const isWithin = (key: string, callId: string): boolean => {
  const [head, rest] = headOf(key)
  return rest.startsWith(`/${callId}/`) || (`${head}/`.startsWith(`${callId}/`) && /^\/\d+:/.test(rest))
}

/** Whether it is the key of a write that a call of a model is itself: of one of its attempts. */
const isOf = (key: string, callId: string): boolean => {
  const [, rest] = headOf(key)
  return rest === `/${callId}` || rest.startsWith(`/${callId}@`)
}

/** What earlier lives have recorded of a kind, below a scope or a place: each as it stands there, and its key. */
function* recordedBelow(journal: Journal, kind: Kind, place: string): Generator<readonly [below: string, key: string]> {
  if (journal.entries === undefined) return
  for (const [key] of journal.entries(kind)) {
    if (key.startsWith(`${place}/`)) yield [key.slice(place.length + 1), key]
  }
}

/** What earlier lives have recorded of the beginnings and the outcomes of writes in a run: as {@link recordedBelow}. */
function* writesIn({ journal, scope }: Run): ReturnType<typeof recordedBelow> {
  for (const kind of ["write", "child"] as const) yield* recordedBelow(journal!, kind, scope)
}

/** Notes that this life has come by what earlier lives have begun by a call, or within it, as it has the outcome of that. */
export const noteCameBy = (run: Run, callId: string): void => {
  for (const [below, key] of writesIn(run)) {
    if (isOf(below, callId) || isWithin(below, callId)) notes.get(run.journal!)?.lookedFor.add(key)
  }
}

/** Whether earlier executions have recorded attempts below the place of a call. */
export const hasAttempts = (journal: Journal, place: string): boolean =>
  [...recordedBelow(journal, "write", place)].some(([below]) => !below.includes("/"))

/** Notes that this life has come by the attempts that earlier lives have recorded below the place of a call. */
export const noteAttempts = (journal: Journal, place: string): void => {
  for (const [below, key] of recordedBelow(journal, "write", place)) {
    if (!below.includes("/")) notes.get(journal)?.lookedFor.add(key)
  }
}

/**
 * Whether an earlier life has begun writes within a call, by tools and agents that its tool runs, which this life did not come by as it
 * made the call again: the tool has gone another way. What has a key is not known here.
 */
export const hasGoneAnotherWay = (run: Run, callId: string): boolean => {
  const noted = notes.get(run.journal!)
  if (noted === undefined) return false
  for (const [below, key] of writesIn(run)) {
    if (!noted.lookedFor.has(key) && isWithin(below, callId)) return true
  }
  return false
}

/** Whether an agent within a call had an answer of its model in an earlier life. */
const hasAskedWithin = ({ journal, place }: Run, callId: string): boolean => {
  for (const [below] of recordedBelow(journal!, "model", place)) {
    const [head] = headOf(below)
    if (head.startsWith(`${callId}@`) || head.startsWith(`${callId}/`)) return true
  }
  return false
}

/**
 * Whether an earlier life may have done something within a call that this life has not executed: what an agent does under a key leaves
 * nothing but the answer that asked for it. Of a tool that reads such an answer is no sign.
 */
export const mayHaveBegunWithin = (
  run: Run,
  callId: string,
  info: { readonly effects: string | undefined } | undefined
): boolean => hasGoneAnotherWay(run, callId) || (info?.effects !== "read" && hasAskedWithin(run, callId))
