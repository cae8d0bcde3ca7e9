/** A store's support of queues, approvals, children and signals, on each database. */
import { assert, describe, it } from "@effect/vitest"
import { RunStore } from "@recourse/durable"
import { Effect, Layer, type Schema } from "effect"
import { SqlClient, Statement } from "effect/sql"
import { sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

const agents = (queue?: { readonly concurrency?: number; readonly rate?: { limit: number; perMillis: number } }) => [
  { agent: "clerk", versions: ["1"], queue }
]
const run = (runId: string, parent?: string) => ({
  runId,
  agent: "clerk",
  version: "1",
  owner: undefined,
  parent,
  trace: "00-1-2-01",
  input: { text: "é\u0000\"" }
})
const minute = { leaseMillis: 60_000, limit: 10 }

const last = ({ epoch, runId }: RunStore.Lease, position: number): RunStore.Step => ({
  runId,
  epoch,
  segment: 0,
  position,
  kind: "end",
  key: String(position),
  value: "waiting \u0000 'é",
  elapsed: 1.4,
  firstEvent: position,
  events: [{ at: position }]
})

describe("a store of durable runs", () => {
  for (const { name, open } of supported) {
    it(`denies the start of a write after the run was cancelled: ${name}`, async () => {
      const { address, close } = await open()
      const layer = RunStore.layerSql({ prefix: "runs" }).pipe(Layer.provide(sqlLayer(address)))
      const program = Effect.gen(function*() {
        const store = yield* RunStore.RunStore
        const { run: held } = yield* store.insert({ ...run("r"), leaseMillis: 60_000 })
        const write = (position: number) => ({ ...last(held, position), kind: "write", startsWrite: true as const })
        assert.deepEqual(yield* store.append([last(held, 0), write(1)]), ["added", "added"])
        assert.isTrue(yield* store.cancel("r"))
        assert.deepEqual(yield* store.append([write(2), last(held, 3)]), ["denied", "added"])
        // An answer that was lost is the same again.
        assert.deepEqual(yield* store.append([write(2), write(1)]), ["denied", "added"])
        const { steps } = yield* store.load({ runId: "r", segment: 0 })
        assert.deepEqual(steps.map(({ kind }) => kind), ["end", "write", "denied", "end"])
      })
      await Effect.runPromise(Effect.provide(program, layer)).finally(close)
    })

    it(`claims in turn, asks people, knows children and signals: ${name}`, async () => {
      const { address, close } = await open()
      const layer = RunStore.layerSql({ prefix: "runs" }).pipe(Layer.provide(sqlLayer(address)))
      const program = Effect.gen(function*() {
        const store = yield* RunStore.RunStore
        // Tables that are not there, or of another version, are said to be so when the layer is built.
        const missing = yield* Effect.flip(
          Layer.build(RunStore.layerSql({ prefix: "missing", create: false }).pipe(Layer.provide(sqlLayer(address))))
        )
        assert.strictEqual((missing as RunStore.RunStoreError).operation, "check tables")
        for (const n of [1, 2, 3, 4]) yield* store.insert(run(`r${n}`))
        assert.deepEqual(yield* store.count, [{ status: "queued", agent: "clerk", count: 4 }, {
          status: "waiting",
          count: 0
        }])
        // Whoever adds a run may hold it from the beginning.
        const held = yield* store.insert({ ...run("held"), leaseMillis: 60_000 })
        assert.deepEqual([held.run.status, held.run.epoch], ["running", 1])
        assert.deepEqual(yield* store.append([last({ runId: "held", epoch: 1 }, 0)]), ["added"])
        yield* store.settle(held.run, { status: "completed", pending: [], last: last({ runId: "held", epoch: 1 }, 1) })
        assert.isFalse((yield* store.insert(run("r1"))).isNew)
        yield* store.insert({ ...run("later"), delayMillis: 60_000 })
        // Two at once, and three that begin in a minute.
        const queue = { concurrency: 2, rate: { limit: 3, perMillis: 60_000 } }
        const first = (yield* store.take({ agents: agents(queue), ...minute })).taken
        assert.strictEqual(first.length, 2)
        assert.deepEqual([first[0]!.trace, first[0]!.input], ["00-1-2-01", { text: "é\u0000\"" }])
        assert.deepEqual((yield* store.take({ agents: agents(queue), ...minute })).taken, [])
        const [one, two] = first as [RunStore.StoredRun, RunStore.StoredRun]
        // Steps of those who hold the run are added, once; others are refused.
        assert.deepEqual(
          yield* store.append([last(one, 0), last({ runId: two.runId, epoch: 7 }, 0), last(two, 0)]),
          ["added", "lost", "added"]
        )
        assert.deepEqual(yield* store.append([last(one, 0)]), ["added"])
        assert.deepEqual((yield* store.load({ runId: one.runId, segment: 0 })).steps, [{ ...last(one, 0), elapsed: 1 }])
        const waits = { status: "waiting" as const, pending: [], snapshot: {}, wakeInMillis: 0, last: last(one, 1) }
        assert.isTrue(yield* store.settle(one, waits))
        assert.strictEqual((yield* store.take({ agents: agents(queue), ...minute })).taken.length, 1)
        // The rate is used up, though there is room.
        assert.isTrue(yield* store.settle(two, { status: "queued" }))
        assert.deepEqual((yield* store.take({ agents: agents(queue), ...minute })).taken.map(({ runId }) => runId), [
          two.runId
        ])
        yield* store.cancel(two.runId)
        const second = { runId: two.runId, epoch: two.epoch + 1 }
        assert.deepEqual(yield* store.take({ leases: [two, { runId: "r9", epoch: 1 }] }), {
          taken: [],
          due: [],
          leases: []
        })
        const kept = { runId: two.runId, isCancelled: true, isRead: false, hasPlace: true }
        assert.deepEqual((yield* store.take({ leases: [second], leaseMillis: 60_000 })).leases, [kept])
        yield* store.events(two.runId, 0, 10_000)
        assert.deepEqual((yield* store.take({ leases: [second] })).leases, [{ ...kept, isRead: true }])
        // A waiting run is due once for a time, and the asked person is found.
        const due = Effect.map(store.take({ due: agents(), ...minute }), ({ due }) => due)
        const [waiting, ...others] = yield* due
        assert.deepEqual([waiting?.runId, others.length], [one.runId, 0])
        assert.deepEqual(yield* due, [])
        yield* store.settle(waiting!, { status: "asked", asked: 1, askedOf: "ada", wakeInMillis: 0 })
        assert.deepEqual((yield* store.list({ askedOf: "ada" })).map(({ runId }) => runId), [one.runId])
        assert.strictEqual((yield* due)[0]?.asked, 1)
        yield* store.settle(waiting!, { status: "asked", asked: 2, askedOf: "eve", wakeInMillis: undefined })
        assert.deepEqual(yield* due, [])
        // Children, signals, ends.
        yield* store.insert(run("child", one.runId))
        assert.deepEqual(yield* store.children(one.runId), ["child"])
        assert.isTrue(yield* store.signal(one.runId, "parcel", { at: "the door" }))
        assert.isFalse(yield* store.signal(one.runId, "parcel", null))
        assert.deepEqual(yield* store.signalled(one.runId, "parcel"), { value: { at: "the door" } })
        assert.isUndefined(yield* store.signalled(one.runId, "letter"))
        assert.isTrue(yield* store.cancel(one.runId))
        assert.deepEqual(
          (yield* store.ended([one.runId, "child", "nobody"])).toSorted(),
          ["nobody", one.runId].toSorted()
        )
        const events = yield* store.events(one.runId, 0)
        assert.deepEqual(events.map(({ number }) => number), [0, 1, 2])
        assert.strictEqual((events[2]!.event as { readonly _tag: string })._tag, "RunFinished")
        assert.deepEqual(yield* store.list({ askedOf: "eve" }), [])
        // A run that may need compensation is queued when it is cancelled, and precedes all others, also in a full
        // queue.
        const waiting2 = (runId: string, snapshot: Schema.Json) =>
          Effect.gen(function*() {
            const { run: held } = yield* store.insert({ ...run(runId), leaseMillis: 60_000 })
            yield* store.settle(held, { status: "waiting", pending: [], snapshot, last: last(held, 0) })
            yield* store.cancel(runId)
            return (yield* store.get(runId))?.status
          })
        const done = [{ id: "w" }]
        assert.strictEqual(yield* waiting2("did", { done, round: { nested: [] } }), "queued")
        assert.strictEqual(
          yield* waiting2("didWithin", {
            round: { nested: [{ snapshot: { round: { nested: [{ snapshot: { done } }] } } }] }
          }),
          "queued"
        )
        assert.strictEqual(
          yield* waiting2("didNothing", { done: [], round: { nested: [{ snapshot: {} }] } }),
          "cancelled"
        )
        const between = yield* store.insert({ ...run("between"), leaseMillis: 60_000 })
        yield* store.append([last(between.run, 0)])
        yield* store.settle(between.run, { status: "queued" })
        yield* store.cancel("between")
        const { taken: cancelled } = yield* store.take({
          agents: agents({ concurrency: 1 }),
          ...minute,
          limit: 2,
          onlyCancelled: true
        })
        const { taken: others2 } = yield* store.take({ agents: agents({ concurrency: 1 }), ...minute })
        assert.deepEqual(
          [...cancelled, ...others2.filter(({ isCancelled }) => isCancelled)].map(({ runId }) => runId).toSorted(),
          ["between", "did", "didWithin"]
        )
        assert.deepEqual((yield* store.take({ agents: [], ...minute, onlyCancelled: true })).taken, [])
        const [first2] = (yield* store.take({ agents: agents(), ...minute, limit: 1 })).taken
        assert.notStrictEqual(first2?.runId, "later")
        // A version that continues runs of another one adopts those that it takes.
        yield* store.insert({ ...run("adopted"), agent: "adopter" })
        const adopter = { agent: "adopter", versions: ["1", "2"], adopted: { "1": "2" } }
        const [adopted] = (yield* store.take({ agents: [adopter], ...minute })).taken
        assert.deepEqual([adopted?.version, (yield* store.get("adopted"))?.version], ["2", "2"])
        // A run that waits for another one releases its slot in the queue, and gets it back before it continues.
        const narrow = { agents: [{ agent: "narrow", versions: ["1"], queue: { concurrency: 1 } }], limit: 10 }
        const claimed = (leaseMillis = 60_000) =>
          Effect.map(store.take({ ...narrow, leaseMillis }), ({ taken }) => taken.map(({ runId }) => runId))
        const reclaim = (held: RunStore.Lease, place: number) =>
          Effect.map(store.take({ leases: [{ ...held, place }] }), ({ leases: [one] }) => one?.hasPlace === true)
        const lend = (held: RunStore.Lease) => store.settle(held, { status: "lent" })
        const hold = (runId: string, epoch = 1) => ({ runId, epoch })
        for (const n of [1, 2, 3]) yield* store.insert({ ...run(`n${n}`), agent: "narrow" })
        assert.deepEqual(yield* claimed(), ["n1"])
        yield* lend(hold("n1", 7))
        assert.deepEqual(yield* claimed(), [])
        yield* lend(hold("n1"))
        assert.deepEqual(yield* claimed(), ["n2"])
        assert.isFalse(yield* reclaim(hold("n1"), 1))
        assert.isFalse(yield* reclaim(hold("n1", 7), 9))
        // Runs that want their slot back precede those that start.
        yield* store.settle(hold("n2"), { status: "completed", pending: [], last: last(hold("n2"), 0) })
        assert.deepEqual(yield* claimed(), [])
        assert.isTrue(yield* reclaim(hold("n1"), 1))
        assert.deepEqual(yield* claimed(), [])
        yield* store.settle(hold("n1"), { status: "completed", pending: [], last: last(hold("n1"), 0) })
        // One whose process is gone while it wants it back blocks no other run.
        assert.deepEqual(yield* claimed(-1), ["n3"])
        yield* lend(hold("n3"))
        yield* store.insert({ ...run("n4"), agent: "narrow", leaseMillis: 60_000 })
        assert.isFalse(yield* reclaim(hold("n3"), 1))
        yield* store.settle(hold("n4"), { status: "completed", pending: [], last: last(hold("n4"), 0) })
        assert.deepEqual(yield* claimed(), ["n3"])
      })
      try {
        await Effect.runPromise(Effect.scoped(Effect.provide(program, layer)))
      } finally {
        await close()
      }
    })

    it(`finds an owner's runs without scanning those of others: ${name}`, async () => {
      const { address, close } = await open()
      const client = sqlLayer(address)
      const layer = Layer.provideMerge(RunStore.layerSql({ prefix: "runs" }), client)
      const program = Effect.gen(function*() {
        const store = yield* RunStore.RunStore
        const sql = yield* SqlClient.SqlClient
        yield* store.insert({ ...run("of ada"), owner: "ada" })
        yield* store.insert({ ...run("of bob"), owner: "bob" })
        const [found, ...others] = yield* store.list({ owner: "ada", idPrefix: "of", limit: 1 })
        assert.deepEqual([found?.runId, others], ["of ada", []])
        const query = "SELECT * FROM runs_runs WHERE owner = 'ada' ORDER BY started_at DESC, run_id DESC LIMIT 1"
        const plan = sql.onDialectOrElse({
          // A table of two rows is read whole.
          pg: () =>
            sql.withTransaction(
              Effect.andThen(sql`SET LOCAL enable_seqscan = off`, sql.unsafe(`EXPLAIN ${query}`))
            ),
          orElse: () => sql.unsafe(`EXPLAIN QUERY PLAN ${query}`)
        })
        const told = JSON.stringify(yield* plan)
        assert.include(told, "runs_runs_owner")
        assert.notMatch(told, /sort|temp b-tree/i)
      })
      try {
        await Effect.runPromise(Effect.scoped(Effect.provide(program, layer)))
      } finally {
        await close()
      }
    })

    it(`claims the runs that wait longest without sorting those behind them: ${name}`, async () => {
      const { address, close } = await open()
      const layer = Layer.provideMerge(RunStore.layerSql({ prefix: "runs" }), sqlLayer(address))
      const program = Effect.gen(function*() {
        const store = yield* RunStore.RunStore
        const sql = yield* SqlClient.SqlClient
        /** The database's plan for a claim. */
        const planOf = Effect.fnUntraced(function*(onlyCancelled?: true) {
          let asked: readonly [string, ReadonlyArray<unknown>] | undefined
          const hearing: Statement.Transformer = (statement) =>
            Effect.sync(() => {
              asked = statement.compile()
              return statement
            })
          yield* Effect.provideService(
            store.take({ agents: [{ agent: "clerk", versions: ["1"] }], leaseMillis: 1000, limit: 1, onlyCancelled }),
            Statement.CurrentTransformer,
            hearing
          )
          const explained = (how: string) => sql.unsafe(`${how} ${asked![0]}`, asked![1])
          const plan = sql.onDialectOrElse({
            pg: () =>
              sql.withTransaction(
                Effect.andThen(sql`SET LOCAL enable_seqscan = off`, sql`SET LOCAL enable_sort = off`).pipe(
                  Effect.andThen(explained("EXPLAIN"))
                )
              ),
            orElse: () => explained("EXPLAIN QUERY PLAN")
          })
          return JSON.stringify(yield* plan)
        })
        const claim = yield* planOf()
        assert.include(claim, "runs_runs_claim")
        assert.notMatch(claim, /sort|temp b-tree/i)
        assert.include(yield* planOf(true), "runs_runs_cancelled")
      })
      try {
        await Effect.runPromise(Effect.scoped(Effect.provide(program, layer)))
      } finally {
        await close()
      }
    })
  }
})
