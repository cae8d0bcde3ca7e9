/** Laws of lists: the fields of runs, filters and pages, ends, children, and the age of purged runs. */
import { Compensation, type Runs } from "@recourse/core"
import type * as RunStore from "@recourse/durable/RunStore"
import { Effect } from "effect"
import { type Differs, same } from "./broken.ts"

type Law = (store: RunStore.Store, name: string) => Effect.Effect<void, Differs | RunStore.RunStoreError>

const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

/** A run, and two that it has started: one has ended. */
const family = (store: RunStore.Store, name: string) =>
  Effect.gen(function*() {
    const [parent, child, ended] = ["Parent", "child", "ended"].map((id) => `${name} ${id}`) as [string, string, string]
    const run = { agent: name, version: "3", owner: "ada", input: "go" }
    yield* store.insert({ ...run, runId: parent })
    yield* store.insert({ ...run, runId: child, parent, trace })
    yield* store.insert({ ...run, runId: ended, parent, owner: "eve" })
    yield* store.cancel(ended)
    return { parent, child, ended }
  })

const readsRuns: Law = (store, name) =>
  Effect.gen(function*() {
    const { child, ended, parent } = yield* family(store, name)
    const stored = yield* store.get(child)
    const { agent, owner, runId, status, version } = stored ?? {}
    yield* same(
      "the fields of a run",
      { agent, owner, runId, status, version, of: stored?.parent, at: stored?.trace },
      {
        agent: name,
        owner: "ada",
        runId: child,
        status: "queued",
        version: "3",
        of: parent,
        at: trace
      }
    )
    yield* same("a run of another case", (yield* store.get(`${name} parent`)) === undefined, true)
    const compensation = `${name} compensation`
    yield* store.insert({
      agent: Compensation.nameOf(name),
      version: "3",
      owner: "ada",
      input: "go",
      runId: compensation,
      parent
    })
    // The name of an agent may end like that of a compensation, in another case.
    const other = `${name} other`
    const ofOtherCase = Compensation.nameOf(name).toUpperCase()
    yield* store.insert({ agent: ofOtherCase, version: "3", owner: "ada", input: "go", runId: other, parent })
    const children = (yield* store.children(parent)).toSorted()
    yield* same("children that have not ended", children, [child, other].toSorted())
    const none = `${name} none`
    yield* same("ends", (yield* store.ended([parent, child, ended, none])).toSorted(), [ended, none].toSorted())
  })

const filters: Law = (store, name) =>
  Effect.gen(function*() {
    const { child, ended, parent } = yield* family(store, name)
    const all = [parent, child, ended].toSorted()
    const listed = (query: Runs.Query) =>
      Effect.map(store.list({ agent: name, ...query }), (found) => found.map(({ runId }) => runId).toSorted())
    yield* same("runs of an agent", yield* listed({}), all)
    yield* same("runs of an owner", yield* listed({ owner: "eve" }), [ended])
    yield* same("runs of a status", yield* listed({ status: "cancelled" }), [ended])
    yield* same("runs with a prefix", yield* listed({ idPrefix: `${name} c` }), [child])
    yield* same("runs with a prefix that is no pattern", yield* listed({ idPrefix: `${name} %` }), [])
    yield* same("runs of another agent", yield* listed({ agent: `${name} none` }), [])
    const pages: Array<Runs.RunInfo["runId"]> = []
    let behind: { readonly runId: string; readonly startedAt: number } | undefined
    for (let page = 0; page < 4; page++) {
      const [found, ...more] = yield* store.list({ agent: name, limit: 1, behind })
      yield* same("runs of a page", more, [])
      if (found === undefined) break
      yield* same("the order of pages", behind === undefined || found.startedAt <= behind.startedAt, true)
      pages.push(found.runId)
      behind = { runId: found.runId, startedAt: found.startedAt }
    }
    yield* same("runs of all pages", pages.toSorted(), all)
  })

const purges: Law = (store, name) =>
  Effect.gen(function*() {
    const { ended } = yield* family(store, name)
    // A store may contain other runs that have ended: none of them is this old.
    yield* same("purged runs", yield* store.purge(1e13), 0)
    yield* same("a run that has just ended", (yield* store.get(ended))?.status, "cancelled")
  })

/** The laws, by name. */
export const listLaws = {
  runs_are_read_back: readsRuns,
  lists_are_filtered: filters,
  purges_keep_recent_runs: purges
} as const satisfies Readonly<Record<string, Law>>
