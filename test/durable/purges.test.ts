/** Purges of stores: what other runs rely on stays, and a run with a purged id is another run. */
import { assert, describe, it } from "@effect/vitest"
import { Compensation } from "@recourse/core"
import { RunStore } from "@recourse/durable"
import { Effect } from "effect"
import { runStores } from "../support/runStores.ts"

const run = (runId: string, parent?: string) => ({
  runId,
  agent: "clerk",
  version: "1",
  owner: undefined,
  parent,
  input: "go"
})

/** A run that compensates a write of another one. */
const compensation = (runId: string, of: string) => ({ ...run(runId, of), agent: Compensation.nameOf("clerk") })

const step = ({ epoch, runId, startedAt }: RunStore.Lease, position: number): RunStore.Step => ({
  runId,
  epoch,
  startedAt,
  segment: 0,
  position,
  kind: "end",
  key: String(position),
  value: null,
  elapsed: 1,
  firstEvent: position,
  events: []
})

const completed = (last: RunStore.Step) => ({ status: "completed", pending: [], last }) as const

describe.each(runStores)("a purge: $name", ({ open }) => {
  const purging = (test: (store: RunStore.Store) => Effect.Effect<void, unknown>) => async () => {
    const { close, layer } = await open()
    try {
      await Effect.runPromise(Effect.flatMap(RunStore.RunStore, test).pipe(Effect.provide(layer)))
    } finally {
      await close()
    }
  }

  it(
    "keeps the ended children of a run that has not ended",
    purging((store) =>
      Effect.gen(function*() {
        const added = (runId: string, parent?: string) =>
          Effect.map(store.insert({ ...run(runId, parent), leaseMillis: 60_000 }), ({ run }) => run)
        const parent = yield* added("parent")
        for (const one of [yield* added("child", "parent"), yield* added("orphan", "none")]) {
          yield* store.settle(one, completed(step(one, 0)))
        }
        assert.strictEqual(yield* store.purge(0), 1)
        assert.isDefined(yield* store.get("child"))
        assert.isFalse((yield* store.insert(run("child", "parent"))).isNew)
        yield* store.settle(parent, completed(step(parent, 0)))
        assert.strictEqual(yield* store.purge(0), 2)
      })
    )
  )

  it(
    "keeps a run whose compensation has not ended",
    purging((store) =>
      Effect.gen(function*() {
        const { run: ended } = yield* store.insert({ ...run("r"), leaseMillis: 60_000 })
        yield* store.settle(ended, completed(step(ended, 0)))
        const { run: compensating } = yield* store.insert({ ...compensation("k", "r"), leaseMillis: 60_000 })
        assert.strictEqual(yield* store.purge(0), 0)
        assert.strictEqual((yield* store.get("r"))?.status, "completed")
        yield* store.settle(compensating, completed(step(compensating, 0)))
        assert.strictEqual(yield* store.purge(0), 1)
        assert.isUndefined(yield* store.get("r"))
        assert.strictEqual(yield* store.purge(0), 1)
        assert.isUndefined(yield* store.get("k"))
      })
    )
  )

  it(
    "is not delayed by a child that has not ended",
    purging((store) =>
      Effect.gen(function*() {
        const { run: ended } = yield* store.insert({ ...run("r"), leaseMillis: 60_000 })
        yield* store.insert({ ...run("child", "r"), leaseMillis: 60_000 })
        yield* store.settle(ended, completed(step(ended, 0)))
        assert.strictEqual(yield* store.purge(0), 1)
        assert.strictEqual((yield* store.get("child"))?.status, "running")
      })
    )
  )

  it(
    "refuses the owner of a purged run",
    purging((store) =>
      Effect.gen(function*() {
        const { run: former } = yield* store.insert({ ...run("r"), leaseMillis: -1 })
        const { taken: [second] } = yield* store.take({
          agents: [{ agent: "clerk", versions: ["1"] }],
          limit: 1,
          leaseMillis: 60_000
        })
        yield* store.settle(second!, completed(step(second!, 0)))
        yield* Effect.sleep("3 millis")
        assert.strictEqual(yield* store.purge(0), 1)
        const { run: later } = yield* store.insert({ ...run("r"), leaseMillis: 60_000 })
        assert.strictEqual(later.epoch, former.epoch)
        assert.deepEqual(yield* store.append([step(former, 0)]), ["lost"])
        assert.isFalse(yield* store.settle(former, completed(step(former, 0))))
        assert.deepEqual((yield* store.take({ leases: [former], leaseMillis: 1 })).leases, [])
        assert.deepEqual(yield* store.append([step(later, 0)]), ["added"])
        assert.isFalse(yield* store.settle(former, completed(step(former, 0))))
        assert.strictEqual((yield* store.get("r"))?.status, "running")
      })
    )
  )

  it(
    "leaves no signal to a later run of the id",
    purging((store) =>
      Effect.gen(function*() {
        assert.isFalse(yield* store.signal("r", "parcel", "early"))
        const { run: owned } = yield* store.insert({ ...run("r"), leaseMillis: 60_000 })
        assert.isTrue(yield* store.signal("r", "parcel", "here"))
        yield* store.settle(owned, completed(step(owned, 0)))
        assert.strictEqual(yield* store.purge(0), 1)
        assert.isFalse(yield* store.signal("r", "parcel", "late"))
        yield* store.insert(run("r"))
        assert.isUndefined(yield* store.signalled("r", "parcel"))
      })
    )
  )
})
