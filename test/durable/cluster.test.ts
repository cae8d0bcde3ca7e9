/** Durable runs over effect's cluster: in one process, and in several over HTTP with their messages in PostgreSQL. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Approval, Runs } from "@recourse/core"
import { Durable, RunStore, Signal } from "@recourse/durable"
import * as Cluster from "@recourse/durable/Cluster"
import * as Certify from "@recourse/testing/Certify"
import { Clock, Context, Cron, Effect, Exit, Fiber, Latch, Layer, Scope } from "effect"
import { MessageStorage, RunnerHealth, Runners, RunnerStorage, Sharding, ShardingConfig } from "effect/cluster"
import { isEachTried } from "../../packages/core/test/support/operations.ts"
import { type SqlAddress, sqlLayer } from "../support/connections.ts"
import { clusterDatabases } from "../support/servers.ts"
import { clusterPlace } from "./clusterPlace.ts"
import { Limited, model, Payer, Receiver, Sleeper } from "./twoAgents.ts"

const poll = "200 millis"

/** Effect's `TestRunner`, which looks for delayed messages every ten seconds, with another interval. */
const oneProcess = Sharding.layer.pipe(
  Layer.provide([Runners.layerNoop, RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
  Layer.provideMerge(MessageStorage.layerMemory),
  Layer.provide(ShardingConfig.layer({ entityMessagePollInterval: "100 millis" }))
)

const echoRun = {
  agent: "echo",
  version: "1",
  owner: undefined,
  parent: undefined,
  trace: undefined,
  input: "hello"
}

describe("a cluster of one process", () => {
  for (const [sweep, runs, disturbances] of [[0, 25, 25], ["200 millis", 0, 10]] as const) {
    it(`is certified with a sweep of ${sweep}`, async () => {
      const layer = Cluster.layer({ sweep }).pipe(Layer.provide([RunStore.layerMemory, oneProcess]))
      const { tried } = await Effect.runPromise(Certify.host(layer, { runs, ...(isEachTried ? {} : { disturbances }) }))
      assert.isAtLeast(tried["owner_may_change"]!, 10)
    }, 120_000)
  }

  it("takes a run that a message names again while it takes others", async () => {
    await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      const rows = Context.get(yield* Layer.build(Layer.fresh(RunStore.layerMemory)), RunStore.RunStore)
      const named: Array<ReadonlyArray<string> | undefined> = []
      const arrived = yield* Latch.make()
      /** Another process has the run at the first request that names it, and the answer is late. */
      const take: RunStore.Store["take"] = (wanted) =>
        Effect.suspend(() => {
          named.push(wanted.only)
          return wanted.only === undefined || named.length > 2
            ? rows.take(wanted)
            : Effect.as(arrived.await, { taken: [], due: [], leases: [] })
        })
      const late: RunStore.Store = { ...rows, take }
      const layer = Cluster.layer({ sweep: "1 hour" }).pipe(
        Layer.provide([Layer.succeed(RunStore.RunStore, late), oneProcess])
      )
      const store = Context.get(yield* Layer.build(layer), RunStore.RunStore)
      let messages = 0
      yield* store.listen(() => void messages++)
      const messageCame = (count: number) => Effect.repeat(Effect.sleep("5 millis"), { until: () => messages >= count })
      const wanted: RunStore.Take = { agents: [{ agent: "echo", versions: ["1"] }], limit: 5, leaseMillis: 30_000 }
      yield* store.take(wanted)
      const { run } = yield* store.insert({ ...echoRun, runId: "r1", leaseMillis: 30_000 })
      yield* store.settle(run, { status: "queued" })
      yield* messageCame(1)
      const taking = yield* Effect.forkChild(store.take(wanted), { startImmediately: true })
      const [again] = (yield* rows.take({ ...wanted, only: ["r1"] })).taken
      yield* store.settle(again!, { status: "queued" })
      yield* messageCame(2)
      yield* arrived.open
      yield* Fiber.join(taking)
      const { taken } = yield* store.take(wanted)
      assert.deepStrictEqual(taken.map(({ runId }) => runId), ["r1"])
      assert.deepStrictEqual(named, [undefined, ["r1"], ["r1"]])
    })))
  })

  it("sweeps although its wall clock is set back", async () => {
    await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      const clock = yield* Clock.Clock
      let shift = 0
      const set: Clock.Clock = {
        currentTimeMillisUnsafe: () => clock.currentTimeMillisUnsafe() + shift,
        currentTimeMillis: Effect.map(clock.currentTimeMillis, (millis) => millis + shift),
        currentTimeNanosUnsafe: () => clock.currentTimeNanosUnsafe(),
        currentTimeNanos: clock.currentTimeNanos,
        monotonicTimeNanosUnsafe: () => clock.monotonicTimeNanosUnsafe(),
        monotonicTimeNanos: clock.monotonicTimeNanos,
        sleep: (duration) => clock.sleep(duration)
      }
      const rows = Context.get(yield* Layer.build(Layer.fresh(RunStore.layerMemory)), RunStore.RunStore)
      const layer = Cluster.layer({ sweep: "20 millis" }).pipe(
        Layer.provide([Layer.succeed(RunStore.RunStore, rows), oneProcess])
      )
      const built = yield* Effect.provideService(Layer.build(layer), Clock.Clock, set)
      const store = Context.get(built, RunStore.RunStore)
      const wanted: RunStore.Take = { agents: [{ agent: "echo", versions: ["1"] }], limit: 5, leaseMillis: 30_000 }
      yield* store.take(wanted)
      shift = -3_600_000
      // No message names it.
      yield* rows.insert({ ...echoRun, runId: "r1" })
      yield* Effect.sleep("30 millis")
      assert.deepStrictEqual((yield* store.take(wanted)).taken.map(({ runId }) => runId), ["r1"])
    })))
  })

  it("continues a run at once that a process gives back as it ends", async () => {
    await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      const rows = yield* Layer.build(Layer.fresh(RunStore.layerMemory))
      let executions = 0
      const Twice = Durable.make(Agent.fromFunction(
        "twice",
        (_: string) => Effect.suspend(() => executions++ === 0 ? Effect.never : Effect.succeed("done"))
      ))
      /** A process whose messages reach no other one. */
      const runner = () =>
        Durable.layer([Twice], { poll: "1 hour", grace: "10 millis" }).pipe(
          Layer.provide(Layer.fresh(Cluster.layer({ sweep: "1 hour" }))),
          Layer.provide([Layer.succeedContext(rows), Layer.fresh(oneProcess)])
        )
      const first = yield* Scope.make()
      const runs = Context.get(yield* Layer.buildWithScope(runner(), first), Runs.Runs)
      yield* runs.start({ agent: "twice", input: "go", runId: "r1" })
      yield* Effect.repeat(Effect.sleep("5 millis"), { until: () => executions === 1 })
      const second = Context.get(yield* Layer.build(runner()), Runs.Runs)
      yield* Scope.close(first, Exit.void)
      const run = yield* Effect.timeout(second.wait("r1"), "10 seconds")
      assert.deepStrictEqual([run.status, executions], ["completed", 2])
    })))
  })

  it("starts runs later, and each time of a cron", async () => {
    const Echo = Durable.make(Agent.fromFunction("echo", (text: string) => Effect.succeed(text)))
    const cluster = Layer.provideMerge(
      Cluster.layer({ sweep: "1 minute" }).pipe(Layer.provide(RunStore.layerMemory)),
      oneProcess
    )
    const cron = Cluster.layerCron(Echo, {
      name: "tick",
      cron: Cron.parseUnsafe("* * * * * *", "UTC"),
      input: (at) => at.toISOString()
    })
    const runners = Durable.layer([Echo]).pipe(Layer.provideMerge(cluster))
    await Effect.runPromise(
      Effect.gen(function*() {
        const runs = yield* Runs.Runs
        yield* Echo.start("later", "hello", { delay: "100 millis" })
        assert.strictEqual((yield* runs.get("later")).status, "queued")
        assert.strictEqual(yield* Effect.timeout(Echo.await("later"), "20 seconds"), "hello")
        const ticks = Effect.map(runs.list({ idPrefix: "tick " }), (found) => found.length)
        yield* Effect.repeat(Effect.delay(ticks, "40 millis"), { until: (found) => found > 0 })
      }).pipe(Effect.provide(cron.pipe(Layer.provideMerge(runners))), Effect.scoped)
    )
  }, 60_000)
})

const agentsOfAll = [Payer, Sleeper, Receiver, Limited] as const

/** A process: with agents it executes runs, and without it starts, decides and cancels. */
const processOf = Effect.fnUntraced(function*(
  address: SqlAddress,
  agents: ReadonlyArray<Durable.Any> | undefined
) {
  const sharding = clusterPlace(address, agents === undefined ? "client" : "runner")
  // Rows without NOTIFY: notifications arrive by messages.
  const rows = Layer.effect(
    RunStore.RunStore,
    Effect.map(RunStore.RunStore, (store) => ({ ...store, listen: () => Effect.void }))
  ).pipe(Layer.provide(RunStore.layerSql()), Layer.provide(sqlLayer(address)))
  const store = (agents === undefined ? Cluster.layerClient : Cluster.layer({ sweep: "1 minute" })).pipe(
    Layer.provide([rows, sharding])
  )
  const layer = agents === undefined
    ? Durable.layerClient(agentsOfAll, { poll })
    : Durable.layer(agents as ReadonlyArray<typeof Payer>, { poll: "1 minute" }).pipe(Layer.provide(model))
  return yield* Layer.build(layer.pipe(Layer.provideMerge(store)))
})

describe("a cluster of several processes", () => {
  for (const { name, open } of clusterDatabases) {
    it(`hears of starts, decisions, cancellations and signals by messages: ${name}`, async () => {
      const { address, close } = await open()
      await Effect.runPromise(Effect.scoped(
        Effect.gen(function*() {
          yield* processOf(address, agentsOfAll)
          yield* processOf(address, agentsOfAll)
          const client = yield* processOf(address, undefined)
          const runs = Context.get(client, Runs.Runs)
          const within = Effect.provideService(Runs.Runs, runs)
          const until = (runId: string, status: Runs.Status) =>
            Effect.repeat(Effect.delay(runs.get(runId), "10 millis"), { until: (run) => run.status === status })
          const ids = [1, 2, 3, 4, 5, 6].map((n) => `payer ${n}`)
          for (const id of ids) yield* within(Payer.start(id, "go"))
          for (const id of ids) {
            const { pending } = yield* until(id, "waiting")
            yield* within(Payer.decide(id, pending.map((call) => Approval.approve(call))))
          }
          for (const id of ids) assert.strictEqual(yield* within(Payer.await(id)), "done")
          yield* within(Sleeper.start("sleeper", "go"))
          yield* until("sleeper", "running")
          const from = performance.now()
          assert.isTrue(yield* runs.cancel("sleeper"))
          yield* until("sleeper", "cancelled")
          assert.isBelow(performance.now() - from, 1000)
          yield* within(Receiver.start("receiver", "go"))
          yield* until("receiver", "running")
          yield* Effect.sleep("40 millis")
          const sentAt = performance.now()
          assert.isTrue(yield* Effect.provide(Signal.send("receiver", "parcel", "here"), client))
          yield* until("receiver", "completed")
          assert.isBelow(performance.now() - sentAt, 1000)
          // One after another, over both processes: no place waits for a sweep.
          const limited = [1, 2, 3, 4, 5, 6].map((n) => `limited ${n}`)
          for (const id of limited) yield* within(Limited.start(id, "go"))
          for (const id of limited) assert.strictEqual(yield* within(Limited.await(id)), "done")
        }).pipe(Effect.timeout("40 seconds"))
      )).finally(close)
    }, 60_000)
  }
})
