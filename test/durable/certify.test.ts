/** Certificates of the hosts and logs of the package; and the laws' findings in broken ones. */
import { assert, describe, it } from "@effect/vitest"
import { RunStore } from "@recourse/durable"
import * as Certify from "@recourse/testing/Certify"
import { Effect, Layer } from "effect"
import { runStores } from "../support/runStores.ts"

/** Disturbed operations in databases; `RECOURSE_EVERY_STEP` for all of them, as in memory. */
const fewer = process.env["RECOURSE_EVERY_STEP"] === undefined ? { runs: 12, disturbances: 8 } : {}

describe("a host of durable runs", () => {
  for (const { name, open } of runStores) {
    it(`is certified, with its log: ${name}`, async () => {
      const { close, layer } = await open()
      const both = Effect.andThen(Certify.runLog(layer), Certify.host(layer, name === "memory" ? {} : fewer))
      const { tried } = await Effect.runPromise(both).finally(close)
      assert.isAtLeast(tried["owner_may_change"]!, 10)
      assert.isAtLeast(tried["host_may_fail"]!, 10)
    }, 120_000)
  }
})

/** Stores that break one rule each, and the law that finds it. */
const broken: Readonly<
  Record<string, readonly [law: string, breaks: (store: RunStore.Store) => Partial<RunStore.Store>]>
> = {
  "adds steps of a former owner": ["steps_are_added_once", (store) => ({
    append: (steps) =>
      Effect.flatMap(
        Effect.forEach(steps, (step) =>
          Effect.map(store.get(step.runId), (run) => ({ ...step, epoch: run?.epoch ?? step.epoch }))),
        store.append
      )
  })],
  "starts writes of cancelled runs": ["cancelled_runs_start_no_write", (store) => ({
    append: (steps) => store.append(steps.map(({ startsWrite: _, ...step }) => step))
  })],
  "keeps the last signal": ["first_signal_stays", (store) => ({
    signal: (runId, name, value) => Effect.as(store.signal(runId, name, value), true)
  })],
  "lets a former owner settle": ["operations_keep_the_table", (store) => ({
    settle: (hold, leaving) =>
      Effect.flatMap(store.get(hold.runId), (run) => store.settle({ ...hold, epoch: run?.epoch ?? 0 }, leaving))
  })],
  "decides a call twice": ["operations_keep_the_table", (store) => ({
    decide: (runId, segment, decisions) =>
      Effect.as(store.decide(runId, segment, decisions), { decidedBefore: undefined })
  })],
  "forgets decisions": ["operations_keep_the_table", (store) => ({
    load: (run) => Effect.map(store.load(run), (loaded) => ({ ...loaded, decisions: [] }))
  })],
  "keeps runs of others": ["operations_keep_the_table", (store) => ({
    take: (wanted) =>
      Effect.map(store.take(wanted), (taken) => ({
        ...taken,
        leases: (wanted.leases ?? []).map(({ runId }) => ({ runId, isCancelled: false, isRead: false, hasPlace: true }))
      }))
  })],
  "forgets the names of signals": ["first_signal_stays", (store) => ({
    signal: (runId, _, value) => store.signal(runId, "s", value),
    signalled: (runId) => store.signalled(runId, "s")
  })],
  "limits no queue": ["queues_limit_runs", (store) => ({
    take: (wanted) => store.take({ ...wanted, agents: wanted.agents?.map(({ queue: _, ...one }) => one) })
  })],
  "takes runs before their delay is over": ["takes_are_narrowed", (store) => ({
    insert: (run) => store.insert({ ...run, delayMillis: undefined })
  })],
  "takes more than cancelled runs": ["takes_are_narrowed", (store) => ({
    take: (wanted) => store.take({ ...wanted, onlyCancelled: undefined })
  })],
  "keeps the version of continued runs": ["versions_are_adopted", (store) => ({
    take: (wanted) => store.take({ ...wanted, agents: wanted.agents?.map(({ adopted: _, ...one }) => one) })
  })],
  "reminds again at once": ["waiting_runs_are_due", (store) => ({
    take: (wanted) => store.take(wanted.due === undefined ? wanted : { ...wanted, leaseMillis: 0 })
  })],
  "reports no readers": ["readers_are_announced", (store) => ({
    events: (runId, from) => store.events(runId, from)
  })],
  "compares no starts of runs": ["later_runs_of_an_id_are_others", (store) => ({
    append: (steps) => store.append(steps.map(({ startedAt: _, ...step }) => step))
  })],
  "keeps the first rate of an agent": ["raised_rates_hold_at_once", (store) => {
    const first = new Map<string, RunStore.Queue | undefined>()
    const queueOf = ({ agent, queue }: RunStore.Claimable) => {
      if (!first.has(agent)) first.set(agent, queue)
      return first.get(agent)
    }
    return {
      take: (wanted) =>
        store.take({ ...wanted, agents: wanted.agents?.map((one) => ({ ...one, queue: queueOf(one) })) })
    }
  }],
  "counts time behind a lease": ["time_without_a_lease_is_not_counted", (store) => ({
    get: (runId) => Effect.map(store.get(runId), (run) => run && { ...run, ran: run.ran + 80 })
  })],
  "forgets owners": ["runs_are_read_back", (store) => ({
    insert: (run) => store.insert({ ...run, owner: undefined })
  })],
  "filters no owners": ["lists_are_filtered", (store) => ({
    list: (query) => store.list({ ...query, owner: undefined })
  })],
  "deletes runs that have just ended": ["purges_keep_recent_runs", (store) => ({ purge: () => store.purge(-1) })],
  "gives runs to other versions": ["others_leave_a_run_alone", (store) => ({
    take: (wanted) => store.take({ ...wanted, agents: wanted.agents?.map((one) => ({ ...one, versions: ["1", "2"] })) })
  })]
}

describe("a host that breaks a rule", () => {
  for (const [what, [law, breaks]] of Object.entries(broken)) {
    it(`is not certified: it ${what}`, async () => {
      const layer = Layer.effect(
        RunStore.RunStore,
        Effect.map(RunStore.RunStore, (store) => ({ ...store, ...breaks(store) }))
      ).pipe(Layer.provide(RunStore.layerMemory))
      const options = { runs: 20, disturbances: 0 }
      const error = await Effect.runPromise(Effect.flip(
        Effect.andThen(Certify.runLog(layer), Certify.host(layer, options))
      ))
      assert.deepEqual([error._tag, error.law], ["NotCertified", law], error.message)
    }, 60_000)
  }
})
