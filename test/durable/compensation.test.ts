/** A run that is cancelled while it waits is compensated by the next process, on each database. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, Audit, type Runs, Tool } from "@recourse/core"
import { Durable, RunStore } from "@recourse/durable"
import { ScriptedModel } from "@recourse/testing"
import { Effect, Layer, Logger, Schema } from "effect"
import { isChosen } from "../../packages/core/test/support/operations.ts"
import { sqlLayer } from "../support/connections.ts"
import { forLeases } from "../support/forLeases.ts"
import { sqlDatabases } from "../support/servers.ts"
import { laws, travel, untilEnded, untilWaiting, worldOf } from "../../packages/durable/test/support/travel.ts"

const supported = sqlDatabases.filter(({ isShared, name }) => isShared && !name.startsWith("M"))

describe("a durable run that is cancelled while it waits", () => {
  for (const { name, open } of supported) {
    it(`is compensated: ${name}`, async () => {
      const { address, close } = await open()
      const log: Array<string> = []
      const audit: Array<string> = []
      const Book = Tool.make("book", {
        parameters: Schema.Struct({ seat: Schema.String }),
        success: Schema.Struct({ id: Schema.String }),
        effects: "write",
        execute: ({ seat }) => Effect.sync(() => (log.push(`book ${seat}`), { id: `b-${seat}` })),
        compensate: (_arguments, { id }) => Effect.sync(() => void log.push(`cancel ${id}`))
      })
      const Pay = Tool.make("pay", { effects: "write", needsApproval: true, execute: () => Effect.void })
      const agent = Durable.make(Agent.make("travel", { tools: [Book, Pay], compensation: {} }))
      const model = ScriptedModel.layer(({ prompt }) =>
        prompt.content.some(({ role }) => role === "tool")
          ? ScriptedModel.call("pay", {}, { id: "p" })
          : ScriptedModel.call("book", { seat: "1A é\u0000" }, { id: "b" })
      )
      const store = RunStore.layerSql().pipe(Layer.provide(sqlLayer(address)))
      const around = Layer.mergeAll(
        store,
        model,
        Audit.layer(({ decision }) => Effect.sync(() => void audit.push(decision)))
      )
      const process = <A, E, R>(effect: Effect.Effect<A, E, R>) =>
        Effect.provide(effect, Durable.layer([agent], { poll: "20 millis" }).pipe(Layer.provide(Layer.fresh(around))))
      const until = (status: string) =>
        Effect.gen(function*() {
          while ((yield* agent.poll("r1")).status !== status) yield* Effect.sleep("20 millis")
        })
      try {
        await Effect.runPromise(process(Effect.andThen(agent.start("r1", "Rome"), until("waiting"))))
        const client = Durable.layerClient([agent]).pipe(Layer.provide(Layer.fresh(store)))
        assert.isTrue(await Effect.runPromise(Effect.provide(agent.cancel("r1"), client)))
        const waiting = await Effect.runPromise(Effect.provide(agent.poll("r1"), client))
        assert.deepEqual([waiting.status, waiting.cancelling, waiting.agent, waiting.version], [
          "queued",
          true,
          "travel",
          "1"
        ])
        await Effect.runPromise(process(until("cancelled")))
        assert.deepEqual(log, ["book 1A é\u0000", "cancel b-1A é\u0000"])
        assert.deepEqual(audit.filter((one) => one.includes("compensated")), ["compensated"])
      } finally {
        await close()
      }
    })
  }
})

/** A store that a process loses at one of its operations, for good: before the operation takes effect, or behind it. */
const lostAt = (store: RunStore.Store, at: number, behind: boolean) => {
  const count = { operations: 0 }
  const gone = (operation: string) => Effect.fail(new RunStore.RunStoreError({ operation, reason: "gone" }))
  const one = <A>(operation: string, effect: Effect.Effect<A, RunStore.RunStoreError>) =>
    Effect.suspend(() => {
      count.operations++
      if (count.operations < at) return effect
      return count.operations === at && behind ? Effect.andThen(effect, gone(operation)) : gone(operation)
    })
  const lost: RunStore.Store = {
    ...store,
    take: (wanted) =>
      Effect.suspend(() =>
        count.operations >= at
          ? gone("take")
          : Effect.flatMap(store.take(wanted), (found) =>
            // A claim without runs is no position of its own.
            found.taken.length === 0 ? Effect.succeed(found) : one("take", Effect.succeed(found)))
      ),
    load: (run) => one("load", store.load(run)),
    append: (steps) => one("append", store.append(steps)),
    settle: (hold, leaving) =>
      leaving.status === "queued" && count.operations >= at
        ? gone("settle")
        : one("settle", store.settle(hold, leaving))
  }
  return { count, lost }
}

describe("a durable run with a compensation", () => {
  for (const { name, open } of supported) {
    it(`is compensated once, for any permanent loss of its store: ${name}`, async () => {
      const { address, close } = await open()
      // Each play has an agent of its own version, which no other play takes.
      const play = (name: string, at: number, behind: boolean, lease: number) =>
        Effect.gen(function*() {
          const all = worldOf("pay")
          const store = yield* RunStore.RunStore
          const agent = travel(all.world, {}, { version: name })
          const process = <A, E>(seen: RunStore.Store, effect: Effect.Effect<A, E, Runs.Runs>) => {
            const options = { lease, poll: "10 millis", grace: 1 } as const
            return Effect.provide(
              effect,
              Durable.layer([agent], options).pipe(
                Layer.provide(Layer.succeed(RunStore.RunStore, seen)),
                Layer.provide(all.around)
              )
            )
          }
          yield* process(store, untilWaiting(agent, name))
          yield* Effect.provide(
            agent.cancel(name),
            Durable.layerClient([agent]).pipe(Layer.provide(Layer.succeed(RunStore.RunStore, store)))
          )
          const { count, lost } = lostAt(store, at, behind)
          const gone = Effect.gen(function*() {
            while (count.operations < at && (yield* store.get(name))?.status !== "cancelled") yield* Effect.sleep(5)
            yield* Effect.sleep(20)
          })
          yield* process(lost, gone)
          const info = yield* process(store, untilEnded(agent, name))
          const about = `${behind ? "behind" : "before"} operation ${at}`
          assert.strictEqual(info.status, "cancelled", about)
          laws(all.world, about)
          return count.operations
        })
      try {
        const times = await Effect.runPromise(
          Effect.gen(function*() {
            const whole = yield* play("whole", Infinity, false, 10_000)
            // Before or behind each operation, in turn.
            const places = Array.from({ length: whole }, (_, n) => n + 1).flatMap((at) =>
              [false, true].flatMap((behind) => isChosen(at, Number(behind)) ? [[at, behind] as const] : [])
            )
            yield* Effect.forEach(
              places,
              ([at, behind]) => forLeases((lease) => play(`k${at}_${behind ? 1 : 0}_${lease}`, at, behind, lease)),
              { concurrency: 6 }
            )
            return whole
          }).pipe(
            Effect.provide(RunStore.layerSql().pipe(Layer.provide(sqlLayer(address)))),
            Effect.provide(Logger.layer([]))
          )
        )
        assert.isAbove(times, 5)
      } finally {
        await close()
      }
    }, 60_000)
  }
})
