/** The index of runs: the one in memory and the ones in databases find and count the same. */
import { afterAll, assert, beforeAll, describe, it } from "@effect/vitest"
import { RunIndex } from "@recourse/server"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"

const tools = ["pay", "look", "50%_off"]
const codes = ["outcome_unknown", "timeout", "not_found"]
const words = ["Lisbon", "a TRIP to Pörto", "100% sure_thing", "nul \0 and \ud800 half"]

/** A sequence of numbers below 1 that is the same for each seed. */
const drawn = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
  return seed / 2_147_483_648
}

const runs = (seed: number): ReadonlyArray<RunIndex.RunFacts> => {
  const next = drawn(seed)
  const below = (n: number): number => Math.floor(next() * n)
  const one = <A>(all: ReadonlyArray<A>): A => all[below(all.length)]!
  return Array.from({ length: 40 }, (_, n): RunIndex.RunFacts => {
    const status = one(["completed", "completed", "failed", "waiting", "running", "cancelled"] as const)
    const calls = Array.from({ length: below(4) }, (_, c): RunIndex.CallFacts => {
      const isFailure = next() < 0.5
      const code = isFailure ? one(codes) : undefined
      const state = code === "outcome_unknown"
        ? "unknown"
        : next() < 0.3
        ? one(["undone", "not_undone"] as const)
        : undefined
      return {
        spanId: `r${n}/call/c${c}`,
        callId: `c${c}`,
        tool: one(tools),
        at: 1000 + n * 10 + c,
        attempts: below(3),
        isFailure,
        ...(code === undefined ? undefined : { code }),
        isRetried: next() < 0.4,
        isFixed: next() < 0.2,
        isFallback: next() < 0.2,
        isEscalated: next() < 0.2,
        ...(state === undefined ? undefined : { state, arguments: "{\"a\":1}", entry: `entry ${below(3)}` })
      }
    })
    return {
      runId: `run_${one(["a", "b"])}_${n}`,
      agent: one(["clerk", "chief"]),
      ...(next() < 0.3 ? undefined : { owner: one(["ada", "bob"]) }),
      status,
      startedAt: 1000 + below(30) * 10,
      updatedAt: 5000 + n,
      words: one(words).replaceAll("\0", "").toWellFormed().toLowerCase(),
      pending: status === "waiting" ? 1 + below(2) : 0,
      waitingSince: status === "waiting" ? 900 + below(50) : 0,
      summary: {
        input: one(words).replaceAll("\0", "").toWellFormed(),
        worked: below(1000),
        waited: 0,
        turns: 1,
        calls: calls.length,
        attempts: calls.length,
        tokens: below(500),
        cost: below(100) / 4,
        retries: below(2),
        fixes: below(2),
        fallbacks: 0,
        escalations: 0,
        undone: calls.filter(({ state }) => state === "undone").length,
        ...(status === "failed" ? { code: one(codes) } : undefined)
      },
      calls
    }
  })
}

const filters: ReadonlyArray<Partial<RunIndex.RunFilter>> = [
  {},
  { limit: 7 },
  { agents: ["clerk"] },
  { agents: [] },
  { owner: "ada", status: "completed" },
  { idPrefix: "run_a_" },
  { startedAfter: 1100, startedBefore: 1200 },
  { text: "pÖRTO" },
  { text: "100% sure_" },
  { text: "1_0" },
  { tool: "50%_off" },
  { code: "timeout" },
  { state: "unknown" },
  { state: "undone" },
  { state: "retried", minWorked: 400 },
  { state: "fixed", minCost: 10 },
  { like: "run_a_0" },
  { like: "run_b_0" },
  { like: "none" },
  { behind: { startedAt: 1150, runId: "run_a_3" } }
]

const checks: ReadonlyArray<readonly [run: number, check: RunIndex.Check]> = [0, 1, 2, 3, 5, 8, 13, 21].map((n) => [
  n,
  {
    spanId: `r${n}/call/c0`,
    answer: n % 2 === 0 ? "happened" : "not_happened",
    by: "olga",
    at: 7000 + n,
    note: "looked"
  }
])

/** Everything that an index answers. */
const answers = (seed: number) =>
  Effect.gen(function*() {
    const index = yield* RunIndex.RunIndex
    const all = runs(seed)
    // Earlier facts of a run are replaced.
    yield* Effect.forEach(all, (facts) => index.put({ ...facts, calls: [], status: "running", updatedAt: 1 }))
    yield* Effect.forEach(all, index.put)
    yield* Effect.forEach(checks, ([n, check]) => index.check(all[n]!.runId, { ...check, answer: "settled", at: 1 }))
    yield* Effect.forEach(checks, ([n, check]) => index.check(all[n]!.runId, check))
    yield* index.forget(all.at(-1)!.runId)
    const query = { from: 1000, to: 1300, parts: 7 }
    return {
      summaries: [...yield* index.summaries(all.map(({ runId }) => runId))].toSorted(([a], [b]) => a < b ? -1 : 1),
      found: yield* Effect.forEach(filters, (filter) => index.find({ limit: 100, ...filter })),
      unfinished: (yield* index.unfinished).toSorted(),
      open: yield* index.outcomes({ limit: 100 }),
      ofAgent: yield* index.outcomes({ limit: 3, agents: ["chief"] }),
      ofRun: yield* index.outcomes({ limit: 100, runId: all[2]!.runId }),
      checked: yield* Effect.forEach(["entry 0", "entry 1", "entry 2", "none"], (entry) => index.checked(entry)),
      overview: yield* index.overview(query),
      overviewOfAgent: yield* index.overview({ ...query, agents: ["chief"] }),
      overviewOfNone: yield* index.overview({ ...query, agents: [] }),
      overviewOfNoTime: yield* index.overview({ from: 1, to: 2, parts: 3 })
    }
  })

describe.each(sqlDatabases.filter(({ name }) => !name.startsWith("MySQL")))("an index of runs in $name", (database) => {
  let place: Awaited<ReturnType<typeof database.open>>
  beforeAll(async () => {
    place = await database.open()
  }, 30_000)
  afterAll(() => place.close(), 30_000)

  it.effect("finds and counts like the one in memory, for random runs", () =>
    Effect.gen(function*() {
      for (const seed of [1, 20, 300]) {
        const expected = yield* Effect.provide(answers(seed), RunIndex.layerMemory, { local: true })
        const found = yield* Effect.provide(answers(seed), RunIndex.layerSql({ table: `index_${seed}` }))
        assert.deepStrictEqual(found, expected)
        assert.isAbove(expected.open.length, 0)
        assert.isAbove(expected.overview.failures.length, 1)
      }
    }).pipe(Effect.provide(sqlLayer(place.address))))

  it.effect("does not change if another process creates the tables again", () =>
    Effect.gen(function*() {
      const index = yield* RunIndex.RunIndex
      yield* index.put(runs(1)[0]!)
      const other = Effect.provide(RunIndex.RunIndex, RunIndex.layerSql({ table: "again" }), { local: true })
      assert.lengthOf(yield* (yield* other).find({ limit: 5 }), 1)
      const sql = yield* SqlClient.SqlClient
      const rows = yield* sql`SELECT run_id FROM again_runs`
      assert.lengthOf(rows, 1)
    }).pipe(Effect.provide(RunIndex.layerSql({ table: "again" })), Effect.provide(sqlLayer(place.address))))
})
