/** Services that agents bring along: built once for all runs if they hold no resource, and released with the runs otherwise. */
import { assert, describe, it } from "@effect/vitest"
import { Agent, AgentEvent, IdempotencyLedger, Recovery, Runs, Tool } from "@recourse/core"
import { ScriptedModel } from "@recourse/testing"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Schema, Stream } from "effect"
import type { Prompt } from "effect/ai"
import { HttpRouter, HttpServerResponse } from "effect/http"
import { CircuitBreaker } from "effect/persistence"

class Counter extends Context.Service<Counter, { readonly next: () => number }>()("Counter") {}
class User extends Context.Service<User, { readonly name: string }>()("User") {}

/** Counts for as long as its service is in use. */
const counting = (builds: Array<string>, more: Effect.Effect<unknown, string> = Effect.void) =>
  Layer.effect(
    Counter,
    Effect.map(Effect.andThen(Effect.sync(() => void builds.push("built")), more), () => {
      let n = 0
      return { next: () => ++n }
    })
  )

const resource = (log: Array<string>) =>
  Layer.effect(
    User,
    Effect.acquireRelease(
      Effect.sync(() => (log.push("opened"), { name: "ada" })),
      () => Effect.sync(() => void log.push("closed"))
    )
  )

/** An agent whose answer is the number of its run. */
const numbered = Agent.fromFunction("numbered", (_: string) => Effect.map(Counter, ({ next }) => next()))

describe("a service without a resource", () => {
  it.effect("is built once for two runs", () =>
    Effect.gen(function*() {
      const builds: Array<string> = []
      const agent = numbered.pipe(Agent.provide(counting(builds)))
      assert.deepStrictEqual([yield* agent.run("a"), yield* agent.run("b")], [1, 2])
      assert.deepStrictEqual(builds, ["built"])
    }))

  it.effect("is built once for two runs that start at once", () =>
    Effect.gen(function*() {
      const builds: Array<string> = []
      const agent = numbered.pipe(Agent.provide(counting(builds, Effect.yieldNow)))
      const answers = yield* Effect.all([agent.run("a"), agent.run("b")], { concurrency: 2 })
      assert.deepStrictEqual(answers.toSorted(), [1, 2])
      assert.deepStrictEqual(builds, ["built"])
    }))

  it.effect("is built for each agent", () =>
    Effect.gen(function*() {
      const given = Agent.provide(counting([]))
      assert.deepStrictEqual([yield* numbered.pipe(given).run("a"), yield* numbered.pipe(given).run("b")], [1, 1])
    }))

  it.effect("is built again if the build has failed", () =>
    Effect.gen(function*() {
      const builds: Array<string> = []
      let times = 0
      const once = Effect.suspend(() => times++ === 0 ? Effect.fail("not yet") : Effect.void)
      const agent = numbered.pipe(Agent.provide(counting(builds, once)))
      assert.strictEqual(yield* Effect.flip(agent.run("a")), "not yet")
      assert.deepStrictEqual([yield* agent.run("b"), yield* agent.run("c")], [1, 2])
      assert.deepStrictEqual(builds, ["built", "built"])
    }))

  it.effect("is built by the next run if the building one is interrupted", () =>
    Effect.gen(function*() {
      const builds: Array<string> = []
      let times = 0
      const first = Effect.suspend(() => times++ === 0 ? Effect.never : Effect.void)
      const agent = numbered.pipe(Agent.provide(counting(builds, first)))
      const interrupted = yield* Effect.forkChild(agent.run("a"), { startImmediately: true })
      const waiting = yield* Effect.forkChild(agent.run("b"), { startImmediately: true })
      assert.deepStrictEqual(builds, ["built"])
      yield* Fiber.interrupt(interrupted)
      assert.strictEqual(yield* Fiber.join(waiting), 1)
      assert.strictEqual(yield* agent.run("c"), 2)
      assert.deepStrictEqual(builds, ["built", "built"])
    }))

  it.effect("stays if a run that waits for it is interrupted", () =>
    Effect.gen(function*() {
      const builds: Array<string> = []
      const gate = Deferred.makeUnsafe<void>()
      const agent = numbered.pipe(Agent.provide(counting(builds, Deferred.await(gate))))
      const first = yield* Effect.forkChild(agent.run("a"), { startImmediately: true })
      const waiting = yield* Effect.forkChild(agent.run("b"), { startImmediately: true })
      yield* Fiber.interrupt(waiting)
      yield* Deferred.succeed(gate, undefined)
      assert.deepStrictEqual([yield* Fiber.join(first), yield* agent.run("c")], [1, 2])
      assert.deepStrictEqual(builds, ["built"])
    }))
})

describe("runs share a service", () => {
  const agentOf = (builds: Array<string>) => numbered.pipe(Agent.provide(counting(builds)))
  const ways: Readonly<Record<string, (run: Effect.Effect<unknown>) => Effect.Effect<unknown>>> = {
    "within a span": (run) => Effect.withSpan(run, "request"),
    "with annotations of the log": (run) => Effect.annotateLogs(run, "request", {}),
    "within a span of the log": (run) => Effect.withLogSpan(run, "request"),
    "in a scope": (run) => Effect.scoped(Effect.andThen(Effect.addFinalizer(() => Effect.void), run)),
    "with a listener": (run) => Effect.provide(run, AgentEvent.listen(() => Effect.void)),
    "of another owner": (run) => Effect.provideService(run, Runs.Owner, "ada"),
    "as a tool of another agent": (run) => {
      const ask = Tool.make("ask", { effects: "read", execute: () => Effect.asVoid(run) })
      const boss = Agent.make("boss", { tools: [ask] })
      return Effect.orDie(boss.run("go")) as Effect.Effect<unknown>
    }
  }
  for (const [name, within] of Object.entries(ways)) {
    it.effect(name, () =>
      Effect.gen(function*() {
        const builds: Array<string> = []
        const agent = agentOf(builds)
        yield* agent.run("a")
        yield* within(Effect.orDie(agent.run("b")))
        assert.strictEqual(yield* agent.run("c"), 3)
        assert.deepStrictEqual(builds, ["built"])
      }).pipe(Effect.provide(ScriptedModel.layer([ScriptedModel.call("ask", {}), ScriptedModel.text("done")]))))
  }

  it.live("of two requests to a handler", () =>
    Effect.gen(function*() {
      const builds: Array<string> = []
      const agent = agentOf(builds)
      const route = HttpRouter.add("GET", "/", Effect.map(Effect.orDie(agent.run("a")), HttpServerResponse.jsonUnsafe))
      const { dispose, handler } = HttpRouter.toWebHandler(route, { disableLogger: true })
      const answer = Effect.promise(async () => (await handler(new Request("http://localhost/"))).json())
      assert.deepStrictEqual([yield* answer, yield* answer], [1, 2])
      assert.deepStrictEqual(builds, ["built"])
      yield* Effect.promise(() => dispose())
    }))

  it.effect("as a stream and as a report", () =>
    Effect.gen(function*() {
      const builds: Array<string> = []
      const agent = agentOf(builds)
      yield* Stream.runDrain(agent.stream("a"))
      assert.deepStrictEqual((yield* agent.report("b")).exit, Exit.succeed(2))
      assert.deepStrictEqual(builds, ["built"])
    }))
})

describe("a service that needs another one", () => {
  const greeting = (builds: Array<string>) =>
    Layer.effect(
      Counter,
      Effect.map(User, ({ name }) => {
        builds.push(name)
        return { next: () => name.length }
      })
    )

  it.effect("is built for each of those", () =>
    Effect.gen(function*() {
      const builds: Array<string> = []
      const agent = numbered.pipe(Agent.provide(greeting(builds)))
      const ada = { name: "ada" }
      const by = (user: { readonly name: string }) => Effect.provideService(agent.run("x"), User, user)
      assert.deepStrictEqual([yield* by(ada), yield* by({ name: "grace" }), yield* by(ada)], [3, 5, 3])
      assert.deepStrictEqual(builds, ["ada", "grace"])
    }))

  it.effect("is built again with the resource that it uses", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const agent = numbered.pipe(Agent.provide(Layer.provide(greeting(log), resource(log))))
      yield* agent.run("a")
      yield* agent.run("b")
      assert.deepStrictEqual(log, ["opened", "ada", "closed", "opened", "ada", "closed"])
    }))
})

describe("a service with a resource", () => {
  it.effect("is released with its run, while provided state stays", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const builds: Array<string> = []
      const agent = numbered.pipe(Agent.provide(Layer.merge(counting(builds), resource(log))))
      assert.deepStrictEqual([yield* agent.run("a"), yield* agent.run("b")], [1, 2])
      assert.deepStrictEqual(builds, ["built"])
      assert.deepStrictEqual(log, ["opened", "closed", "opened", "closed"])
    }))

  it.effect("is shared by runs that overlap, and released with the last one", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const gates = { a: Deferred.makeUnsafe<void>(), b: Deferred.makeUnsafe<void>() }
      const agent = Agent.fromFunction(
        "waits",
        (name: "a" | "b") => Effect.andThen(User, Deferred.await(gates[name]))
      ).pipe(Agent.provide(resource(log)))
      const first = yield* Effect.forkChild(agent.run("a"), { startImmediately: true })
      const second = yield* Effect.forkChild(agent.run("b"), { startImmediately: true })
      yield* Deferred.succeed(gates.a, undefined)
      yield* Fiber.join(first)
      assert.deepStrictEqual(log, ["opened"])
      yield* Fiber.interrupt(second)
      assert.deepStrictEqual(log, ["opened", "closed"])
    }))

  it.effect("is released if a later service cannot be built", () =>
    Effect.gen(function*() {
      const log: Array<string> = []
      const layer = Layer.merge(
        resource(log),
        Layer.effect(Counter, Effect.andThen(Effect.yieldNow, Effect.fail("no")))
      )
      const agent = numbered.pipe(Agent.provide(layer))
      assert.strictEqual(yield* Effect.flip(agent.run("a")), "no")
      assert.deepStrictEqual(log, ["opened", "closed"])
    }))
})

describe("state of the library that is given to an agent", () => {
  const P = Schema.Struct({ order: Schema.String })

  it.effect("a ledger in memory answers the same key in a later run", () =>
    Effect.gen(function*() {
      const paid: Array<string> = []
      const pay = Tool.make("pay", {
        parameters: P,
        success: Schema.String,
        effects: "write",
        idempotency: { key: ({ order }) => order },
        execute: ({ order }) => Effect.sync(() => (paid.push(order), "paid"))
      })
      const model = ScriptedModel.layer(({ prompt }: { readonly prompt: Prompt.Prompt }) =>
        prompt.content.some(({ role }) => role === "tool")
          ? ScriptedModel.text("done")
          : ScriptedModel.call("pay", { order: "7" })
      )
      const agent = Agent.make("clerk", { tools: [pay], defaults: { onError: Recovery.standard } }).pipe(
        Agent.provide(Layer.merge(IdempotencyLedger.layerMemory, model))
      )
      yield* agent.run("x")
      yield* agent.run("x")
      assert.deepStrictEqual(paid, ["7"])
    }))

  it.effect("a circuit opens over runs", () =>
    Effect.gen(function*() {
      let calls = 0
      const read = Tool.make("read", {
        effects: "read",
        execute: () => Effect.suspend(() => (calls++, Effect.fail("away")))
      }).pipe(Tool.onError(Recovery.circuitBreaker()))
      const escalating = Recovery.policy({ ExecutionError: "escalate", CircuitOpen: "escalate" })
      const model = ScriptedModel.layer(({ prompt }: { readonly prompt: Prompt.Prompt }) =>
        prompt.content.some(({ role }) => role === "tool") ? ScriptedModel.text("done") : ScriptedModel.call("read", {})
      )
      const breaker = CircuitBreaker.layer({ tripPolicy: CircuitBreaker.consecutive(2), openDuration: "30 seconds" })
        .pipe(
          Layer.provide(CircuitBreaker.layerStoreMemory())
        )
      const agent = Agent.make("reader", { tools: [read], defaults: { onError: escalating } }).pipe(
        Agent.provide(Layer.merge(breaker, model))
      )
      for (let run = 0; run < 4; run++) yield* agent.run("x")
      assert.strictEqual(calls, 2)
    }))
})
