/** Runs that are interrupted at an entry of their journal, and continue in another execution. */
import { assert } from "@effect/vitest"
import { Data, Effect, type Schema } from "effect"
import type { Journal } from "@recourse/core"

/** Defect of an interrupted run. */
export class Cut extends Data.TaggedError("Cut") {}

/** The entry at which an execution is interrupted: it is stored, or not. */
export interface CutAt {
  readonly at: number
  readonly behind: boolean
}

/** Each place at which a run of so many records can be cut off, before a record and behind it, with its name; of some records only, if a step is given. */
export const cuts = (records: number, step = 1): ReadonlyArray<CutAt & { readonly about: string }> =>
  Array.from({ length: Math.ceil(records / step) }, (_, n) => n * step + 1).flatMap((at) =>
    [false, true].map((behind) => ({ at, behind, about: `${behind ? "behind" : "before"} record ${at}` }))
  )

/** The entries of a kind, of records by their kinds and keys. */
export const entriesIn = (records: ReadonlyMap<string, Schema.Json>): Journal.Journal["entries"] => (kind) =>
  [...records].filter(([key]) => key.startsWith(`${kind} `)).map(([key, value]) => [
    key.slice(kind.length + 1),
    value
  ])

/** The journal of a run over all of its executions. */
export const journalOf = (kept: Map<string, Schema.Json> = new Map()) => {
  let lives = 0
  /** The journal of the next execution, and its writer: it returns whether the execution has ended. */
  const life = (cut?: CutAt) => {
    const earlier = new Map(kept)
    let records = 0
    const write = (kind: string, key: string, value: Schema.Json): boolean => {
      records++
      const isCut = cut !== undefined && records >= cut.at
      if (!isCut || (records === cut.at && cut.behind)) {
        if (kept.has(`${kind} ${key}`)) throw new Error(`recorded twice: ${kind} ${key}`)
        const json = JSON.parse(JSON.stringify(value)) as Schema.Json
        // A journal that stores no text has its original values: undefined fields included.
        assert.deepStrictEqual(value, json, `${kind} ${key}`)
        kept.set(`${kind} ${key}`, json)
      }
      return isCut
    }
    const journal: Journal.Journal = {
      runId: "run_1",
      isResumed: lives++ > 0,
      elapsedBefore: 0,
      find: (kind, key) => earlier.get(`${kind} ${key}`),
      entries: entriesIn(earlier),
      record: (kind, key, value) => Effect.suspend(() => write(kind, key, value) ? Effect.die(new Cut()) : Effect.void),
      claim: (entry) => entry.slice(0, 32)
    }
    return { journal, write }
  }
  return { kept, life }
}
