/** Wake-ups: processes that poll once in a minute learn at once of another one's actions. */
import { PgClient } from "@effect/sql-pg"
import { assert, describe, it } from "@effect/vitest"
import { Approval, Runs } from "@recourse/core"
import { Durable, RunStore, Signal } from "@recourse/durable"
import { Context, Effect, Fiber, Layer, Redacted, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { type SqlAddress, sqlLayer } from "../support/connections.ts"
import { sqlDatabases } from "../support/servers.ts"
import { model, Payer, Receiver, Sleeper } from "./twoAgents.ts"

const servers = sqlDatabases.filter(({ isShared, name }) => isShared && name.startsWith("PostgreSQL"))
const files = sqlDatabases.filter(({ name }) => name.startsWith("SQLite"))
/** A machine that has other work is slow at times: the best of so many counts. */
const times = [1, 2, 3, 4, 5]
const poll = "1 minute"

const agents = [Payer, Sleeper, Receiver] as const

const storeOf = (address: SqlAddress) => Layer.fresh(RunStore.layerSql().pipe(Layer.provide(sqlLayer(address))))
const runner = Durable.layer(agents, { poll, grace: 1 }).pipe(Layer.provide(model))
const client = Durable.layerClient(agents, { poll })
const runsOf = <E>(layer: Layer.Layer<Runs.Runs, E>) =>
  Effect.map(Layer.build(layer), (context) => Context.get(context, Runs.Runs))
/** A process that executes no runs, and sends signals. */
const senderOf = <E>(store: Layer.Layer<RunStore.RunStore, E>) =>
  Effect.map(Layer.build(client.pipe(Layer.provideMerge(store))), (context) => ({
    runs: Context.get(context, Runs.Runs),
    store: Context.get(context, RunStore.RunStore)
  }))

/** The shortest time that something takes. */
const shortest = (what: (time: number) => Effect.Effect<number, unknown>) =>
  Effect.map(Effect.forEach(times, what), (spans) => Math.min(...spans))

/** Starts, decides and cancels through one process a run that the other one executes, and returns milliseconds. */
const spans = Effect.fnUntraced(function*({ runs, store }: Effect.Success<ReturnType<typeof senderOf>>) {
  const within = Effect.provideService(Runs.Runs, runs)
  const since = (from: number) => Effect.sync(() => performance.now() - from)
  const waits = (runId: string) =>
    Effect.repeat(Effect.delay(runs.get(runId), "5 millis"), { until: ({ status }) => status === "waiting" })
  const queued = yield* shortest((time) =>
    Effect.gen(function*() {
      const from = performance.now()
      yield* within(Payer.start(`payer ${time}`, "go"))
      yield* waits(`payer ${time}`)
      return yield* since(from)
    })
  )
  const decided = yield* shortest((time) =>
    Effect.gen(function*() {
      const { pending } = yield* runs.get(`payer ${time}`)
      const from = performance.now()
      yield* within(Payer.decide(`payer ${time}`, pending.map((call) => Approval.approve(call))))
      yield* within(Payer.await(`payer ${time}`))
      return yield* since(from)
    })
  )
  const cancelled = yield* shortest((time) =>
    Effect.gen(function*() {
      yield* within(Sleeper.start(`sleeper ${time}`, "go"))
      const isAtWork = Effect.map(runs.get(`sleeper ${time}`), ({ status }) => status === "running")
      yield* Effect.repeat(Effect.delay(isAtWork, "20 millis"), { until: (is) => is })
      yield* Effect.sleep("40 millis")
      const from = performance.now()
      assert.isTrue(yield* runs.cancel(`sleeper ${time}`))
      assert.strictEqual((yield* runs.wait(`sleeper ${time}`)).status, "cancelled")
      return yield* since(from)
    })
  )
  const isAtWork = (runId: string) =>
    Effect.repeat(Effect.delay(runs.get(runId), "20 millis"), { until: ({ status }) => status === "running" })
  const signalled = yield* shortest((time) =>
    Effect.gen(function*() {
      const runId = `receiver ${time}`
      yield* within(Receiver.start(runId, "go"))
      yield* isAtWork(runId)
      yield* Effect.sleep("40 millis")
      const from = performance.now()
      assert.isTrue(yield* Effect.provideService(Signal.send(runId, "parcel", "here"), RunStore.RunStore, store))
      assert.strictEqual((yield* runs.wait(runId)).status, "completed")
      return yield* since(from)
    })
  )
  const followed = yield* shortest((time) =>
    Effect.gen(function*() {
      const runId = `followed ${time}`
      yield* within(Receiver.start(runId, "go"))
      yield* isAtWork(runId)
      let receivedAt = 0
      const reading = yield* Effect.forkChild(Stream.runForEach(runs.events(runId), ({ event }) =>
        Effect.sync(() => {
          if (event._tag === "ToolResult") receivedAt = performance.now()
        })))
      yield* Effect.sleep("40 millis")
      const from = performance.now()
      yield* Effect.provideService(Signal.send(runId, "parcel", "here"), RunStore.RunStore, store)
      yield* Fiber.join(reading)
      return receivedAt - from
    })
  )
  return { queued, decided, cancelled, signalled, followed }
})

/** On a machine without other work it takes 7 to 40 ms. With ten other programs on two cores it takes more, and far less than a poll. */
const check = (measured: Effect.Success<ReturnType<typeof spans>>) => {
  for (const [what, span] of Object.entries(measured)) assert.isAtMost(span, 500, `${what}: ${span} ms`)
}

describe("a process that polls once in a minute", () => {
  for (const { name, open } of servers) {
    const at = <A>(use: (address: SqlAddress) => Effect.Effect<A, unknown, never>) => async () => {
      const { address, close } = await open()
      try {
        return await Effect.runPromise(use(address))
      } finally {
        await close()
      }
    }
    it(
      `hears of another process long before its poll: ${name}`,
      at((address) =>
        Effect.scoped(Effect.gen(function*() {
          yield* runsOf(runner.pipe(Layer.provide(storeOf(address))))
          const sender = yield* senderOf(storeOf(address))
          yield* Effect.sleep("40 millis")
          check(yield* spans(sender))
        }))
      ),
      30_000
    )

    it(
      `hears again after its connection was lost: ${name}`,
      at((address) =>
        Effect.scoped(Effect.gen(function*() {
          yield* runsOf(runner.pipe(Layer.provide(storeOf(address))))
          const sender = yield* senderOf(storeOf(address))
          const sql = Context.get(yield* Layer.build(sqlLayer(address)), SqlClient.SqlClient)
          const ended = sql<{ readonly ended: boolean }>`SELECT pg_terminate_backend(pid) AS ended FROM pg_stat_activity
          WHERE query LIKE 'LISTEN%' || md5(current_schema() || '.recourse_runs') || '%'`
          yield* Effect.repeat(Effect.delay(ended, "30 millis"), { until: (rows) => rows.length > 0 })
          yield* Effect.sleep("1 second")
          check(yield* spans(sender))
        }))
      ),
      30_000
    )

    it(
      `works over a client with one connection, and allowIdenticalCalls: ${name}`,
      at((address) =>
        Effect.scoped(Effect.gen(function*() {
          assert.strictEqual(address.kind, "postgres")
          const { schema, url } = address as Extract<SqlAddress, { readonly kind: "postgres" }>
          const one = Layer.effect(
            SqlClient.SqlClient,
            PgClient.makeClient({ url: Redacted.make(url), startupOptions: `-c search_path=${schema}` })
          ).pipe(Layer.provide(Reactivity.layer))
          const store = RunStore.layerSql().pipe(Layer.provide(one))
          const runs = yield* runsOf(
            Durable.layer(agents, { poll: "50 millis" }).pipe(Layer.provide(model), Layer.provide(store))
          )
          yield* Effect.provideService(Payer.start("one", "go"), Runs.Runs, runs)
          const waiting = yield* Effect.repeat(Effect.delay(runs.get("one"), "20 millis"), {
            until: ({ status }) => status === "waiting"
          }).pipe(Effect.timeout("10 seconds"))
          assert.strictEqual(waiting.pending.length, 1)
        }))
      ),
      30_000
    )
  }

  for (const { name, open } of files) {
    it(`learns of its own process's actions through another layer: ${name}`, async () => {
      const { address, close } = await open()
      await Effect.runPromise(Effect.scoped(Effect.gen(function*() {
        const store = Layer.succeedContext(yield* Layer.build(storeOf(address)))
        yield* runsOf(runner.pipe(Layer.provide(store)))
        check(yield* spans(yield* senderOf(store)))
      }))).finally(close)
    }, 30_000)
  }
})
