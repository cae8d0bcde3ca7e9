/** Pages of lists: hidden rows neither shorten a page nor appear in a cursor. */
import { assert, describe, it } from "@effect/vitest"
import { Runs } from "@recourse/core"
import { Effect } from "effect"
import { ScriptedModel } from "@recourse/testing"
import { serve } from "../support/kit.ts"

interface Page {
  readonly runs: ReadonlyArray<Runs.RunInfo>
  readonly next?: string
}

// An internal module: not part of the package.
const { pageOf } = await import(new URL("../../src/internal/routes/listing.ts", import.meta.url).href) as {
  readonly pageOf: (
    runs: Runs.RunsService,
    query: Runs.Query & { readonly limit: number },
    cursor: string | undefined,
    agents: ReadonlyArray<string> | undefined
  ) => Effect.Effect<Page>
}

const agents = ["a", "b", "c", "d"] as const

/** A store of runs that lists as `Runs.isOf` and `Runs.newestFirst` say. */
const storeOf = (all: ReadonlyArray<Runs.RunInfo>): Runs.RunsService => ({
  list: (query = {}) =>
    Effect.succeed(
      all.filter((run) => Runs.isOf(run, query)).toSorted(Runs.newestFirst).slice(0, query.limit ?? 100)
    )
} as Partial<Runs.RunsService> as Runs.RunsService)

/** Numbers of a seed, each below a limit. */
const numbers = (seed: number) => {
  let state = seed * 2_654_435_761 + 1
  return (below: number): number => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648
    return Math.floor(state / 65_536) % below
  }
}

const drawn = (seed: number) => {
  const below = numbers(seed)
  const subset = [...agents, "none"].filter(() => below(2) === 0)
  return {
    runs: Array.from({ length: below(40) }, () => ({ agent: agents[below(4)]!, startedAt: below(6) })),
    visible: below(4) === 0 ? undefined : subset,
    agent: below(2) === 0 ? undefined : agents[below(4)],
    limit: 1 + below(7)
  }
}

describe("a page of runs", () => {
  it("a page is full unless it is the last, without hidden cursors", async () => {
    for (let seed = 0; seed < 300; seed++) {
      const { agent, limit, runs, visible } = drawn(seed)
      const all = runs.map((run, n): Runs.RunInfo => ({
        ...run,
        runId: `run_${n}`,
        status: "completed",
        updatedAt: 0,
        pending: []
      }))
      const expected = all
        .filter((run) => (visible?.includes(run.agent) ?? true) && (agent === undefined || run.agent === agent))
        .toSorted(Runs.newestFirst)
      const seen: Array<string> = []
      for (let cursor: string | undefined;;) {
        const page: Page = await Effect.runPromise(pageOf(storeOf(all), { agent, limit }, cursor, visible))
        seen.push(...page.runs.map(({ runId }) => runId))
        if (page.next === undefined) break
        const last = page.runs.at(-1)!
        assert.strictEqual(page.runs.length, limit)
        assert.strictEqual(page.next, `${last.startedAt}.${last.runId}`)
        cursor = page.next
      }
      assert.deepStrictEqual(seen, expected.map(({ runId }) => runId), `seed ${seed}`)
    }
  })
})

describe("lists over HTTP", () => {
  it.live("page an owner's runs by limit and cursor", () =>
    Effect.gen(function*() {
      const server = yield* serve(() => ScriptedModel.text("Hi."))
      for (let n = 0; n < 5; n++) yield* server.post("/runs", { agent: "clerk", message: "Hi", key: `k${n}` })
      yield* server.post("/runs", { agent: "clerk", message: "Hi", key: "other" }, { who: "bob" })
      const seen: Array<string> = []
      const lengths: Array<number> = []
      for (let cursor: string | undefined = ""; cursor !== undefined;) {
        const query: string = cursor === "" ? "" : `&cursor=${encodeURIComponent(cursor)}`
        const { next, runs } = (yield* server.get(`/runs?limit=2${query}`)).json() as Page
        seen.push(...runs.map(({ runId }) => runId))
        lengths.push(runs.length)
        cursor = next
      }
      assert.deepStrictEqual(lengths, [2, 2, 1])
      assert.strictEqual(new Set(seen).size, 5)
    }))

  it.live("refuse a cursor, limit, filter or parameter that is none", () =>
    Effect.gen(function*() {
      const server = yield* serve([])
      const lists = [["/runs", "ada"], ["/operator/runs", "otto"], ["/operator/approvals", "otto"]] as const
      const wrong = ["cursor=x", "cursor=1", "cursor=.x", "limit=0", "limit=501", "limit=x", "limit=1&limit=2"]
      for (const [path, who] of lists) {
        for (const query of [...wrong, "status=odd", "ownr=ada"]) {
          assert.strictEqual((yield* server.get(`${path}?${query}`, who)).status, 400, `${path}?${query}`)
        }
      }
      for (const query of ["after=x", "after=1.x", "limit=0", "limit=201", "limit=x", "serch=x", "after=1&after=2"]) {
        assert.strictEqual((yield* server.get(`/threads?${query}`)).status, 400, query)
      }
      assert.strictEqual((yield* server.get(`/threads?after=1.${"0".repeat(64)}&limit=5&search=x`)).status, 200)
    }))
})
