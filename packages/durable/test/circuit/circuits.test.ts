/** Circuits over the executions of runs: stored by the rules of effect's own store, and open for the next execution. */
import { assert, describe, it } from "@effect/vitest"
import { Clock, Context, Duration, Effect, Exit, Fiber, Layer, Logger, Schema, Scope } from "effect"
import { CircuitBreaker } from "effect/persistence"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import { Agent, Recovery, Runs, StoreTimeout, Tool } from "@recourse/core"
import { CircuitStore, Durable, RunStore } from "@recourse/durable"
import { NodeSqliteClient } from "@recourse/sql"
import { ScriptedModel, VirtualTime } from "@recourse/testing"
import { fileURLToPath } from "node:url"
import { seeded } from "../../../core/test/support/seeded.ts"
import type * as circuitsModule from "../../src/internal/circuit/circuits.ts"

const { circuitsOf } = await import(
  fileURLToPath(new URL("../../src/internal/circuit/circuits.ts", import.meta.url))
) as typeof circuitsModule

type Store = typeof CircuitBreaker.CircuitBreakerStore.Service

/** A place whose clock is the program's, and in which others come in between a look and a change. */
const placeOf = () => {
  const texts = new Map<string, { readonly text: string; readonly forgetAt: number }>()
  let changes = 0
  const entries: Parameters<typeof circuitsOf<never>>[0] = {
    read: (key) =>
      Effect.andThen(
        Effect.yieldNow,
        Effect.map(Clock.currentTimeMillis, (now) => ({
          now,
          text: texts.get(key)?.text,
          forgetAt: texts.get(key)?.forgetAt ?? 0
        }))
      ),
    swap: (key, before, text, forgetAt) =>
      Effect.andThen(
        Effect.yieldNow,
        Effect.sync(() => {
          if (texts.get(key)?.text !== before) return false
          texts.set(key, { text, forgetAt })
          changes++
          return true
        })
      )
  }
  const store = circuitsOf(entries, { probeLease: Duration.seconds(10), idleTimeToLive: Duration.minutes(20) })
  return { store, changes: () => changes, texts }
}

const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null))

describe("a store of circuits", () => {
  it.effect("behaves like effect's own, for any order of admissions and ends", () =>
    Effect.gen(function*() {
      let refused = 0
      let moved = 0
      for (let seed = 1; seed <= 50; seed++) {
        const next = seeded(seed)
        const own: Store = yield* Effect.map(
          Layer.build(Layer.fresh(CircuitBreaker.layerStoreMemory({ idleTimeToLive: "20 minutes" }))),
          (context): Store => Context.get(context, CircuitBreaker.CircuitBreakerStore)
        )
        const stores = [own, placeOf().store]
        const tripPolicy = seed % 2 === 0
          ? CircuitBreaker.consecutive(1 + next() % 3)
          : CircuitBreaker.rate({ size: 4, minimumCalls: 2, threshold: 0.5 })
        type Permit = {
          readonly key: string
          readonly of: ReadonlyArray<CircuitBreaker.Admission>
          readonly scope: Scope.Closeable
        }
        const permits: Array<Permit> = []
        for (let step = 0; step < 40; step++) {
          const key = `k${next() % 2}`
          const about = `seed ${seed}, step ${step}`
          const what = next() % 8
          if (what < 3) {
            const scope = yield* Scope.make()
            const exits = yield* Effect.forEach(stores, (store) => Effect.exit(Scope.provide(store.admit(key), scope)))
            const seen = exits.map((exit) =>
              Exit.match(exit, {
                onFailure: (cause) =>
                  plain(cause.reasons.map((reason) => "error" in reason ? reason.error.reason : "?")),
                onSuccess: ({ generation: _, ...admission }) => plain(admission)
              })
            )
            assert.deepEqual(seen[1], seen[0], about)
            const of = exits.flatMap((exit) => Exit.isSuccess(exit) ? [exit.value] : [])
            if (of.length === 2) permits.push({ key, of, scope })
            else refused++
          } else if (what < 6) {
            const permit = permits.splice(next() % Math.max(1, permits.length), 1)[0]
            if (permit === undefined) continue
            const outcome = (["Success", "Failure", "Failure", "Ignored"] as const)[next() % 4]!
            const openFor = Duration.seconds(20 + next() % 60)
            const transitions = yield* Effect.forEach(stores, (store, index) =>
              store.record({
                key: permit.key,
                generation: permit.of[index]!.generation,
                outcome,
                tripPolicy,
                openFor
              }))
            if (transitions[0] !== undefined) moved++
            assert.deepEqual(plain(transitions[1]), plain(transitions[0]), about)
            yield* Scope.close(permit.scope, Exit.void)
          } else {
            // Past the lease of a call that tries, which is renewed while it runs.
            for (let left = [1, 7, 30, 90][next() % 4]!; left > 0; left -= 2) yield* TestClock.adjust("2 seconds")
          }
          const states = yield* Effect.forEach(stores, (store) => store.state(key))
          assert.deepEqual(plain(states[1]), plain(states[0]), about)
        }
        for (const { scope } of permits) yield* Scope.close(scope, Exit.void)
      }
      assert.isAbove(refused, 90)
      assert.isAbove(moved, 80)
    }))

  it.live("counts each simultaneous outcome, and admits one probe", () =>
    Effect.gen(function*() {
      const place = placeOf()
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(20),
        openDuration: "1 minute"
      }).pipe(Effect.provideService(CircuitBreaker.CircuitBreakerStore, place.store))
      const call = (outcome: Effect.Effect<string, string>) =>
        Effect.exit(breaker.execute(Effect.delay(outcome, "1 second"), { key: "bank" }))
      const many = (count: number, outcome: Effect.Effect<string, string>) =>
        Effect.all(Array.from({ length: count }, () => call(outcome)), { concurrency: "unbounded" })
      const { exit } = yield* VirtualTime.run(
        Effect.gen(function*() {
          yield* many(19, Effect.fail("down"))
          const before = (yield* breaker.state("bank"))._tag
          yield* call(Effect.fail("down"))
          const after = (yield* breaker.state("bank"))._tag
          yield* Effect.sleep("61 seconds")
          const probes = (yield* many(10, Effect.succeed("up"))).filter(Exit.isSuccess).length
          const closed = (yield* breaker.state("bank"))._tag
          const changes = place.changes()
          yield* many(10, Effect.succeed("up"))
          // A healthy service costs no write.
          return [before, after, probes, closed, place.changes() - changes]
        }),
        { steps: 200_000 }
      )
      assert.deepEqual(exit, Exit.succeed(["Closed", "Open", 1, "Closed", 0]))
    }))

  it.live("passes a killed process's probe to the next call", () =>
    Effect.gen(function*() {
      const place = placeOf()
      const process = (seconds: number) =>
        Effect.flatMap(
          CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "1 minute" }),
          (breaker) => {
            const call = breaker.execute(Effect.sleep(Duration.seconds(seconds)), { key: "bank" })
            return Effect.map(
              Effect.exit(call),
              (exit) => Exit.isSuccess(exit) ? "called" : JSON.stringify(exit.cause.reasons)
            )
          }
        ).pipe(Effect.scoped, Effect.provideService(CircuitBreaker.CircuitBreakerStore, place.store))
      const fails = Effect.flatMap(
        CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "1 minute" }),
        (breaker) => Effect.ignore(breaker.execute(Effect.fail("down"), { key: "bank" }))
      ).pipe(Effect.scoped, Effect.provideService(CircuitBreaker.CircuitBreakerStore, place.store))
      yield* VirtualTime.run(fails)
      const open = yield* VirtualTime.run(process(1), { startAt: 30_000 })
      assert.include(String(Exit.isSuccess(open.exit) && open.exit.value), "CircuitOpen")
      const killed = yield* VirtualTime.run(process(100), { startAt: 61_000, killAt: 150 })
      assert.strictEqual(killed.stopped, "killed")
      assert.isAbove(killed.elapsed, 12_000)
      const at = 61_000 + killed.elapsed
      const held = yield* VirtualTime.run(process(1), { startAt: at + 1000 })
      assert.include(String(Exit.isSuccess(held.exit) && held.exit.value), "CircuitHalfOpen")
      // The lease of ten seconds is over, and no minute is waited for again.
      const free = yield* VirtualTime.run(process(1), { startAt: at + 11_000 })
      assert.deepEqual(free.exit, Exit.succeed("called"))
    }))

  it.live("admits calls if it is unreadable, unless configured otherwise", () =>
    Effect.gen(function*() {
      const broken = circuitsOf(
        { read: () => Effect.fail("away"), swap: () => Effect.fail("away") },
        { probeLease: Duration.seconds(10), idleTimeToLive: Duration.hours(1) }
      )
      const call = (onStoreError: "allow" | "fail") =>
        Effect.flatMap(
          CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: "1 minute", onStoreError }),
          (breaker) => Effect.exit(breaker.execute(Effect.succeed("up"), { key: "bank" }))
        ).pipe(
          Effect.scoped,
          Effect.provideService(CircuitBreaker.CircuitBreakerStore, broken),
          Effect.provide(Logger.layer([]))
        )
      assert.deepEqual(yield* call("allow"), Exit.succeed("up"))
      const refused = yield* Effect.flip(yield* call("fail"))
      assert.strictEqual(refused.reason._tag, "CircuitBreakerStoreError")
    }))
})

/** Runs that ask a service that is down, which each of them would ask until the circuit opens. */
const clinic = (isKept: boolean) => {
  const place = placeOf()
  const begun: Array<number> = []
  const opened: Array<{ readonly at: number; readonly until: number }> = []
  const offered: Array<ReadonlyArray<string>> = []
  const prompts: Array<string> = []
  const upAt = 5 * 60_000
  const Look = Tool.make("look", {
    parameters: Schema.Struct({ turn: Schema.Int }),
    success: Schema.String,
    effects: "read",
    execute: () =>
      Effect.gen(function*() {
        begun.push(yield* Clock.currentTimeMillis)
        yield* Effect.sleep("2 seconds")
        const now = yield* Clock.currentTimeMillis
        return now < upAt ? yield* Effect.fail("down" as const) : "free"
      })
  }).pipe(Tool.onError(Recovery.circuitBreaker({ hide: true })))
  const Wait = Tool.make("wait", {
    parameters: Schema.Struct({ turn: Schema.Int }),
    success: Schema.Int,
    effects: "read",
    execute: ({ turn }) => Effect.as(Effect.sleep("20 seconds"), turn)
  })
  const agent = Durable.make(
    Agent.make("clinic", {
      tools: [Look, Wait],
      defaults: { onError: Recovery.keepGoing },
      budget: { turns: 100, allFailureRounds: 100 }
    })
  )
  const model = ScriptedModel.layer(({ prompt, tools }) => {
    offered.push(tools)
    prompts.push(JSON.stringify(prompt.content))
    const turn = prompt.content.filter(({ role }) => role === "assistant").length
    if (prompts.at(-1)!.includes("free")) return ScriptedModel.text("free")
    return tools.includes("look")
      ? ScriptedModel.call("look", { turn }, { id: `c${turn}` })
      : ScriptedModel.call("wait", { turn }, { id: `c${turn}` })
  })
  const runs = Layer.succeedContext(Effect.runSync(Effect.scoped(Layer.build(Layer.fresh(RunStore.layerMemory)))))
  const watched = ({ store }: ReturnType<typeof placeOf>): Store => ({
    ...store,
    record: (options) =>
      Effect.tap(
        store.record(options),
        (transition) =>
          transition?.to !== "Open" ? Effect.void : Effect.map(Clock.currentTimeMillis, (at) => {
            opened.push({ at, until: at + Duration.toMillis(transition.retryAfter) })
          })
      )
  })
  const stores = Layer.sync(CircuitBreaker.CircuitBreakerStore, () => watched(isKept ? place : placeOf()))
  const process = (life: number) => {
    const breaker = CircuitBreaker.layer({ tripPolicy: CircuitBreaker.consecutive(2), openDuration: "1 minute" }).pipe(
      Layer.provide(Layer.fresh(stores))
    )
    return Effect.forEach(["r1", "r2", `of life ${life}`], (id) => agent.run(id, "go"), { concurrency: "unbounded" })
      .pipe(
        Effect.provide(Durable.layer([agent]).pipe(Layer.provide([runs, model, breaker]))),
        Effect.provide(Logger.layer([]))
      )
  }
  const told = Effect.orDie(Effect.provide(
    Effect.flatMap(Runs.Runs, (all) => all.list()),
    Durable.layerClient([agent]).pipe(Layer.provide(runs))
  ))
  return { begun, offered, opened, process, prompts, told }
}

/** Executions one after another, each killed in its middle, until one ends. */
const lives = (isKept: boolean, seed: number) =>
  Effect.gen(function*() {
    const world = clinic(isKept)
    const next = seeded(seed)
    let at = 0
    let killed = 0
    for (let life = 0;; life++) {
      const ended = yield* VirtualTime.run(world.process(life), {
        startAt: at,
        identity: life,
        steps: 2_000_000,
        ...(life < 3 ? { killAt: 1500 + next() % 4000 } : undefined)
      })
      at += ended.elapsed + 1000 * (next() % 30)
      if (ended.stopped === "killed") killed++
      else return { ...world, killed, exit: ended.exit }
    }
  })

const whileOpen = (
  { begun, opened }: {
    readonly begun: ReadonlyArray<number>
    readonly opened: ReadonlyArray<{ readonly at: number; readonly until: number }>
  }
) => begun.filter((at) => opened.some((one) => at > one.at && at < one.until)).length

describe("a circuit that is open when its process is killed", () => {
  it.live(
    "is open in the next one, which hides the tool",
    () =>
      Effect.gen(function*() {
        let killed = 0
        for (let seed = 1; seed <= 5; seed++) {
          const world = yield* lives(true, seed)
          killed += world.killed
          assert.deepEqual(world.exit, Exit.succeed(["free", "free", "free"]), `seed ${seed}`)
          assert.strictEqual(whileOpen(world), 0, `seed ${seed}`)
          // Two failures open it, and each minute one call tries: three runs that are asked before it opens, and those in flight at a kill.
          assert.isAtMost(world.begun.length, 3 + 5 + 3 + 2 * world.killed + 3, `seed ${seed}`)
          assert.isAtLeast(world.opened.length, 4, `seed ${seed}`)
          assert.isTrue(world.offered.some((tools) => !tools.includes("look")), `seed ${seed}`)
          assert.deepEqual(new Set((yield* world.told).map(({ status }) => status)), new Set(["completed"]))
        }
        assert.isAbove(killed, 10)
        // If each process has circuits of its own, the service is called again at once.
        const forgetful = yield* Effect.forEach([1, 2], (seed) => lives(false, seed))
        assert.isAbove(Math.max(...forgetful.map(whileOpen)), 0)
      }),
    60_000
  )
})

describe("circuits in a database", () => {
  it.live("are refused without their table, and expire when unused", () =>
    Effect.gen(function*() {
      const sql = NodeSqliteClient.layer({ filename: ":memory:" })
      const missing = yield* Effect.flip(
        Effect.scoped(Layer.build(CircuitStore.layerSql({ create: false }).pipe(Layer.provide(sql))))
      )
      assert.strictEqual((missing as RunStore.RunStoreError)._tag, "RunStoreError")
      assert.include(CircuitStore.createTableSql({ prefix: "own" }), "own_circuits")
      const state = Effect.gen(function*() {
        const breaker = yield* CircuitBreaker.make({ tripPolicy: CircuitBreaker.consecutive(1), openDuration: 1 })
        yield* Effect.ignore(breaker.execute(Effect.fail("down"), { key: "bank" }))
        yield* Effect.sleep(40)
        return (yield* breaker.state("bank"))._tag
      })
      const store = CircuitStore.layerSql({ idleTimeToLive: 20 }).pipe(Layer.provide(sql))
      assert.strictEqual(yield* Effect.scoped(Effect.provide(state, store)), "Closed")
    }))
  it.live("delay no call if the database is silent, outside of transactions", () =>
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const breaker = yield* CircuitBreaker.make({
        tripPolicy: CircuitBreaker.consecutive(1),
        openDuration: "1 minute"
      })
      const call = Effect.ignore(breaker.execute(Effect.fail("down"), { key: "bank" }))
      const state = Effect.map(breaker.state("bank"), ({ _tag }) => _tag)
      yield* Effect.exit(sql.withTransaction(Effect.andThen(call, Effect.fail("rolled back"))))
      assert.strictEqual(yield* state, "Closed")
      // The one connection of SQLite is another's for good.
      const busy = yield* Effect.forkChild(sql.withTransaction(Effect.never), { startImmediately: true })
      yield* Effect.sleep(10)
      yield* Effect.timeout(call, "2 seconds")
      yield* Fiber.interrupt(busy)
      yield* call
      assert.strictEqual(yield* state, "Open")
    }).pipe(
      Effect.scoped,
      Effect.provide(
        CircuitStore.layerSql().pipe(
          Layer.provideMerge(NodeSqliteClient.layer({ filename: ":memory:" })),
          Layer.merge(StoreTimeout.layer("30 millis")),
          Layer.merge(Logger.layer([]))
        )
      )
    ))
})
