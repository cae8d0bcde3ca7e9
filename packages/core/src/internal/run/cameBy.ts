/** What a run came by again: the records of earlier lives that it has looked for, and those that it has not. */
import type { Journal, Kind } from "../../Journal.ts"
import type { Run } from "./run.ts"

const lookedFor = new WeakMap<Journal, Set<string>>()

/** A journal that notes which of its records are looked for. One of a first life has none. */
export const noting = (journal: Journal): Journal => {
  if (!journal.isResumed || journal.entries === undefined) return journal
  const keys = new Set<string>()
  const noted: Journal = Object.assign(Object.create(journal) as Journal, {
    find: (kind: Kind, key: string) => {
      keys.add(`${kind} ${key}`)
      return journal.find(kind, key)
    }
  })
  lookedFor.set(noted, keys)
  return noted
}

/** Whether a key of a write, behind the scope of its run, is of a call that was made within a call: `7:my tool/c1/…`. */
const isWithin = (key: string, callId: string): boolean => {
  const length = /^\d+(?=:)/.exec(key)?.[0]
  return length !== undefined && key.startsWith(`/${callId}/`, length.length + 1 + Number(length))
}

/**
 * Whether an earlier life has begun writes within a call, by tools and agents that its tool runs, which this life did not come by as it
 * made the call again: the tool has gone another way. What has a key is not known here.
 */
export const hasGoneAnotherWay = ({ journal, scope }: Run, callId: string): boolean => {
  const keys = journal && lookedFor.get(journal)
  if (keys === undefined) return false
  const ofRuns = `${callId.length}:${callId}/`
  for (const kind of ["write", "child"] as const) {
    for (const [key] of journal!.entries!(kind)) {
      if (!key.startsWith(`${scope}/`) || keys.has(`write ${key}`) || keys.has(`child ${key}`)) continue
      const place = key.slice(scope.length + 1)
      if (place.startsWith(ofRuns) || isWithin(place, callId)) return true
    }
  }
  return false
}

/** Whether an agent that is the tool of a call had an answer of its model in an earlier life. */
export const hasAskedWithin = ({ journal, place }: Run, callId: string): boolean => {
  for (const [key] of journal?.entries?.("model") ?? []) {
    if (key.startsWith(`${place}/`) && key.slice(place.length + 1).replace(/^\d+:/, "").startsWith(`${callId}@`)) {
      return true
    }
  }
  return false
}
