/** Laws of taking runs: delays, queues, versions, cancelled runs, reminders and readers. */
import { Effect } from "effect"
import type * as RunStore from "@recourse/durable/RunStore"
import { type Differs, same } from "./broken.ts"

type Law = (store: RunStore.Store, name: string) => Effect.Effect<void, Differs | RunStore.RunStoreError>

const long = 60_000_000

const added = (store: RunStore.Store, agent: string, runId: string, more: Partial<RunStore.StartedRun> = {}) =>
  store.insert({ runId, agent, version: "1", owner: undefined, input: "go", ...more })

/** The ids of the runs of an agent that a process takes. */
const takenOf = (store: RunStore.Store, agent: string, more: Partial<RunStore.Claimable & RunStore.Take> = {}) => {
  const { queue, versions = ["1"], adopted, limit = 10, ...take } = more
  return Effect.map(
    store.take({ agents: [{ agent, versions, adopted, queue }], limit, leaseMillis: long, ...take }),
    ({ taken }) => taken.map(({ runId }) => runId).toSorted()
  )
}

const limitsQueues: Law = (store, name) =>
  Effect.gen(function*() {
    const ids = ["a", "b", "c"].map((id) => `${name} ${id}`)
    for (const id of ids) yield* added(store, name, id)
    const queue = { concurrency: 2 }
    const first = yield* takenOf(store, name, { queue })
    yield* same("runs of a queue of two", first.length, 2)
    yield* same("runs of a full queue", yield* takenOf(store, name, { queue }), [])
    yield* store.settle({ runId: first[0]!, epoch: 1 }, { status: "lent" })
    yield* same("runs behind a slot that is lent", (yield* takenOf(store, name, { queue })).length, 1)
    const rated = `${name} rated`
    for (const id of ids) yield* added(store, rated, `${id} rated`)
    const rate = { rate: { limit: 1, perMillis: long } }
    yield* same("runs of a rate", (yield* takenOf(store, rated, { queue: rate })).length, 1)
    yield* same("runs behind a used up rate", yield* takenOf(store, rated, { queue: rate }), [])
  })

const narrows: Law = (store, name) =>
  Effect.gen(function*() {
    const [delayed, cancelled, other, last] = ["delayed", "cancelled", "other", "last"].map((id) => `${name} ${id}`)
    yield* added(store, name, delayed!, { delayMillis: long })
    yield* same("runs before their delay is over", yield* takenOf(store, name), [])
    for (const id of [other!, last!]) yield* added(store, name, id)
    yield* same("runs of others than the named ones", yield* takenOf(store, name, { only: [last!] }), [last])
    const { run } = yield* added(store, name, cancelled!, { leaseMillis: -1 })
    yield* store.cancel(cancelled!)
    yield* same("runs that are not cancelled", yield* takenOf(store, name, { onlyCancelled: true }), [cancelled])
    yield* same("the cancelled run's next owner", (yield* store.get(cancelled!))?.epoch, run.epoch + 1)
    yield* same("the rest", yield* takenOf(store, name), [other])
  })

const adopts: Law = (store, name) =>
  Effect.gen(function*() {
    yield* added(store, name, name)
    const adopted = { "1": "2" }
    yield* same("a run of another version", yield* takenOf(store, name, { versions: ["1", "2"], adopted }), [name])
    yield* same("the version of a run that is continued", (yield* store.get(name))?.version, "2")
    yield* store.settle({ runId: name, epoch: 1 }, { status: "queued" })
    yield* same("a run that the former version takes", yield* takenOf(store, name), [])
  })

const reminds: Law = (store, name) =>
  Effect.gen(function*() {
    const { run } = yield* added(store, name, name, { leaseMillis: long })
    const last: RunStore.Step = {
      runId: name,
      epoch: run.epoch,
      segment: 0,
      position: 0,
      kind: "end",
      key: "0",
      value: "waiting",
      elapsed: 1,
      firstEvent: 0,
      events: []
    }
    const due = [{ agent: name, versions: ["1"] }]
    const dueIds = Effect.map(store.take({ due, limit: 10, leaseMillis: long }), (taken) =>
      taken.due.map(({ runId }) => runId))
    yield* store.settle(run, { status: "waiting", pending: [{ callId: "c" }], snapshot: {}, wakeInMillis: 0, last })
    yield* Effect.sleep("5 millis")
    yield* same("runs that are due", yield* dueIds, [name])
    yield* same("runs that were due within the lease", yield* dueIds, [])
    yield* store.settle(run, { status: "asked", asked: 1, askedOf: "ada", wakeInMillis: long })
    const waiting = yield* store.get(name)
    yield* same("the person who was asked", [waiting?.asked, waiting?.askedOf], [1, "ada"])
    yield* same("the waiting calls", waiting?.pending, [{ callId: "c" }])
    yield* same("runs that are due later", yield* dueIds, [])
  })

const raisesRates: Law = (store, name) =>
  Effect.gen(function*() {
    for (const id of ["a", "b", "c"]) yield* added(store, name, `${name} ${id}`)
    const slow = { rate: { limit: 1, perMillis: long } }
    yield* same("runs of a rate", (yield* takenOf(store, name, { queue: slow })).length, 1)
    const fast = { rate: { limit: 100, perMillis: 60_000 } }
    yield* same("runs of a rate that was raised", (yield* takenOf(store, name, { queue: fast })).length, 2)
  })

const countsOwnedTime: Law = (store, name) =>
  Effect.gen(function*() {
    const { run } = yield* added(store, name, name, { leaseMillis: 20 })
    const renewed = Effect.gen(function*() {
      yield* store.take({ leases: [{ runId: name, epoch: run.epoch }], leaseMillis: long })
      return (yield* store.get(name))?.ran ?? 0
    })
    yield* Effect.sleep("100 millis")
    const first = yield* renewed
    yield* same("time within a lease of 20 ms at most", first <= 20, true)
    yield* Effect.sleep("40 millis")
    yield* same("time within a long lease", (yield* renewed) - first >= 20, true)
  })

const comparesStarts: Law = (store, name) =>
  Effect.gen(function*() {
    const { run } = yield* added(store, name, name, { leaseMillis: long })
    // The id was that of another run, which was purged. Its owner was frozen.
    const former = { ...run, startedAt: run.startedAt - 1 }
    const step: RunStore.Step = {
      runId: name,
      epoch: run.epoch,
      startedAt: former.startedAt,
      segment: 0,
      position: 0,
      kind: "end",
      key: "0",
      value: "completed",
      elapsed: 1,
      firstEvent: 0,
      events: []
    }
    yield* same("a step of a purged run", yield* store.append([step]), ["lost"])
    const settled = yield* store.settle(former, { status: "completed", pending: [], last: step })
    yield* same("the end of a purged run", settled, false)
    yield* same("a released purged run", yield* store.settle(former, { status: "queued" }), false)
    const { epoch, startedAt } = former
    const { leases } = yield* store.take({ leases: [{ runId: name, epoch, startedAt }] })
    yield* same("the lease of a purged run", leases, [])
    yield* same("the later run", (yield* store.get(name))?.status, "running")
    yield* same("its own step", yield* store.append([{ ...step, startedAt: run.startedAt }]), ["added"])
  })

const announcesReaders: Law = (store, name) =>
  Effect.gen(function*() {
    const { run } = yield* added(store, name, name, { leaseMillis: long })
    const isRead = Effect.map(
      store.take({ leases: [{ runId: name, epoch: run.epoch }] }),
      ({ leases }) => leases.map(({ isRead }) => isRead)
    )
    yield* same("a run without a reader", yield* isRead, [false])
    yield* store.events(name, 0, long)
    yield* same("a run with a reader", yield* isRead, [true])
  })

/** The laws, by name. */
export const takeLaws = {
  queues_limit_runs: limitsQueues,
  raised_rates_hold_at_once: raisesRates,
  takes_are_narrowed: narrows,
  versions_are_adopted: adopts,
  waiting_runs_are_due: reminds,
  readers_are_announced: announcesReaders,
  later_runs_of_an_id_are_others: comparesStarts,
  time_without_a_lease_is_not_counted: countsOwnedTime
} as const satisfies Readonly<Record<string, Law>>
