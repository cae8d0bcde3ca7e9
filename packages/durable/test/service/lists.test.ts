/** Lists of durable runs: every store answers like a scan of all runs. */
import { assert, describe, it } from "@effect/vitest"
import { Runs } from "@recourse/core"
import { RunStore } from "@recourse/durable"
import { Clock, Effect } from "effect"
import { localStores } from "../support/localStores.ts"

const ids = ["a_1", "a%1", "ab1", "a!1", "A_1", "b", "", "a_12", "a_1!"]

for (const [name, store] of Object.entries(localStores)) {
  describe(`runs in ${name}`, () => {
    it.live("are listed by filters, in pages that have each run once", () =>
      Effect.gen(function*() {
        const { insert, list } = yield* RunStore.RunStore
        for (const [n, runId] of ids.entries()) {
          const owner = n % 2 === 0 ? "ada" : undefined
          yield* insert({ runId, agent: n % 3 === 0 ? "chief" : "clerk", version: "1", owner, input: null })
          if (n === 4) yield* Effect.sleep("3 millis")
        }
        const all = yield* list({})
        assert.strictEqual(all.length, ids.length)
        const [middle] = all.slice(4)
        const now = yield* Clock.currentTimeMillis
        for (const { startedAt, updatedAt } of all) {
          assert.closeTo(startedAt, now, 60_000)
          assert.closeTo(updatedAt, now, 60_000)
        }
        const queries: ReadonlyArray<Runs.Query> = [
          ...ids.map((idPrefix) => ({ idPrefix })),
          { idPrefix: "a_", agent: "chief" },
          { owner: "ada", status: "queued" },
          { status: "running" },
          { startedAfter: middle!.startedAt },
          { startedBefore: middle!.startedAt },
          { startedAfter: middle!.startedAt, startedBefore: middle!.startedAt + 1 },
          ...all.map((behind) => ({ behind }))
        ]
        for (const query of queries) {
          const expected = all.filter((run) => Runs.isOf(run, query)).toSorted(Runs.newestFirst)
          assert.deepStrictEqual(
            (yield* list(query)).map(({ runId }) => runId),
            expected.map(({ runId }) => runId),
            JSON.stringify(query)
          )
        }
        const found: Array<string> = []
        for (let behind: Runs.Query["behind"]; found.length < ids.length;) {
          const page = yield* list({ limit: 2, ...(behind === undefined ? undefined : { behind }) })
          assert.isAbove(page.length, 0)
          found.push(...page.map(({ runId }) => runId))
          behind = page.at(-1)
        }
        assert.deepStrictEqual(found, all.map(({ runId }) => runId))
      }).pipe(Effect.provide(store)))
  })
}
